/* The details at the side: of a box of the graph, of a kernel with its C, or of an input or output. */
const panel = document.getElementById('panel');

function row(name, value, more) {
  return el('div', {class: 'fact'}, el('dt', {}, name), el('dd', more || {}, value));
}
function link(text, to) {
  return el('button', {type: 'button', class: 'link', onclick: () => select(to)}, text);
}
function kindChip(kind) { return el('span', {class: 'chip kind-' + kind, title: kinds[kind] || ''}, kind); }

/* ---- C, with colours. Words of C and numbers; comments as a whole. */
const CODE = /(\/\*[\s\S]*?\*\/|\/\/[^\n]*)|("(?:[^"\\\n]|\\.)*")|\b(void|const|for|if|else|while|return|static|inline|float|double|int|char|size_t|ptrdiff_t|u?int\d+_t|restrict|__restrict__|__global__|__shared__|struct|break|continue|do)\b|\b(nn_\w+)\b|\b(0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?[fFuUlL]*)\b/g;
function coloured(text) {
  const out = document.createDocumentFragment();
  let at = 0;
  if (text.length < 60000)
    for (const m of text.matchAll(CODE)) {
      out.append(text.slice(at, m.index));
      out.append(el('span', {class: m[1] ? 'c-comment' : m[2] ? 'c-text' : m[3] ? 'c-word' : m[4] ? 'c-call' : 'c-number'}, m[0]));
      at = m.index + m[0].length;
    }
  out.append(text.slice(at));
  return out;
}
function codeOf(k) {
  if (!k.code) return null;
  const copy = el('button', {type: 'button', class: 'small', onclick: () => {
    if (navigator.clipboard) navigator.clipboard.writeText(k.code).then(() => { copy.textContent = 'Copied'; }, () => {});
  }}, 'Copy');
  return el('section', {}, el('h3', {}, 'Code', copy), el('pre', {class: 'code', tabindex: 0}, coloured(k.code)));
}

/* ---- kernels */
function kernelFacts(k) {
  const list = el('dl', {class: 'facts'});
  if (known(k.taken)) list.append(row(takenName, takenText(k.taken) + (known(k.share) ? '  \u00b7  ' + percent(k.share) + ' of a run' : ''), {title: counted ? k.taken : k.taken + ' ms'}));
  if (known(k.calls)) list.append(row('Calls a run', digits(k.calls)));
  if (k.products > 0) list.append(row('Multiply-adds', amount(k.products), {title: k.products}));
  if (known(k.bytes)) list.append(row('Bytes moved', bytes(k.bytes), {title: k.bytes}));
  if (k.products > 0 && perNs(k, k.products)) list.append(row('Rate', digits(2 * perNs(k, k.products)) + ' Gop/s'));
  else if (perNs(k, k.bytes)) list.append(row('Rate', digits(perNs(k, k.bytes)) + ' GB/s'));
  if (known(k.best)) list.append(row('Of the machine\u2019s best', percent(k.best)));
  return list;
}
function kernelPart(k, withNodes) {
  const part = el('section', {class: 'kernel'}, el('h3', {}, el('code', {}, k.name), kindChip(kernelKind(k))), kernelFacts(k));
  if (k.groups.length > 1) part.append(el('p', {class: 'note'}, `One kernel for ${k.groups.length} groups that compute the same; times and counts are those of all its calls.`));
  if (withNodes) part.append(el('ul', {class: 'origins'}, ...k.nodes.map(n => el('li', {}, n))));
  if (withNodes && k.groups.length) part.append(el('p', {}, 'In the graph: ', ...k.groups.slice(0, 12).flatMap(g => [link(groupTitle(g), {group: g}), ' '])));
  const code = codeOf(k);
  if (code) part.append(code);
  return part;
}

