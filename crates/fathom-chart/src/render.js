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
globalThis.fathom_draw = function (option, theme, width, height) {
  var chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width: width, height: height });
  chart.setOption(fathom.resolve(JSON.parse(option), JSON.parse(theme)));
  var svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
};
