// Draws static images: the browser functions that ECharts needs, and the function that Rust calls. Pages do not
// contain this file. The build script replaces `// ---` by ECharts and formatters.js.
globalThis.window = undefined;
globalThis.setTimeout = function () { return 0; };
globalThis.clearTimeout = function () {};
globalThis.console = { log: function () {}, warn: function () {}, error: function () {} };
// ---
// Text widths come from the font; ECharts measures `1em` to get the line height.
echarts.setPlatformAPI({ measureText: function (text, font) {
  var size = /(\d+(?:\.\d+)?)px/.exec(font || ''), bold = /bold|[6-9]00/.test(font || '');
  return { width: fathom_width(String(text), size ? Number(size[1]) : 12, bold) };
} });
// The chart of the previous call, freed by the next one: after the last there is nothing to free it for.
var previous = null;
globalThis.fathom_draw = function (option, theme, width, height) {
  if (previous) previous.dispose();
  var chart = previous = echarts.init(null, null, { renderer: 'svg', ssr: true, width: width, height: height });
  chart.setOption(fathom.resolve(JSON.parse(option), JSON.parse(theme)));
  return chart.renderToSVGString();
};
