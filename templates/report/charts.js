/* Two pictures: the arena over time, and the kernels under the roof of the machine. */

/* ---- memory over time */
const plan = build.plan || {positions: 0, buffers: [], calls: []};
const buffers = plan.buffers.map((b, k) => ({...b, k}));
const placed = buffers.filter(b => known(b.offset) && b.bytes > 0 && !known(b.of) && b.last >= b.first);
const arenaBytes = known(build.arena.bytes) ? build.arena.bytes : build.arena.bytes_at_typical_sizes;
function aliveAt(position) { return placed.filter(b => b.first <= position && position <= b.last); }
/* Live bytes at each position, by where buffers begin and end. */
function liveBytes() {
  const change = new Array(plan.positions + 2).fill(0);
  for (const b of placed) change[b.first] += b.bytes, change[b.last + 1] -= b.bytes;
  let now = 0;
  return change.map(c => now += c).slice(0, Math.max(1, plan.positions));
}
const live = liveBytes();
const callAt = new Map(plan.calls.map(c => [c.at, c]));
/* The moment with the most bytes alive; of several the first that calls a kernel. */
function worstMoment() {
  let worst = 0;
  live.forEach((v, k) => { if (v > live[worst] || (v === live[worst] && !callAt.has(worst) && callAt.has(k))) worst = k; });
  return worst;
}
const worst = worstMoment();
function momentName(position) {
  let c = callAt.get(position);
  for (let k = position; !c && k < plan.positions; k++) c = callAt.get(k);
  return c ? shortName(c.kernel) : 'the end of the run';
}
const hue = b => `hsl(${(b.k * 47 + 200) % 360} var(--buffer-s) var(--buffer-l))`;

