// What the script expects of a browser, and how the static picture is drawn with it: no page ever sees these lines.
// `// ---` stands where the script itself and the house script go.
globalThis.window = undefined;
globalThis.setTimeout = function () { return 0; };
globalThis.clearTimeout = function () {};
globalThis.console = { log: function () {}, warn: function () {}, error: function () {} };
// ---
// How wide texts are; `1em` alone is a question for the height of a line.
echarts.setPlatformAPI({ measureText: function (text, font) {
  var size = /(\d+(?:\.\d+)?)px/.exec(font || ''), bold = /bold|[6-9]00/.test(font || '');
  return { width: fathom_width(String(text), size ? Number(size[1]) : 12, bold) };
} });
globalThis.fathom_draw = function (option, theme, width, height) {
  var chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width: width, height: height });
  chart.setOption(fathom.hydrate(JSON.parse(option), JSON.parse(theme)));
  var svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
};
