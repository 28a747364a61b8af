/* The overview, and the tables: layers, and what was fused and what became of the model's nodes. */

/* A table whose columns are {name, of(row) -> what sorts, show(row) -> what stands there, num}. */
function table(columns, rows, more) {
  const body = el('tbody');
  let by = more.by, down = true;
  const heads = columns.map((c, k) => el('th', {class: c.num ? 'num' : '', 'aria-sort': 'none', title: c.title}, c.of ? el('button', {type: 'button', onclick: () => {
    down = by === k ? !down : !!c.num;
    by = k;
    fill();
  }}, c.name) : c.name));
  function fill() {
    const sorted = [...rows];
    if (known(by)) sorted.sort((a, b) => {
      const x = columns[by].of(a), y = columns[by].of(b), way = down ? -1 : 1;
      return !known(x) ? known(y) ? 1 : 0 : !known(y) ? -1 : x < y ? -way : x > y ? way : 0;
    });
    heads.forEach((h, k) => h.setAttribute('aria-sort', k !== by ? 'none' : down ? 'descending' : 'ascending'));
    body.replaceChildren(...sorted.map(r => {
      const tr = el('tr', {'data-key': more.key(r)}, ...columns.map(c => {
        const v = c.of ? c.of(r) : null, inside = c.show(r);
        return el('td', {class: c.num ? 'num' : c.class || '', 'data-value': c.num && known(v) ? v : null}, ...(Array.isArray(inside) ? inside : [inside]));
      }));
      if (more.click) tr.addEventListener('click', ev => { if (!ev.target.closest('button')) more.click(r); });
      return tr;
    }));
    mark(selected);
  }
  const mark = what => { if (more.is) body.querySelectorAll('tr').forEach(tr => tr.classList.toggle('selected', !!what && more.is(what, tr.dataset.key))); };
  listeners.push(mark);
  fill();
  return el('div', {class: 'frame table'}, el('table', {class: more.click ? 'clickable' : ''}, el('thead', {}, el('tr', {}, ...heads)), body));
}
const isKernel = (what, name) => what.kernel ? what.kernel.name === name : !!what.group && what.group.kernels.some(k => k.name === name);
const nodeNames = k => k.nodes.length ? k.nodes.map(n => (/"((?:[^"\\]|\\.)*)"/.exec(n) || [0, n])[1]).join(', ') : '';
const mostShare = Math.max(0, ...kernels.map(k => k.share || 0));
function shareBar(v) { return known(v) ? el('span', {class: 'share-bar'}, el('i', {style: `width:${(42 * v / mostShare).toFixed(1)}px`}), el('b', {}, percent(v))) : '\u2013'; }

function layersView() {
  const columns = [
    {name: 'Kernel', of: k => k.name, show: k => [el('span', {class: 'dotmark kind-' + kernelKind(k)}), el('code', {}, k.short)], class: 'kernel-name'},
    {name: 'Nodes', of: k => nodeNames(k), show: k => el('span', {title: k.nodes.join('\n')}, cut(nodeNames(k), 60)), class: 'names'},
    {name: 'Problem', of: k => k.problem, show: k => k.problem}];
  if (run) columns.push({name: takenName, num: true, of: k => k.taken, show: k => takenText(k.taken)}, {name: 'Share', num: true, of: k => k.share, show: k => shareBar(k.share)});
  columns.push({name: 'Calls', num: true, of: k => k.calls, show: k => known(k.calls) ? digits(k.calls) : '\u2013'},
    {name: 'MACs', title: 'multiply-adds of a run', num: true, of: k => k.products, show: k => amount(k.products)},
    {name: 'Bytes', title: 'results, and at most what is read', num: true, of: k => k.bytes, show: k => bytes(k.bytes)});
  if (run && !counted) columns.push({name: 'Best', title: 'of the time, what the row of the machine allows at best', num: true, of: k => k.best, show: k => percent(k.best)});
  if (verified.size) columns.push({name: 'Error', title: 'of the worst result of its nodes, by the greatest magnitude', num: true,
    of: k => { const o = errorOf(k); return o ? o.same ? o.error || 0 : Infinity : null; },
    show: k => { const o = errorOf(k); return o ? el('span', {class: o.same ? '' : 'wrong', title: o.name}, o.same ? errorText(o) : 'differs') : '\u2013'; }});
  return el('div', {class: 'sheet wide'}, el('h2', {}, 'Layers'), el('p', {class: 'lead'}, run ? `What each kernel takes in a run, ${counted ? 'in instructions that an emulator counted' : 'the median of ' + run.runs + ' runs'}. A click shows its C.`
    : 'Nothing was run. A click on a kernel shows its C.'), table(columns, kernels, {by: run ? 3 : null, key: k => k.name, click: k => select({kernel: k}), is: isKernel}));
}

