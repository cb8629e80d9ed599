// The parts of an option that JSON cannot express: theme colours, number formatters and custom shapes.
// The page and the static image use the same file. {"$role": "grid"} becomes a colour of the theme,
// {"$fn": "number", "with": ...} becomes a function. Untrusted texts are plain strings, never interpreted.
var fathom = (function () {
  'use strict';

  function thousands(text) {
    var parts = text.split('.');
    parts[0] = parts[0].replace(/\B(?=(\d{3})+(?!\d))/g, ',');
    return parts.join('.');
  }

  // Four significant figures with thousands separators: 1,234 12.3 0.0123.
  function number(value) {
    if (value === null || value === undefined || value === '-' || !isFinite(value)) return '–';
    var size = Math.abs(value);
    if (size === 0) return '0';
    if (size >= 1e15 || size < 1e-6) return Number(value).toExponential(2);
    if (size >= 1000) return thousands(String(Math.round(value)));
    var digits = Math.max(0, 3 - Math.floor(Math.log10(size) + 1e-9));
    return String(Number(Number(value).toFixed(Math.min(digits, 9))));
  }

  function nines(place) {
    if (place < 0.5) return '0 %';
    if (Math.abs(place - 1) < 1e-9) return '90 %';
    var text = '99';
    for (var i = 2; i < Math.round(place); i++) text += (i === 2 ? '.9' : '9');
    return text + ' %';
  }

  // 1 k, 25 k, 1 M: for places where four figures do not fit.
  function short(value) {
    var size = Math.abs(value);
    if (size >= 1e9) return number(value / 1e9) + ' G';
    if (size >= 1e6) return number(Math.round(value / 1e4) / 100) + ' M';
    if (size >= 1e5) return number(Math.round(value / 1e3)) + ' k';
    if (size >= 1e4) return number(Math.round(value / 100) / 10) + ' k';
    if (size >= 100) return number(Math.round(value));
    return number(Number(Number(value).toPrecision(3)));
  }

  // 33.0 k beside 34.6 k: a value in its place in a column of others, where short() has round steps of an axis.
  function figure(value) {
    var size = Math.abs(value);
    if (size >= 1e6 && size < 1e9) return (value / 1e6).toFixed(2) + ' M';
    if (size >= 1e4 && size < 99950) return (value / 1e3).toFixed(1) + ' k';
    return short(value);
  }

  // 53k, 1.2M: two figures, for narrow cells.
  function tiny(value) {
    var size = Math.abs(value);
    if (size >= 1e6) return Number((value / 1e6).toPrecision(2)) + 'M';
    if (size >= 1e3) return Number((value / 1e3).toPrecision(2)) + 'k';
    return size >= 10 ? String(Math.round(value)) : String(Number(Number(value).toPrecision(2)));
  }

  // 512 B, 4 KiB, 1 MiB.
  function binary(value) {
    var units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'], at = 0;
    while (value >= 1024 && at < units.length - 1) { value /= 1024; at++; }
    return number(value) + ' ' + units[at];
  }

  function whisker(params, api) {
    var low = api.coord([api.value(0), api.value(1)]), high = api.coord([api.value(0), api.value(2)]);
    var shift = api.value(3), half = 4;
    if (shift) {
      var slot = api.barLayout({ barGap: '12%', barCategoryGap: '20%', barMaxWidth: 72, count: api.value(4) })[shift - 1].offsetCenter;
      low[0] += slot; high[0] += slot;
    }
    var style = { stroke: api.visual('color'), lineWidth: 1.5, fill: null };
    var line = function (x1, y1, x2, y2) { return { type: 'line', shape: { x1: x1, y1: y1, x2: x2, y2: y2 }, style: style }; };
    var parts = [
      line(low[0], low[1], high[0], high[1]),
      line(low[0] - half, low[1], low[0] + half, low[1]),
      line(high[0] - half, high[1], high[0] + half, high[1])];
    var value = api.value(5);
    if (value > 0) parts.push({ type: 'text', style: { text: figure(value), x: high[0], y: high[1] - 4, align: 'center', verticalAlign: 'bottom', fill: api.visual('color'), font: '11px Noto Sans, sans-serif' } });
    return { type: 'group', children: parts };
  }

  function strip(colours) {
    return function (params, api) {
      var from = api.coord([api.value(0), 0]), to = api.coord([api.value(1), 0]);
      var left = Math.max(from[0], params.coordSys.x), right = Math.min(to[0], params.coordSys.x + params.coordSys.width);
      if (right < params.coordSys.x || left > params.coordSys.x + params.coordSys.width) return;
      return { type: 'rect', style: { fill: colours[api.value(2)] },
        shape: { x: left, y: params.coordSys.y, width: Math.max(right - left, 2), height: params.coordSys.height } };
    };
  }

  // An event behind the curves, at least two pixels wide.
  function span(colours) {
    return function (params, api) {
      var area = params.coordSys, from = api.coord([api.value(0), 0])[0], to = api.coord([api.value(1), 0])[0];
      var left = Math.max(from, area.x), right = Math.min(Math.max(to, from + 2), area.x + area.width);
      if (right <= left) return;
      return { type: 'rect', style: { fill: colours[api.value(2)], opacity: 0.22 },
        shape: { x: left, y: area.y, width: right - left, height: area.height } };
    };
  }

  // The area between the lower and the upper ends of all intervals; drawn once, with the first of them.
  function band(all) {
    return function (params, api) {
      if (params.dataIndex !== 0) return;
      var upper = [], lower = [];
      all.forEach(function (one) {
        if (one[1] === null || one[2] === null) return;
        lower.push(api.coord([one[0], one[1]]));
        upper.push(api.coord([one[0], one[2]]));
      });
      return { type: 'polygon', shape: { points: upper.concat(lower.reverse()) }, style: { fill: api.visual('color'), opacity: 0.2 } };
    };
  }

  function raster(url) {
    return function (params, api) {
      var low = api.coord([api.value(0), api.value(2)]), high = api.coord([api.value(1), api.value(3)]);
      return { type: 'image', style: { image: url, x: low[0], y: high[1], width: high[0] - low[0], height: low[1] - high[1] } };
    };
  }

  function shade(colour, part) {
    var n = parseInt(colour.slice(1), 16), mix = function (s) { return Math.round(((n >> s) & 255) * part); };
    return 'rgb(' + mix(16) + ',' + mix(8) + ',' + mix(0) + ')';
  }

  // Whether a point is inside a polygon: an odd number of its edges is to the right of the point.
  function inside(points, x, y) {
    var odd = false;
    for (var i = 0, j = points.length - 1; i < points.length; j = i++) {
      var a = points[i], b = points[j];
      if ((a[1] > y) !== (b[1] > y) && x < (b[0] - a[0]) * (y - a[1]) / (b[1] - a[1]) + a[0]) odd = !odd;
    }
    return odd;
  }

  // 3D bars, seen from the front and above, drawn from back to front.
  function solid(set) {
    var columns = set.columns, rows = set.rows, top = set.top;
    return function (params, api) {
      var w = api.getWidth(), h = api.getHeight();
      var left = 70, right = w - 110, bottom = h - 30 - set.foot, upper = set.head + 8;
      var width = right - left, tall = (bottom - upper) * 0.56, deep = (bottom - upper) * 0.38;
      var ux = width * 0.62 / columns.length, vx = width * 0.36 / rows.length, vy = deep / rows.length, uy = deep * 0.16 / columns.length;
      var place = function (i, j, v) { return [left + i * ux + j * vx, bottom - j * vy + i * uy - deep * 0.16 - tall * v / top]; };
      var out = [], faces = [], labels = [];
      var poly = function (points, fill, stroke) { faces.push(points); out.push({ type: 'polygon', shape: { points: points }, style: { fill: fill, stroke: stroke || fill, lineWidth: 0.7 } }); };
      var text = function (at, label, align) { out.push({ type: 'text', style: { text: label, x: at[0], y: at[1], align: align, verticalAlign: 'middle', fill: set.muted, font: '12px Noto Sans, sans-serif' } }); };
      var C = columns.length, R = rows.length;
      for (var g = 0; g <= 4; g++) {
        var v = top * g / 4, a = place(0, 0, v), b = place(0, R, v), c = place(C, R, v);
        out.push({ type: 'polyline', shape: { points: [a, b, c] }, style: { stroke: set.grid, fill: null, lineWidth: 1 } });
        text([a[0] - 8, a[1]], short(v), 'right');
      }
      poly([place(0, 0, 0), place(C, 0, 0), place(C, R, 0), place(0, R, 0)], set.floor, set.grid);
      for (var j = R - 1; j >= 0; j--) for (var i = 0; i < C; i++) {
        var value = set.values[j * C + i];
        if (value === null) continue;
        var m = 0.2, x0 = i + m, x1 = i + 1 - m, y0 = j + m, y1 = j + 1 - m, colour = set.colours[j * C + i];
        poly([place(x1, y0, 0), place(x1, y1, 0), place(x1, y1, value), place(x1, y0, value)], shade(colour, 0.62));
        poly([place(x0, y0, 0), place(x1, y0, 0), place(x1, y0, value), place(x0, y0, value)], shade(colour, 0.8));
        poly([place(x0, y0, value), place(x1, y0, value), place(x1, y1, value), place(x0, y1, value)], colour, shade(colour, 0.8));
        labels.push({ at: place((x0 + x1) / 2, (y0 + y1) / 2, value), label: tiny(value), colour: colour, after: faces.length, room: place(x1, y0, value)[0] - place(x0, y0, value)[0], high: place(x0, y0, value)[1] - place(x0, y1, value)[1] });
      }
      // The value on the top of each bar, unless the top is too small or another bar covers it.
      labels.forEach(function (one) {
        var half = one.label.length * 3.1;
        if (one.room < 2 * half + 2 || one.high < 11) return;
        var covered = [-half, 0, half].some(function (dx) {
          return faces.slice(one.after).some(function (points) { return [-5, 5].some(function (dy) { return inside(points, one.at[0] + dx, one.at[1] + dy); }); });
        });
        if (covered) return;
        var n = parseInt(one.colour.slice(1), 16), light = ((n >> 16) & 255) * 0.3 + ((n >> 8) & 255) * 0.59 + (n & 255) * 0.11;
        out.push({ type: 'text', style: { text: one.label, x: one.at[0], y: one.at[1], align: 'center', verticalAlign: 'middle', fill: light > 120 ? '#1b1f24' : '#ffffff', font: '10.5px Noto Sans, sans-serif' } });
      });
      var every = Math.max(1, Math.ceil(Math.max.apply(null, columns.map(function (c) { return c.length; })) * 8 / ux));
      for (i = 0; i < C; i += every) { var p = place(i + 0.5, 0, 0); text([p[0], p[1] + 12], columns[i], 'center'); }
      for (j = 0; j < R; j++) { p = place(C, j + 0.5, 0); text([p[0] + 10, p[1] + 6], rows[j], 'left'); }
      p = place(C / 2, 0, 0); text([p[0], p[1] + 32], set.xTitle, 'center');
      p = place(C, R / 2, 0); text([p[0] + 46, p[1] + 24], set.yTitle, 'left');
      // Above the plot, where no bar covers it.
      text([set.margin, set.head - 24], set.zTitle, 'left');
      return { type: 'group', children: out };
    };
  }

  function cell(set) {
    return function (params) {
      var d = params.data, tip = d.value || d, format = (typeof echarts !== 'undefined') && echarts.format;
      var escape = format ? format.encodeHTML : String;
      return escape(set.x) + ' ' + escape(set.columns[tip[0]]) + '<br>' + escape(set.y) + ' ' + escape(set.rows[tip[1]]) + '<br><b>' + number(tip[2]) + ' ' + escape(set.unit) + '</b>';
    };
  }

  var functions = {
    number: function () { return function (value) { return number(value); }; },
    short: function () { return function (value) { return short(value); }; },
    tiny: function (at) { return function (params) { var v = params.value[at]; return v === null || v === undefined ? '' : tiny(v); }; },
    label: function (at) { return function (params) { var v = params.value; return v && v.length ? (v[at] === null || v[at] === undefined ? '' : figure(v[at])) : (v === null || v === '-' ? '' : figure(v)); }; },
    unit: function (unit) { return function (value) { return number(value) + (unit ? ' ' + unit : ''); }; },
    binary: function () { return binary; },
    nines: function () { return nines; },
    word: function () { return function (params) { return params.data.words || params.name; }; },
    whisker: function () { return whisker; },
    strip: strip, span: span, band: band, raster: raster, solid: solid, cell: cell
  };

  function resolve(node, theme) {
    if (Array.isArray(node)) {
      if (node.length === 0 || typeof node[0] !== 'object') return node;
      return node.map(function (one) { return resolve(one, theme); });
    }
    if (node === null || typeof node !== 'object') return node;
    if (node.$role) return theme[node.$role];
    if (node.$fn) return functions[node.$fn](resolve(node.with === undefined ? null : node.with, theme));
    var made = {};
    for (var key in node) if (Object.prototype.hasOwnProperty.call(node, key)) made[key] = resolve(node[key], theme);
    return made;
  }

  return { resolve: resolve, number: number, short: short, nines: nines };
})();
