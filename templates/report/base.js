/* The facts of the page, what is looked up in them, and how elements are made. All text of a model gets into the page as
 * text: nothing here or in the other scripts parses it as HTML. */
const facts = JSON.parse(document.getElementById('facts').textContent);
const build = facts.build, run = facts.run, graph = build.graph || {inputs: [], outputs: [], values: [], nodes: [], groups: []};

function el(name, more, ...inside) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(more || {})) {
    if (key === 'class') e.className = value;
    else if (key.startsWith('on')) e.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) e.setAttribute(key, value);
  }
  e.append(...inside.filter(x => x !== null && x !== undefined));
  return e;
}
function svg(name, more, ...inside) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(more || {})) {
    if (key.startsWith('on')) e.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== null) e.setAttribute(key, value);
  }
  e.append(...inside.filter(x => x !== null && x !== undefined));
  return e;
}

/* ---- numbers for people; the exact one stands in the title or in data-value */
const known = v => v !== null && v !== undefined;
function digits(v, n = 3) {
  return v === 0 ? '0' : Math.abs(v) >= 1e4 ? Math.round(v).toLocaleString('en') : String(Number(v.toPrecision(n)));
}
function scaled(v, units, base) {
  let k = 0;
  while (Math.abs(v) >= base && k + 1 < units.length) v /= base, k++;
  return digits(v) + (units[k] ? '\u202f' + units[k] : '');
}
const bytes = v => known(v) ? scaled(v, ['B', 'KiB', 'MiB', 'GiB', 'TiB'], 1024) : '\u2013';
const amount = v => known(v) ? scaled(v, ['', 'K', 'M', 'G', 'T'], 1000) : '\u2013';
const percent = v => known(v) ? (100 * v < 9.95 ? (100 * v).toFixed(1) : Math.round(100 * v)) + '\u202f%' : '\u2013';
function time(ms) {
  if (!known(ms)) return '\u2013';
  return ms < 0.001 ? digits(ms * 1e6) + '\u202fns' : ms < 1 ? digits(ms * 1e3) + '\u202f\u00b5s'
    : ms < 1000 ? digits(ms) + '\u202fms' : digits(ms / 1e3) + '\u202fs';
}
function cut(s, n) { return s.length > n ? s.slice(0, n - 1) + '\u2026' : s; }

/* ---- kernels: what the build says of each, and what the run adds */
const prefix = build.name + '_';
const shortName = name => name.startsWith(prefix) ? name.slice(prefix.length) : name;
const kernels = (build.kernels || []).map(k => ({
  name: k.name, short: shortName(k.name), nodes: k.nodes || [], problem: k.problem, calls: k.calls, products: k.products, bytes: k.bytes,
  code: facts.code[k.name], groups: []}));
const kernelByName = new Map(kernels.map(k => [k.name, k]));
const counted = !!(run && known(run.instructions));
for (const r of run && run.kernels || []) {
  const k = kernelByName.get(r.kernel);
  if (!k) continue;
  Object.assign(k, {taken: counted ? r.instructions : r.median_ms, share: r.share, best: r.best, peak: r.peak, peakBytes: r.peak_bytes,
    calls: r.calls, products: r.products, bytes: r.bytes, target: r.target});
}
/* Multiply-adds, or bytes, in a nanosecond. */
const perNs = (k, v) => known(v) && !counted && k.taken > 0 ? v / (k.taken * 1e6) : null;
const takenText = v => counted ? amount(v) : time(v);
const takenName = counted ? 'Instructions' : 'Time';

/* ---- groups of nodes: a box of the graph each, and the kernels that compute it */
const groups = graph.groups.map((g, number) => ({
  number, kind: g.class, nodes: g.nodes, views: g.views, ends: g.ends, why: g.why, reader: g.reader,
  kernels: g.kernels.map(n => kernelByName.get(n)).filter(Boolean)}));
const groupOfNode = new Map();
for (const g of groups) {
  for (const n of g.views) if (!groupOfNode.has(n)) groupOfNode.set(n, g);
  for (const n of g.nodes) groupOfNode.set(n, g);
  for (const k of g.kernels) k.groups.push(g);
}
const nodeName = n => n ? n.name || n.op : '';
const valueName = v => v ? v.name || '(no name)' : '';
/* A kernel that serves several groups has its time shared among them, for colours and bars alone. */
const groupShare = g => g.kernels.reduce((sum, k) => sum + (k.share || 0) / k.groups.length, 0);
const groupTitle = g => g.nodes.map(n => graph.nodes[n].op).join(' + ');
const kinds = {
  contract: 'contraction: sums of products', window: 'window: reduces what lies around a place', row: 'row: reduces whole axes',
  map: 'map: each cell by itself', move: 'move: cells as they are', view: 'view: the same cells in other dims',
  opaque: 'a call, or loops of its own'};
const problemKind = {contraction: 'contract', window: 'window', rows: 'row', map: 'map', move: 'move', text: 'opaque', loops: 'opaque'};
const kernelKind = k => problemKind[k.problem] || 'opaque';

/* ---- what verify found, by the names of tensors */
const verified = new Map((facts.verified ? facts.verified.outputs : []).map(o => [o.name, o]));
function errorText(o) {
  return !o.same ? `differs from ${o.with}` : known(o.error) ? `${o.error.toExponential(1)}` : 'none';
}
/* The worst of what the kernel's groups give: {same, error, name}, or null. */
function errorOf(k) {
  let worst = null;
  for (const g of k.groups)
    for (const n of g.nodes)
      for (const v of graph.nodes[n].outputs) {
        const o = v === null ? null : verified.get(graph.values[v].name);
        if (o && (!worst || (worst.same && !o.same) || (worst.same === o.same && (o.error || 0) > (worst.error || 0)))) worst = o;
      }
  return worst;
}

/* ---- what is selected, and who wants to know */
const listeners = [];
let selected = null; /* {group} or {kernel} or {value}, or null */
function select(what) {
  selected = what;
  for (const f of listeners) f(what);
}