function fusionView() {
  const nodeLinks = g => [...g.views, ...g.nodes].map((n, k) => el('span', {class: g.views.includes(n) ? 'piece view' : 'piece', title: graph.nodes[n].name}, graph.nodes[n].op));
  const columns = [
    {name: 'Kernel', of: g => g.kernels.length ? g.kernels[0].name : '', show: g => g.kernels.length ? el('code', {}, g.kernels[0].short) : el('span', {class: 'muted'}, 'none')},
    {name: 'Nodes together', of: g => g.nodes.length, show: g => el('div', {class: 'pieces'}, ...nodeLinks(g))},
    {name: 'Class', of: g => g.kind, show: g => kindChip(g.kind)},
    {name: 'Why it ends there', of: g => g.why || '', show: g => g.why ? [g.why, el('span', {class: 'muted'}, ' \u2192 ' + nodeName(graph.nodes[g.reader]) + ' (' + (graph.nodes[g.reader] || {}).op + ')')]
      : el('span', {class: 'muted'}, 'nothing reads it but the caller'), class: 'why'}];
  const fused = groups.filter(g => g.nodes.length > 1);
  const parts = [el('h2', {}, 'What was fused'), el('p', {class: 'lead'}, `${graph.nodes.length} nodes are ${groups.length} groups; ${fused.length} of them hold more than one node. A group is one kernel: what lies between its nodes is never stored.`),
    table(columns, groups, {by: null, key: g => String(g.number), click: g => select({group: g}), is: (what, key) => what.group ? String(what.group.number) === key
      : !!what.kernel && what.kernel.groups.some(g => String(g.number) === key)})];
  const gone = (build.nodes || []).filter(n => n.state !== 'alive');
  parts.push(el('h2', {}, 'What became of the others'), el('p', {class: 'lead'}, gone.length ? `${gone.length} of the model\u2019s ${build.nodes.length} nodes were merged into others or removed before that.` : 'Each node of the model is in a group.'));
  if (gone.length) parts.push(table([
    {name: 'Node', of: n => n.node, show: n => n.node},
    {name: 'Fate', of: n => n.state, show: n => el('span', {class: 'chip'}, n.state)},
    {name: 'Into', of: n => n.into || '', show: n => n.into || ''},
    {name: 'Pass', of: n => n.pass || '', show: n => [n.pass || '', n.rule ? el('span', {class: 'muted'}, ' ' + n.rule) : null]},
    {name: 'Why', of: n => n.why || '', show: n => n.why || '', class: 'why'}], gone, {by: null, key: n => n.node}));
  return el('div', {class: 'sheet wide'}, ...parts);
}

function tile(name, value, note, exact, id) {
  return el('div', {class: 'tile'}, el('div', {class: 'tile-name'}, name), el('div', {class: 'tile-value', 'data-value': known(exact) ? exact : null, id}, value), el('div', {class: 'tile-note'}, note || ''));
}
function ioList(title, of) {
  return el('section', {class: 'card-block'}, el('h3', {}, title), el('ul', {class: 'tensors'}, ...of.map(v => el('li', {}, el('div', {class: 'tensor'}, el('span', {class: 'tensor-name'}, valueName(graph.values[v])), el('code', {}, graph.values[v].type))))));
}
function overviewView() {
  const products = kernels.reduce((s, k) => s + (k.products || 0), 0), tiles = [];
  if (run) tiles.push(counted ? tile('Instructions', amount(run.instructions), 'of a run, counted by an emulator', run.instructions, 'tile-run')
    : tile('Time of a run', time(run.median_ms), `median of ${run.runs}; least ${time(run.min_ms)}`, run.median_ms, 'tile-run'));
  tiles.push(tile('Multiply-adds', amount(products), run && !counted && run.median_ms > 0 ? digits(2 * products / run.median_ms / 1e6) + ' Gop/s' : 'of a run', products, 'tile-macs'),
    tile('Kernels', String(kernels.length), `${graph.nodes.length} nodes in ${groups.length} groups`, kernels.length, 'tile-kernels'),
    tile('Arena', bytes(arenaBytes), 'most at ' + momentName(worst), arenaBytes, 'tile-arena'),
    tile('Weights', bytes(build.weights.bytes), 'kept as ' + build.weights.kept_as, build.weights.bytes, 'tile-weights'));
  if (run && known(run.code_bytes)) tiles.push(tile('Code', bytes(run.code_bytes), 'machine code and constants', run.code_bytes, 'tile-code'));
  const slow = kernels.filter(k => k.share > 0).sort((a, b) => b.share - a.share).slice(0, 8);
  const parts = [el('div', {class: 'tiles'}, ...tiles)];
  if (slow.length) parts.push(el('section', {class: 'card-block'}, el('h3', {}, 'Where it goes'), el('ol', {class: 'bars'}, ...slow.map(k => el('li', {},
    el('button', {type: 'button', onclick: () => select({kernel: k})}, el('span', {class: 'bar-name'}, el('span', {class: 'dotmark kind-' + kernelKind(k)}), k.short),
      el('span', {class: 'bar-nodes'}, cut(nodeNames(k), 48)), el('span', {class: 'bar-track'}, el('i', {class: 'kind-' + kernelKind(k), style: `width:${(100 * k.share / slow[0].share).toFixed(1)}%`})),
      el('span', {class: 'bar-value'}, takenText(k.taken)), el('span', {class: 'bar-share'}, percent(k.share))))))));
  else parts.push(el('p', {class: 'note'}, run ? 'No kernel took a time that could be measured.' : 'Times are missing: nothing was run.'));
  if (build.graph) parts.push(el('div', {class: 'two'}, ioList('Inputs', graph.inputs), ioList('Outputs', graph.outputs)));
  const s = build.source || {};
  parts.push(el('section', {class: 'card-block'}, el('h3', {}, 'What was compiled'), el('dl', {class: 'facts'}, row('Model', s.file || build.name), row('Hash', el('code', {}, s.hash || '')),
    s.producer ? row('Producer', s.producer) : null, row('Target', build.target), row('Flags', el('code', {}, build.cflags)),
    (build.symbols || []).length ? row('Open sizes', build.symbols.map(y => `${y.name}: ${y.least}..${y.most}, here ${run && run.dims && known(run.dims[y.name]) ? run.dims[y.name] : y.typical}`).join('; ')) : null)));
  return el('div', {class: 'sheet'}, ...parts);
}