function memoryView() {
  if (!placed.length) return el('div', {class: 'sheet'}, el('h2', {}, 'Memory over time'), el('p', {class: 'empty'},
    arenaBytes ? 'Nothing has a place that is known before the run.' : 'The run needs no arena: nothing lies between kernels.'));
  const W = 1160, H = 430, L = 74, T = 14, P = 92, n = plan.positions;
  const x = p => L + (W - L - 12) * p / n, y = v => T + (H - T - 10) * (1 - v / arenaBytes);
  const chart = svg('svg', {class: 'chart memory', viewBox: `0 0 ${W} ${H + P}`, role: 'img', 'aria-label': 'What lies where in the arena, and when'});
  const steps = 4;
  for (let k = 0; k <= steps; k++) {
    const v = arenaBytes * k / steps;
    chart.append(svg('line', {class: 'grid', x1: L, x2: W - 12, y1: y(v), y2: y(v)}), svg('text', {class: 'tick', x: L - 8, y: y(v) + 4, 'text-anchor': 'end'}, bytes(v)));
  }
  for (const b of placed) {
    const w = Math.max(1, x(b.last + 1) - x(b.first)), h = Math.max(0.6, y(b.offset) - y(b.offset + b.bytes));
    const r = svg('rect', {class: 'buffer', x: x(b.first), y: y(b.offset + b.bytes), width: w, height: h, rx: Math.min(2, h / 3), style: `fill:${hue(b)}`},
      svg('title', {}, `${b.name}: ${b.type}\n${bytes(b.bytes)} at ${b.offset}`));
    chart.append(r);
    if (h > 15 && w > 8 * Math.min(6, b.name.length) + 10)
      chart.append(svg('text', {class: 'buffer-name', x: x(b.first) + 5, y: y(b.offset + b.bytes / 2) + 4}, cut(b.name, Math.floor((w - 8) / 6.6))));
  }
  /* the sum below, as steps */
  const top = H + 12, base = H + P - 22, most = live[worst] || 1, ly = v => base - (base - top) * v / most;
  let d = `M${x(0)} ${base}`;
  live.forEach((v, p) => { d += `V${ly(v).toFixed(1)}H${x(p + 1).toFixed(1)}`; });
  chart.append(...[svg('path', {class: 'live', d: d + `V${base}z`}), svg('text', {class: 'tick', x: L - 8, y: top + 8, 'text-anchor': 'end'}, bytes(most)),
    svg('text', {class: 'tick', x: L - 8, y: base, 'text-anchor': 'end'}, 'alive'),
    x(worst) > W / 4 ? svg('text', {class: 'tick', x: L, y: H + P - 4}, 'begin of the run') : null, svg('text', {class: 'tick', x: W - 12, y: H + P - 4, 'text-anchor': 'end'}, 'end')].filter(Boolean));
  const cursor = svg('line', {class: 'cursor', y1: T, y2: base}), worstLine = svg('line', {class: 'worst', x1: x(worst + 0.5), x2: x(worst + 0.5), y1: T, y2: base});
  const side = x(worst) > W * 0.7 ? -1 : 1;
  chart.append(worstLine, cursor, svg('text', {class: 'worst-name', x: x(worst + 0.5) + 6 * side, y: base + 14, 'text-anchor': side > 0 ? 'start' : 'end'},
    `most at ${momentName(worst)}`));
  const body = el('tbody'), title = el('h3', {});
  const show = p => {
    const all = aliveAt(p).sort((a, b) => b.bytes - a.bytes);
    cursor.setAttribute('x1', x(p + 0.5)), cursor.setAttribute('x2', x(p + 0.5));
    const k = kernelByName.get((callAt.get(p) || {}).kernel);
    title.replaceChildren(p === worst ? 'The worst moment: ' : 'At ', k ? link(momentName(p), {kernel: k}) : momentName(p), `, ${bytes(live[p])} alive in ${all.length} buffer${all.length === 1 ? '' : 's'}`);
    body.replaceChildren(...all.map(b => el('tr', {}, el('td', {}, el('span', {class: 'swatch', style: `background:${hue(b)}`}), b.name), el('td', {}, el('code', {}, b.type)),
      el('td', {class: 'num', 'data-value': b.bytes}, bytes(b.bytes)), el('td', {class: 'num'}, String(b.offset)), el('td', {class: 'num'}, percent(b.bytes / live[p])))));
  };
  chart.addEventListener('click', ev => {
    const r = chart.getBoundingClientRect(), at = ((ev.clientX - r.left) / r.width * W - L) / (W - L - 12) * n;
    if (at >= 0 && at < n) show(Math.floor(at));
  });
  show(worst);
  const summary = el('p', {class: 'lead'}, 'The arena takes ', el('strong', {'data-value': arenaBytes, id: 'arena-bytes'}, bytes(arenaBytes)),
    known(build.arena.least_possible) ? ', no plan could take less than ' + bytes(build.arena.least_possible) : '',
    '. Most is alive at ', el('strong', {id: 'worst'}, momentName(worst)), ': ', el('span', {'data-value': live[worst]}, bytes(live[worst])),
    '. Click a moment to see what lies there.');
  return el('div', {class: 'sheet wide'}, el('h2', {}, 'Memory over time'), summary, el('div', {class: 'frame'}, chart), title,
    el('div', {class: 'frame table'}, el('table', {}, el('thead', {}, el('tr', {}, el('th', {}, 'Buffer'), el('th', {}, 'Lies as'), el('th', {class: 'num'}, 'Bytes'),
      el('th', {class: 'num'}, 'Offset'), el('th', {class: 'num'}, 'Share'))), body)));
}

