/* Tabs, search, light and dark: what holds the page together. */
const views = [['overview', 'Overview', overviewView], ['graph', 'Graph', graphView], ['layers', 'Layers', layersView], ['memory', 'Memory', memoryView],
  ['roofline', 'Roofline', rooflineView], ['fusion', 'Fusion', fusionView]];
const tabs = document.getElementById('tabs'), place_ = document.getElementById('views'), made = new Map();
let tab = '';
function activeTab() { return tab; }
/* A view is made when it is first looked at. */
function show(name) {
  const view = views.find(v => v[0] === name) || views[0];
  tab = view[0];
  if (!made.has(tab)) {
    made.set(tab, el('section', {class: 'view', id: 'view-' + tab, role: 'tabpanel'}, view[2]()));
    place_.append(made.get(tab));
  }
  made.forEach((e, key) => { e.hidden = key !== tab; });
  tabs.querySelectorAll('button').forEach(b => b.setAttribute('aria-selected', String(b.dataset.view === tab)));
  if (location.hash.slice(1) !== tab) history.replaceState(null, '', '#' + tab);
  if (tab === 'graph' && stage && stage.svg.clientWidth && !stage.fitted) stage.fitted = true, fit(false);
  for (const f of listeners) f(selected);
}
tabs.append(...views.map(([name, title]) => el('button', {type: 'button', role: 'tab', 'data-view': name, onclick: () => show(name)}, title)));
addEventListener('hashchange', () => show(location.hash.slice(1)));

document.title = build.name + ' \u2013 gcc2nn report';
document.getElementById('model').textContent = build.name;
document.getElementById('about').textContent = build.target + (run ? ' \u00b7 ' + (counted ? amount(run.instructions) + ' instructions' : time(run.median_ms)) : '');

/* ---- light and dark: as the system says, until the button is pressed */
const theme = document.getElementById('theme'), dark = matchMedia('(prefers-color-scheme: dark)');
function isDark() { return document.documentElement.dataset.theme ? document.documentElement.dataset.theme === 'dark' : dark.matches; }
function nameTheme() { theme.textContent = isDark() ? '\u2600' : '\u263e'; theme.title = isDark() ? 'Light' : 'Dark'; }
theme.addEventListener('click', () => { document.documentElement.dataset.theme = isDark() ? 'light' : 'dark'; nameTheme(); });
dark.addEventListener('change', nameTheme);
nameTheme();

/* ---- search */
const search = document.getElementById('search'), found = document.getElementById('found');
const things = [];
graph.nodes.forEach((n, k) => things.push({text: (n.name + ' ' + n.op).toLowerCase(), title: n.name || n.op, note: n.op, to: {group: groupOfNode.get(k)}}));
kernels.forEach(k => things.push({text: k.name.toLowerCase(), title: k.short, note: 'kernel', to: {kernel: k}}));
graph.values.forEach((v, k) => {
  if (!v.name) return;
  const maker = graph.nodes.findIndex(n => n.outputs.includes(k)), user = (readers.get(k) || [])[0];
  const to = maker >= 0 ? {group: groupOfNode.get(maker)} : graph.inputs.includes(k) ? {value: k} : {group: groupOfNode.get(user)};
  if (to.group || known(to.value)) things.push({text: v.name.toLowerCase(), title: v.name, note: v.type, to});
});
let hits = [], chosen = 0;
function lookFor(word) {
  word = word.trim().toLowerCase();
  hits = !word ? [] : things.filter(t => t.to.group || t.to.kernel || known(t.to.value)).map(t => [t.text.indexOf(word), t]).filter(h => h[0] >= 0)
    .sort((a, b) => a[0] - b[0] || a[1].text.length - b[1].text.length).slice(0, 12).map(h => h[1]);
  chosen = 0;
  showHits(word);
}
function showHits(word) {
  found.hidden = !word;
  found.replaceChildren(...(hits.length ? hits.map((h, k) => el('li', {role: 'option', 'aria-selected': String(k === chosen), onpointerdown: ev => { ev.preventDefault(); go(k); }},
    el('span', {}, cut(h.title, 44)), el('small', {}, cut(h.note, 30)))) : [el('li', {class: 'none'}, 'Nothing of that name')]));
}
function go(k) {
  const h = hits[k];
  if (!h) return;
  found.hidden = true;
  search.blur();
  select(h.to);
  if (tab === 'graph') { const on = boxes.find(b => b.e.classList.contains('selected')); if (on) centreOn(on.b); }
}
search.addEventListener('input', () => lookFor(search.value));
search.addEventListener('keydown', ev => {
  if (ev.key === 'Enter') go(chosen);
  else if (ev.key === 'ArrowDown' || ev.key === 'ArrowUp') { chosen = Math.max(0, Math.min(hits.length - 1, chosen + (ev.key === 'ArrowDown' ? 1 : -1))); showHits(search.value); ev.preventDefault(); }
});
search.addEventListener('blur', () => { found.hidden = true; });
addEventListener('keydown', ev => {
  if (ev.key === '/' && document.activeElement !== search) { search.focus(); ev.preventDefault(); }
  else if (ev.key === 'Escape') { if (document.activeElement === search) { search.value = ''; found.hidden = true; search.blur(); } else select(null); }
});
show(location.hash.slice(1) || 'overview');
