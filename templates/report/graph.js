/* The graph: boxes where the layout put them, dragged and zoomed by the mouse, fingers or keys. */
const NEAR = 0.55, MAP = 0.25; /* below these scales small text is left out, and all text */
const drawn = facts.drawing;
let stage = null; /* what the view needs to move: {svg, camera, x, y, scale} */
const boxes = [];  /* of facts.drawing, with their elements */

function pathOf(p) {
  let d = `M${p[0]} ${p[1]}`;
  for (let k = 2; k + 5 < p.length; k += 6) d += `C${p.slice(k, k + 6).join(' ')}`;
  return d;
}
function heat(share) { return share > 0.2 ? 'hot' : share > 0.05 ? 'warm' : ''; }

function groupBox(b) {
  const g = groups[b.group], x = b.x - b.w / 2, y = b.y - b.h / 2, share = groupShare(g);
  const e = svg('g', {class: 'box kind-' + g.kind + ' ' + heat(share), transform: `translate(${x} ${y})`, tabindex: 0, role: 'button',
    'aria-label': groupTitle(g)});
  e.append(svg('rect', {class: 'card', width: b.w, height: b.h, rx: 7}),
    svg('path', {class: 'edge-mark', d: `M0 7a7 7 0 0 1 7 -7h-1v${b.h}h1a7 7 0 0 1 -7 -7z`}));
  const name = g.kernels.length ? g.kernels[0].short : 'no kernel';
  e.append(svg('text', {class: 'name', x: 14, y: 16}, cut(name, 20)));
  if (share > 0) e.append(svg('text', {class: 'share', x: b.w - 9, y: 16}, percent(share)));
  const all = [...g.views.map(n => [n, true]), ...g.nodes.map(n => [n, false])];
  const most = Math.floor((b.h - 34) / 17);
  all.slice(0, all.length > most ? most - 1 : most).forEach(([n, view], k) =>
    e.append(svg('text', {class: view ? 'op view' : 'op', x: 14, y: 37 + 17 * k}, cut(graph.nodes[n].op, 24))));
  if (all.length > most) e.append(svg('text', {class: 'op more', x: 14, y: 37 + 17 * (most - 1)}, `and ${all.length - most + 1} more`));
  if (share > 0) e.append(svg('rect', {class: 'bar', x: 6, y: b.h - 3, height: 3, width: Math.max(2, (b.w - 12) * Math.min(1, share)), rx: 1.5}));
  e.append(svg('title', {}, [groupTitle(g), ...g.kernels.map(k => k.name)].join('\n')));
  return [e, {group: g}];
}
function portBox(b) {
  const v = known(b.input) ? graph.inputs[b.input] : graph.outputs[b.output], value = graph.values[v];
  const e = svg('g', {class: 'box port', transform: `translate(${b.x - b.w / 2} ${b.y - b.h / 2})`, tabindex: 0, role: 'button',
    'aria-label': valueName(value)});
  e.append(svg('rect', {class: 'card', width: b.w, height: b.h, rx: b.h / 2}),
    svg('text', {class: 'op', x: b.w / 2, y: 16}, cut(valueName(value), 24)), svg('text', {class: 'type', x: b.w / 2, y: 30}, cut(value ? value.type : '', 28)),
    svg('title', {}, valueName(value)));
  return [e, {value: v}];
}
function edgeLabel(e, v) {
  const p = e.points, n = p.length / 2, k = n >= 4 ? 2 * Math.floor((n - 1) / 6) * 3 : 0;
  const x = (p[k] + 3 * p[k + 2] + 3 * p[k + 4] + p[k + 6]) / 8, y = (p[k + 1] + 3 * p[k + 3] + 3 * p[k + 5] + p[k + 7]) / 8;
  return svg('text', {class: 'label', x: x + 6, y: y + 3}, cut(v.type, 30));
}
/* A line over many layers: its name at both ends instead. */
function farEnds(e, v) {
  const from = drawn.boxes[e.from], to = drawn.boxes[e.to];
  return [[from.x + from.w / 2, from.y, 1, '\u2192 '], [to.x - to.w / 2, to.y, -1, '\u2190 ']].map(([x, y, way, arrow]) =>
    svg('g', {class: 'far'}, svg('path', {class: 'edge', d: `M${x} ${y}h${14 * way}`}),
      svg('text', {x: x + 18 * way, y: y + 3, 'text-anchor': way > 0 ? 'start' : 'end'}, arrow + cut(v ? valueName(v) : '', 18))));
}
function drawGraph(camera) {
  const lines = svg('g', {class: 'edges'}), labels = svg('g', {class: 'labels'}), cards = svg('g', {});
  const labelled = new Set();
  drawn.edges.forEach(e => {
    const v = known(e.value) ? graph.values[e.value] : null;
    if (e.far) return lines.append(...farEnds(e, v));
    const d = svg('path', {class: known(e.value) ? 'edge' : 'edge body', d: pathOf(e.points), 'marker-end': 'url(#arrow)'});
    if (v) d.append(svg('title', {}, valueName(v) + ': ' + v.type));
    lines.append(d);
    e.line = d;
    if (v && !labelled.has(e.from + ' ' + e.value)) labels.append(edgeLabel(e, v));
    labelled.add(e.from + ' ' + e.value);
  });
  drawn.boxes.forEach((b, k) => {
    const [e, what] = known(b.group) ? groupBox(b) : portBox(b);
    e.addEventListener('click', () => { if (!stage.moved) select(what); });
    e.addEventListener('keydown', ev => { if (ev.key === 'Enter' || ev.key === ' ') { ev.preventDefault(); select(what); } });
    boxes.push({k, b, e, what});
    cards.append(e);
  });
  camera.append(lines, labels, cards);
}

