// The theme: that of the system until the reader chooses one, which this browser remembers.
(function () {
  'use strict';
  var root = document.documentElement, chosen = null;
  try { chosen = localStorage.getItem('fathom-theme'); } catch (e) { /* Storage may be off. */ }
  var system = window.matchMedia('(prefers-color-scheme: dark)');
  function apply(dark) {
    root.classList.toggle('dark', dark);
    var button = document.getElementById('theme');
    if (button) button.textContent = dark ? 'Light' : 'Dark';
    window.dispatchEvent(new Event('fathom-theme'));
  }
  // Before the first paint.
  root.classList.toggle('dark', chosen ? chosen === 'dark' : system.matches);
  document.addEventListener('DOMContentLoaded', function () {
    apply(root.classList.contains('dark'));
    var button = document.getElementById('theme');
    if (button) button.addEventListener('click', function () {
      chosen = root.classList.contains('dark') ? 'light' : 'dark';
      try { localStorage.setItem('fathom-theme', chosen); } catch (e) { /* As above. */ }
      apply(chosen === 'dark');
    });
    styled();
    follow();
  });
  function styled() {
    document.querySelectorAll('[data-style]').forEach(function (one) { one.style.cssText = one.dataset.style; });
  }
  // A page about something that goes on loads its content again, unless the reader is in it.
  function follow() {
    var mark = document.querySelector('[data-again]'), main = document.getElementById('main');
    if (!mark) return;
    setTimeout(function () {
      if (document.hidden || main.contains(document.activeElement)) { follow(); return; }
      fetch(location.href).then(function (answer) { return answer.text(); }).then(function (text) {
        var fresh = new DOMParser().parseFromString(text, 'text/html').getElementById('main');
        if (fresh) { main.replaceChildren.apply(main, Array.from(fresh.childNodes)); styled(); }
      }).catch(function () { /* The next turn tries again. */ }).then(follow);
    }, 1000 * mark.dataset.again);
  }
  system.addEventListener('change', function (event) { if (!chosen) apply(event.matches); });
})();