/* ---- the roof: how many operations a kernel has for each byte, and how many it does in a second */
/* 1, 2 and 5 of each power of ten between two logarithms; over many powers the powers alone. */
function marks(lo, hi) {
  const all = [];
  for (let k = Math.floor(lo); k <= hi; k++)
    for (const m of hi - lo > 3.5 ? [1] : [1, 2, 5]) if (Math.log10(m * 10 ** k) >= lo && Math.log10(m * 10 ** k) <= hi) all.push(Number((m * 10 ** k).toPrecision(1)));
  return all;
}
function rooflineView() {
  const intro = el('p', {class: 'lead'}, 'Each point is a kernel: operations for each byte that it moves, and operations in a second. The lines are what the row of the machine allows (a multiply-add counts as two). ' +
    'Kernels without multiply-adds stand at the left, by the bytes that they move.');
  const all = kernels.filter(k => known(k.bytes) && k.bytes > 0);
  const measured = all.filter(k => known(k.taken) && k.taken > 0 && !counted);
  if (!measured.length) {
    const why = counted ? 'An emulator counts instructions and tells no times: there is no roof to compare with.' : run ? 'No kernel took a time that could be measured.'
      : 'Nothing was run, so there are no times. The operations for each byte are known:';
    const list = all.filter(k => k.products > 0).sort((a, b) => b.products - a.products);
    return el('div', {class: 'sheet wide'}, el('h2', {}, 'Roofline'), el('p', {class: 'lead'}, why), list.length ? el('div', {class: 'frame table'}, el('table', {},
      el('thead', {}, el('tr', {}, el('th', {}, 'Kernel'), el('th', {class: 'num'}, 'Multiply-adds'), el('th', {class: 'num'}, 'Bytes'), el('th', {class: 'num'}, 'Operations a byte'))),
      el('tbody', {}, ...list.map(k => el('tr', {}, el('td', {}, link(k.short, {kernel: k})), el('td', {class: 'num'}, amount(k.products)), el('td', {class: 'num'}, bytes(k.bytes)),
        el('td', {class: 'num'}, digits(2 * k.products / k.bytes))))))) : null);
  }
  const W = 1160, H = 560, L = 74, G = 150, T = 16, B = 46;
  const many = measured.filter(k => k.products > 0), none = measured.filter(k => !(k.products > 0));
  const gops = k => 2 * perNs(k, k.products), gbs = k => perNs(k, k.bytes), each = k => 2 * k.products / k.bytes;
  const peaks = [...new Set(many.map(k => k.peak).filter(known).map(v => Number((2 * v).toPrecision(3))))].sort((a, b) => b - a);
  const roofBytes = Math.max(0, ...measured.map(k => k.peakBytes || 0));
  const ys = [...many.map(gops), ...none.map(gbs), ...peaks, ...(none.length && roofBytes ? [roofBytes] : [])].map(Math.log10).filter(Number.isFinite);
  const xs = [...many.map(each), ...(roofBytes && peaks.length ? [peaks[0] / roofBytes] : [])].map(Math.log10).filter(Number.isFinite);
  const y0 = Math.min(...ys) - 0.2, y1 = Math.max(...ys) + 0.15, x0 = Math.min(...xs, 0) - 0.15, x1 = Math.max(...xs, 1) + 0.15;
  const left = L + (none.length ? G : 0);
  const x = v => left + (W - left - 16) * (Math.log10(v) - x0) / (x1 - x0), y = v => T + (H - T - B) * (1 - (Math.log10(v) - y0) / (y1 - y0));
  const chart = svg('svg', {class: 'chart roof', viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label': 'Kernels under the roof of the machine'});
  for (const v of marks(y0, y1)) chart.append(svg('line', {class: 'grid', x1: L, x2: W - 16, y1: y(v), y2: y(v)}), svg('text', {class: 'tick', x: L - 8, y: y(v) + 4, 'text-anchor': 'end'}, digits(v)));
  for (const v of marks(x0, x1)) chart.append(svg('line', {class: 'grid', x1: x(v), x2: x(v), y1: T, y2: H - B}), svg('text', {class: 'tick', x: x(v), y: H - B + 18, 'text-anchor': 'middle'}, digits(v)));
  chart.append(svg('text', {class: 'axis', x: (left + W) / 2, y: H - 6, 'text-anchor': 'middle'}, 'operations a byte'),
    svg('text', {class: 'axis', x: 14, y: (H - B) / 2, transform: `rotate(-90 14 ${(H - B) / 2})`, 'text-anchor': 'middle'}, none.length ? 'Gop/s \u00b7 GB/s' : 'Gop/s'));
  if (none.length) chart.append(svg('line', {class: 'gutter', x1: left - 12, x2: left - 12, y1: T, y2: H - B}), svg('text', {class: 'tick', x: L + (G - 12) / 2, y: H - B + 18, 'text-anchor': 'middle'}, 'GB/s, no products'));
  const lowest = 10 ** x0;
  peaks.slice(0, 4).forEach(p => {
    const from = roofBytes ? Math.max(lowest, p / roofBytes) : lowest;
    chart.append(svg('line', {class: 'peak', x1: x(from), x2: W - 16, y1: y(p), y2: y(p)}), svg('text', {class: 'peak-name', x: W - 20, y: y(p) - 6, 'text-anchor': 'end'}, amount(p) + ' Gop/s'));
  });
  if (roofBytes && peaks.length) {
    const from = Math.max(lowest, 10 ** y0 / roofBytes), to = peaks[0] / roofBytes;
    chart.append(svg('line', {class: 'peak', x1: x(from), y1: y(from * roofBytes), x2: x(to), y2: y(peaks[0])}));
  }
  if (none.length && roofBytes) chart.append(svg('line', {class: 'peak', x1: L, x2: left - 12, y1: y(roofBytes), y2: y(roofBytes)}), svg('text', {class: 'peak-name', x: L + 4, y: y(roofBytes) - 6}, amount(roofBytes) + ' GB/s'));
  const bySize = [...measured].sort((a, b) => (b.share || 0) - (a.share || 0));
  const dots = [], names = [];
  bySize.forEach((k, n) => {
    const products = k.products > 0, cx = products ? x(each(k)) : L + 10 + (G - 34) * ((n * 0.618) % 1), cy = y(products ? gops(k) : gbs(k));
    const r = 3.5 + 16 * Math.sqrt(k.share || 0);
    const dot = svg('circle', {class: 'dot kind-' + kernelKind(k), cx, cy, r, tabindex: 0, role: 'button', 'data-kernel': k.name, 'aria-label': k.short, onclick: () => select({kernel: k}),
      onkeydown: ev => { if (ev.key === 'Enter') select({kernel: k}); }},
      svg('title', {}, `${k.short}\n${time(k.taken)}, ${percent(k.share)} of a run\n${products ? digits(gops(k)) + ' Gop/s, ' + digits(each(k)) + ' operations a byte' : digits(gbs(k)) + ' GB/s'}${known(k.best) ? '\n' + percent(k.best) + ' of the best' : ''}`));
    chart.append(dot);
    dots.push({k, n, cx, cy, r, products});
  });
  /* Names of the largest, where they hide no other name and few points. */
  for (const {k, n, cx, cy, r, products} of dots) {
    const w = 7 * k.short.length, right = {x: cx + r + 4, y: cy - 8, w}, left_ = {x: cx - r - 4 - w, y: cy - 8, w};
    const hit = (a, b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + 16 && b.y < a.y + 16;
    const free = a => a.x > left && a.x + w < W - 20 && !names.some(b => hit(a, b)) && dots.filter(d => hit(a, {x: d.cx - d.r, y: d.cy - 8, w: 2 * d.r})).length < 1;
    const at = free(right) ? right : free(left_) ? left_ : null;
    if (!products || n >= 14 || !at) continue;
    names.push(at);
    chart.append(svg('text', {class: 'dot-name', x: at.x, y: cy + 4}, k.short));
  }
  listeners.push(what => chart.querySelectorAll('.dot').forEach(d => d.classList.toggle('selected',
    !!what && (what.kernel ? what.kernel.name === d.dataset.kernel : !!what.group && what.group.kernels.some(k => k.name === d.dataset.kernel)))));
  return el('div', {class: 'sheet wide'}, el('h2', {}, 'Roofline'), intro, el('div', {class: 'frame'}, chart));
}