/* ---- tensors */
function valueRow(v, what) {
  const parts = [el('div', {class: 'tensor'}, el('span', {class: 'tensor-name'}, valueName(v)), el('code', {}, v.type))];
  if (what === 'inside') parts.push(el('div', {class: 'note'}, 'only inside of the kernel: it lies nowhere'));
  else if (v.stored) parts.push(el('div', {class: 'note'}, 'lies as ', el('code', {}, v.stored)));
  const found = verified.get(v.name);
  if (found) parts.push(el('div', {class: found.same ? 'note' : 'note wrong'}, 'error: ' + errorText(found)));
  if (known(v.constant_bytes)) parts.push(el('div', {class: 'note'}, 'constant, ' + bytes(v.constant_bytes)));
  return el('li', {}, ...parts);
}
function isInside(v, g) {
  const readers = readersOf(v);
  return readers.length > 0 && readers.every(n => groupOfNode.get(n) === g) && !graph.outputs.includes(v);
}
const readers = new Map();
graph.nodes.forEach((n, k) => n.inputs.forEach(v => {
  if (v === null) return;
  if (!readers.has(v)) readers.set(v, []);
  readers.get(v).push(k);
}));
function readersOf(v) { return readers.get(v) || []; }

/* ---- groups */
function nodePart(n, g, number) {
  const node = graph.nodes[n];
  const part = el('details', {class: 'node', open: number < 3 ? '' : null},
    el('summary', {}, el('strong', {}, node.op), ' ', el('span', {class: 'muted'}, node.name)));
  if (node.attributes) part.append(el('p', {class: 'attributes'}, el('code', {}, node.attributes)));
  const list = (title, of) => {
    const all = of.filter(known);
    if (all.length) part.append(el('h4', {}, title), el('ul', {class: 'tensors'}, ...all.map(v => valueRow(graph.values[v], title === 'Gives' && isInside(v, g) ? 'inside' : ''))));
  };
  list('Reads', node.inputs);
  list('Gives', node.outputs);
  if (node.nodes.length > 1) part.append(el('h4', {}, 'Stands for'), el('ul', {class: 'origins'}, ...node.nodes.map(o => el('li', {}, o))));
  return part;
}
function groupPart(g) {
  const parts = [el('h2', {}, groupTitle(g)), el('p', {}, kindChip(g.kind), el('span', {class: 'muted'}, ' ' + (kinds[g.kind] || '')))];
  if (g.views.length) parts.push(el('p', {class: 'note'}, 'Reads its operands through ' + g.views.map(n => graph.nodes[n].op).join(', ') + ', which move nothing.'));
  if (g.why) {
    const reader = graph.nodes[g.reader];
    parts.push(el('p', {class: 'ends'}, el('strong', {}, 'Ends here: '), g.why, '. ',
      reader ? el('span', {}, 'Next: ', link(nodeName(reader) + ' (' + reader.op + ')', {group: groupOfNode.get(g.reader)})) : null));
  }
  if (!g.kernels.length) parts.push(el('p', {class: 'note'}, 'No kernel: the same cells in other dims, or statements of the run function.'));
  g.kernels.forEach(k => parts.push(kernelPart(k, false)));
  parts.push(el('h3', {}, g.nodes.length + g.views.length > 1 ? 'Nodes' : 'Node'));
  [...g.views, ...g.nodes].forEach((n, k) => parts.push(nodePart(n, g, k)));
  return parts;
}
function portPart(v) {
  const value = graph.values[v];
  return [el('h2', {}, valueName(value)), el('p', {}, graph.inputs.includes(v) ? 'An input of the model.' : 'An output of the model.'),
    el('ul', {class: 'tensors'}, valueRow(value, ''))];
}
listeners.push(what => {
  panel.hidden = !what;
  document.body.classList.toggle('has-panel', !!what);
  if (!what) return panel.replaceChildren();
  const close = el('button', {type: 'button', class: 'close', 'aria-label': 'Close', onclick: () => select(null)}, '\u00d7');
  panel.replaceChildren(close, ...(what.group ? groupPart(what.group) : what.kernel ? [kernelPart(what.kernel, true)] : portPart(what.value)));
  panel.scrollTop = 0;
});
