// The figures of a run while it is measured, from server-sent events.
(function () {
  'use strict';
  var place = document.getElementById('plot'), address = document.getElementById('events').dataset.events;
  var chart = window.echarts ? echarts.init(place, null, { renderer: 'canvas' }) : null, points = [], cell = null;
  function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
  function draw() {
    if (!chart) return;
    var text = colour('--muted'), line = colour('--line');
    chart.setOption({
      animation: false, grid: { left: 70, right: 20, top: 20, bottom: 48 },
      xAxis: { type: 'value', name: 'Time (s)', nameLocation: 'middle', nameGap: 26, nameTextStyle: { color: text }, axisLabel: { color: text }, splitLine: { show: false }, axisLine: { lineStyle: { color: line } } },
      yAxis: { type: 'value', min: 0, axisLabel: { color: text }, splitLine: { lineStyle: { color: line } } },
      series: [{ type: 'line', showSymbol: false, data: points, lineStyle: { color: colour('--c0'), width: 2 } }]
    });
  }
  function show(id, text) { document.getElementById(id).textContent = text; }
  var source = new EventSource(address);
  source.addEventListener('figures', function (event) {
    var now = JSON.parse(event.data);
    show('state', now.state + (now.cell ? ', cell ' + now.cell : ''));
    show('disturbance', now.disturbance ? 'Disturbed: ' + now.disturbance + '.' : '');
    show('cells', now.cells_finished + ' of ' + now.cells_planned);
    if (now.iops !== null) {
      show('iops', Math.round(now.iops).toLocaleString('en'));
      show('bandwidth', (now.bandwidth / 1e6).toFixed(1));
      show('elapsed', now.elapsed_s.toFixed(1));
    }
    if (now.cell !== cell) { cell = now.cell; points = []; }
    points = now.points;
    draw();
  });
  source.addEventListener('end', function () {
    var report = document.getElementById('report');
    source.close();
    // It ended before this page saw a figure.
    if (cell === null) { location.replace(report.firstChild.href); return; }
    show('state', 'It has ended.');
    report.hidden = false;
  });
  source.onerror = function () { if (source.readyState === EventSource.CLOSED) show('state', 'the server does not answer'); };
  window.addEventListener('fathom-theme', draw);
  window.addEventListener('resize', function () { if (chart) chart.resize(); });
  draw();
})();
