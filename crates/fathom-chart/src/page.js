// Draws each chart of the page when it comes into view, again when the theme or the width changes.
(function () {
  'use strict';
  var data = JSON.parse(document.getElementById('data').textContent);
  var dark = window.matchMedia && window.matchMedia('(prefers-color-scheme: dark)').matches;
  var drawn = new Map(), printing = false;

  function draw(place) {
    var known = drawn.get(place);
    if (known) known.dispose();
    var chart = echarts.init(place, null, { renderer: 'canvas' });
    var option = fathom.resolve(data.charts[Number(place.dataset.chart)], dark && !printing ? data.dark : data.light);
    if (data.served) option = drawnTooltip(option);
    if (printing) option = Object.assign({}, option, { toolbox: { show: false }, animation: false });
    var media = option.media;
    if (media) {
      option = Object.assign({}, option);
      delete option.media;
    }
    chart.setOption(media ? { baseOption: option, media: media } : option);
    drawn.set(place, chart);
  }

  // A served page allows no inline style: a tooltip of HTML has some, one that is drawn on the canvas has none.
  function drawnTooltip(option) {
    if (!option.tooltip) return option;
    var words = option.tooltip.formatter, plain = function (text) {
      return text.replace(/<br>/g, '\n').replace(/<[^>]*>/g, '').replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&quot;/g, '"').replace(/&#39;/g, "'").replace(/&amp;/g, '&');
    };
    var tooltip = Object.assign({}, option.tooltip, { renderMode: 'richText' });
    if (typeof words === 'function') tooltip.formatter = function (params) { return plain(words(params)); };
    return Object.assign({}, option, { tooltip: tooltip });
  }

  function applyTheme() {
    document.documentElement.classList.toggle('dark', dark);
    document.getElementById('theme').textContent = dark ? 'Light' : 'Dark';
    Array.from(drawn.keys()).forEach(draw);
  }

  // A served page keeps its theme from page to page, by a script of its own.
  if (data.served) {
    dark = document.documentElement.classList.contains('dark');
    window.addEventListener('fathom-theme', function () { dark = document.documentElement.classList.contains('dark'); Array.from(drawn.keys()).forEach(draw); });
  } else {
    document.getElementById('theme').addEventListener('click', function () { dark = !dark; applyTheme(); });
  }
  // The table of a chart is built from its option when the reader opens it.
  var maxRows = 1000;

  function rowsOf(option) {
    var first = option.series[0] || {}, set = first.renderItem && first.renderItem.with;
    var x = (option.xAxis || [{}])[0], y = (option.yAxis || [{}])[0];
    if (set && set.columns) return [[set.xTitle, set.yTitle, set.zTitle]].concat(set.values.map(function (v, n) {
      return [set.columns[n % set.columns.length], set.rows[Math.floor(n / set.columns.length)], v];
    }).filter(function (row) { return row[2] !== null; }));
    if (first.type === 'heatmap') {
      var axes = option.tooltip.formatter.with, several = option.series.length > 1;
      var heading = [axes.x || 'x', axes.y || 'y', axes.unit || 'value'], cells = [];
      option.series.forEach(function (s) {
        s.data.forEach(function (d) {
          var row = [x.data[d.value[0]], y.data[d.value[1]], d.value[2]];
          cells.push(several ? [s.name].concat(row) : row);
        });
      });
      return [several ? ['Load'].concat(heading) : heading].concat(cells);
    }
    var drawn = option.series.filter(function (s) { return s.type !== 'custom' && s.name !== '' && s.data.length; });
    // Lying bars have their names on the left.
    var lies = y.type === 'category' && first.type === 'bar', along = lies ? y : x;
    var head = [along.name || ''].concat(drawn.map(function (s) {
      var unit = s.tooltip && s.tooltip.valueFormatter && s.tooltip.valueFormatter.with;
      return unit ? s.name + ' (' + unit + ')' : s.name;
    }));
    var rows = new Map();
    drawn.forEach(function (s, n) {
      s.data.forEach(function (d) {
        var pair = d && d.value ? d.value : d;
        if (lies) pair = [pair[1], pair[0]];
        if (!rows.has(pair[0])) rows.set(pair[0], []);
        rows.get(pair[0])[n] = pair[1];
      });
    });
    var places = Array.from(rows.keys()).sort(function (a, b) { return a - b; });
    return [head].concat(places.map(function (place) {
      var cells = rows.get(place), row = [along.type === 'category' ? along.data[place] : place];
      for (var n = 0; n < drawn.length; n++) row.push(cells[n] === undefined ? '' : cells[n]);
      return row;
    }));
  }

  function buildTable(details) {
    if (details.querySelector('table')) return;
    var rows = rowsOf(data.charts[Number(details.dataset.table)]), box = document.createElement('div'), table = document.createElement('table');
    var head = table.createTHead(), body = table.createTBody();
    box.className = 'scroll';
    box.tabIndex = 0;
    box.setAttribute('role', 'region');
    box.setAttribute('aria-label', 'Values of the chart');
    rows.slice(0, maxRows + 1).forEach(function (row, number) {
      var line = (number === 0 ? head : body).insertRow();
      row.forEach(function (cell, at) {
        var made = document.createElement((number === 0 || at === 0) && cell !== '' ? 'th' : 'td');
        if (made.tagName === 'TH') made.scope = number === 0 ? 'col' : 'row';
        if (number > 0 && at > 0) made.setAttribute('data-label', String(rows[0][at]));
        made.textContent = typeof cell === 'number' && at > 0 ? fathom.number(cell) : cell === null ? '' : String(cell);
        line.appendChild(made);
      });
    });
    box.appendChild(table);
    details.appendChild(box);
    if (rows.length > maxRows + 1) {
      var note = document.createElement('p');
      note.className = 'note';
      note.textContent = (rows.length - maxRows - 1) + ' more rows: `fathom plot ... -o FILE.csv` writes all of them.';
      details.appendChild(note);
    }
  }

  document.querySelectorAll('details[data-table]').forEach(function (details) {
    details.addEventListener('toggle', function () { if (details.open) buildTable(details); });
  });

  document.querySelectorAll('[data-style]').forEach(function (one) { one.style.cssText = one.dataset.style; });

  if (!data.served) applyTheme();
  var places = Array.from(document.querySelectorAll('[data-chart]'));
  // On paper all charts are drawn, light, and as wide as the style sheet says for print.
  function print(now) {
    printing = now;
    places.forEach(function (place) {
      if (now && place.dataset.height === undefined) place.dataset.height = place.style.height;
      // Panels have their places in pixels: such a chart is scaled as a whole.
      var own = place.dataset.height, scale = now && own ? 0.75 : 1;
      place.style.zoom = now ? scale : '';
      place.style.width = now ? Math.round(680 / scale) + 'px' : '';
      place.style.height = now ? own || '270px' : own || '';
      if (now || drawn.has(place)) draw(place);
    });
  }
  window.addEventListener('beforeprint', function () { print(true); });
  window.addEventListener('afterprint', function () { print(false); });
  if (!('IntersectionObserver' in window)) { places.forEach(draw); return; }
  var seen = new IntersectionObserver(function (entries) {
    entries.forEach(function (entry) { if (entry.isIntersecting && !drawn.has(entry.target)) draw(entry.target); });
  }, { rootMargin: '400px' });
  places.forEach(function (place) { seen.observe(place); });
  window.addEventListener('resize', function () { drawn.forEach(function (chart) { chart.resize(); }); });
  window.fathomCharts = drawn;
})();