/* ---- moving */
function place() {
  stage.camera.setAttribute('transform', `translate(${stage.x} ${stage.y}) scale(${stage.scale})`);
  stage.svg.classList.toggle('distant', stage.scale < NEAR);
  stage.svg.classList.toggle('map', stage.scale < MAP);
}
function zoom(by, x, y) {
  const scale = Math.min(4, Math.max(0.02, stage.scale * by));
  stage.x = x - (x - stage.x) * scale / stage.scale;
  stage.y = y - (y - stage.y) * scale / stage.scale;
  stage.scale = scale;
  place();
}
function zoomMiddle(by) {
  const r = stage.svg.getBoundingClientRect();
  zoom(by, r.width / 2, r.height / 2);
}
function fit(whole) {
  const r = stage.svg.getBoundingClientRect();
  if (!r.width) return;
  const all = Math.min(r.width / drawn.w, r.height / drawn.h, 1.2);
  stage.scale = whole ? all : Math.min(1, Math.max(all, 0.8));
  stage.x = (r.width - drawn.w * stage.scale) / 2;
  stage.y = whole ? Math.max(8, (r.height - drawn.h * stage.scale) / 2) : 8;
  if (!whole && drawn.w * stage.scale > r.width && drawn.boxes.length) stage.x = r.width / 2 - drawn.boxes[0].x * stage.scale;
  place();
}
function centreOn(b) {
  const r = stage.svg.getBoundingClientRect();
  stage.scale = Math.max(stage.scale, 0.8);
  stage.x = r.width / 2 - b.x * stage.scale;
  stage.y = r.height / 2 - b.y * stage.scale;
  place();
}
function makeMovable() {
  const s = stage.svg, fingers = new Map();
  let gap = 0;
  const at = ev => { const r = s.getBoundingClientRect(); return [ev.clientX - r.left, ev.clientY - r.top]; };
  s.addEventListener('wheel', ev => {
    ev.preventDefault();
    if (ev.ctrlKey || ev.metaKey || !ev.shiftKey) zoom(Math.exp(-ev.deltaY * (ev.ctrlKey ? 0.01 : 0.0015)), ...at(ev));
    else stage.x -= ev.deltaY, place();
  }, {passive: false});
  s.addEventListener('pointerdown', ev => { fingers.set(ev.pointerId, at(ev)); stage.moved = false; });
  s.addEventListener('pointermove', ev => {
    const old = fingers.get(ev.pointerId);
    if (!old) return;
    const now = at(ev);
    if (Math.hypot(now[0] - old[0], now[1] - old[1]) > 3 && !stage.moved) { stage.moved = true; s.setPointerCapture(ev.pointerId); }
    if (!stage.moved) return;
    fingers.set(ev.pointerId, now);
    if (fingers.size === 2) {
      const [a, b] = [...fingers.values()], d = Math.hypot(a[0] - b[0], a[1] - b[1]);
      if (gap) zoom(d / gap, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
      gap = d;
      return;
    }
    stage.x += now[0] - old[0], stage.y += now[1] - old[1];
    place();
  });
  const up = ev => { fingers.delete(ev.pointerId); gap = 0; };
  s.addEventListener('pointerup', up);
  s.addEventListener('pointercancel', up);
  s.addEventListener('keydown', ev => {
    const step = {ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60]}[ev.key];
    if (step) stage.x += step[0], stage.y += step[1], place();
    else if (ev.key === '+' || ev.key === '=') zoomMiddle(1.25);
    else if (ev.key === '-') zoomMiddle(0.8);
    else if (ev.key === '0') fit(true);
    else return;
    ev.preventDefault();
  });
}
function markSelected(what) {
  const is = b => what && (what.group ? b.what.group === what.group : what.kernel ? b.what.group && b.what.group.kernels.includes(what.kernel)
    : known(what.value) && b.what.value === what.value);
  const on = new Set(boxes.filter(is).map(b => b.k));
  boxes.forEach(b => b.e.classList.toggle('selected', on.has(b.k)));
  drawn.edges.forEach(e => { if (e.line) e.line.classList.toggle('lit', on.has(e.from) || on.has(e.to)); });
  return boxes.filter(b => on.has(b.k));
}
function legend() {
  const present = new Set(groups.map(g => g.kind));
  return el('div', {class: 'legend'}, ...Object.keys(kinds).filter(k => present.has(k)).map(kindChip));
}
function graphView() {
  if (!drawn) return el('p', {class: 'empty'}, 'The module came as a text of loops: there is no graph.');
  const camera = svg('g', {});
  const picture = svg('svg', {class: 'graph', tabindex: 0, role: 'application', 'aria-label': 'The graph; arrows move it, plus and minus zoom'},
    svg('defs', {}, svg('marker', {id: 'arrow', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: 'userSpaceOnUse', orient: 'auto-start-reverse'},
      svg('path', {d: 'M0 0.5L7.5 4L0 7.5z'}))), camera);
  stage = {svg: picture, camera, x: 0, y: 0, scale: 1, moved: false};
  drawGraph(camera);
  makeMovable();
  const button = (label, text, fn) => el('button', {type: 'button', 'aria-label': label, title: label, onclick: fn}, text);
  const tools = el('div', {class: 'zoom'}, button('Nearer', '+', () => zoomMiddle(1.25)), button('Farther', '\u2212', () => zoomMiddle(0.8)),
    button('The whole graph', '\u2922', () => fit(true)));
  listeners.push(what => {
    const on = markSelected(what);
    if (on.length && activeTab() === 'graph') requestAnimationFrame(() => {
      const r = stage.svg.getBoundingClientRect(), b = on[0].b, x = stage.x + b.x * stage.scale, y = stage.y + b.y * stage.scale;
      if (on.length === 1 && (x < 60 || y < 40 || x > r.width - 60 || y > r.height - 40)) centreOn(b);
    });
  });
  return el('div', {class: 'graph-view'}, picture, legend(), tools);
}
