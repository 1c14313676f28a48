// A description of elements, and what makes the page be like it: only what differs is
// touched, so that nothing loses its focus, its selection or its place.

const SVG = 'http://www.w3.org/2000/svg';

// h describes an element. Properties that begin with "on" are listeners; `key`
// says which element of the same parent it is; `text` is the value of a field until
// somebody types another;
// `made` is called with the element once it is there; of one that is its `own`, the
// children are left alone.
export function h(tag, props, ...kids) {
  return {tag, props: props || {}, kids: kids.flat(9).filter(k => k !== null && k !== undefined && k !== false && k !== '')};
}

// memo describes what need not be made again while the values in `on` are the same.
export function memo(key, on, make) { return {key, on, make}; }

// render makes the children of an element be as described.
export function render(parent, ...kids) {
  if (!parent.made) parent.textContent = '';
  patch(parent, kids.flat(9).filter(Boolean), parent.namespaceURI === SVG);
}

function patch(parent, kids, svg) {
  const before = parent.made || [];
  const spare = new Map();
  before.forEach((one, i) => spare.set(one.id, one));
  const seen = new Map();
  const made = kids.map(kid => {
    const name = typeof kid === 'object' ? kid.key ?? kid.props?.key : undefined;
    const tag = typeof kid === 'object' ? kid.tag || 'memo' : '#text';
    const nth = seen.get(tag) || 0;
    if (name === undefined) seen.set(tag, nth + 1);
    const id = name !== undefined ? tag + '=' + name : tag + '#' + nth;
    const old = spare.get(id);
    spare.delete(id);
    return one(id, kid, old, svg);
  });
  for (const old of spare.values()) old.node.remove();
  let at = parent.firstChild;
  for (const {node} of made) {
    if (node === at) at = at.nextSibling;
    else parent.insertBefore(node, at);
  }
  parent.made = made;
}

function one(id, kid, old, svg) {
  if (typeof kid !== 'object') {
    const text = String(kid);
    const node = old ? old.node : document.createTextNode(text);
    if (old && node.data !== text) node.data = text;
    return {id, node};
  }
  if (kid.make) {
    if (old && old.on.length === kid.on.length && old.on.every((v, i) => v === kid.on[i])) return old;
    return {...one(id, kid.make(), old, svg), on: kid.on};
  }
  svg = svg || kid.tag === 'svg';
  const node = old && old.node.localName === kid.tag ? old.node : svg ? document.createElementNS(SVG, kid.tag) : document.createElement(kid.tag);
  if (old && node !== old.node) old.node.remove();
  dress(node, kid.props, node === old?.node ? old.props : NEW);
  if (!kid.props.own) patch(node, kid.kids, svg && kid.tag !== 'foreignObject');
  return {id, node, props: kid.props};
}

const NEW = {};
const OURS = new Set(['key', 'own', 'made']);
const PROPERTIES = new Set(['checked', 'disabled', 'hidden', 'selected', 'open']);

function dress(node, props, before) {
  for (const name of Object.keys(before)) if (!(name in props)) set(node, name, null);
  for (const [name, value] of Object.entries(props)) if (value !== before[name]) set(node, name, value);
  if (before === NEW) props.made?.(node);
}

function set(node, name, value) {
  if (OURS.has(name)) return;
  if (name === 'text') node.value = value || '';
  else if (name.startsWith('on')) node[name.toLowerCase()] = value;
  else if (PROPERTIES.has(name)) node[name] = !!value;
  else if (name === 'style') for (const [p, v] of Object.entries(value)) node.style.setProperty(p, v);
  else if (value === null || value === undefined || value === false) node.removeAttribute(name);
  else node.setAttribute(name, value === true ? '' : value);
}

// say tells everybody, also those who listen to the page.
export function say(text, tone) {
  const box = document.getElementById('said');
  const line = document.createElement('p');
  line.textContent = text;
  line.dataset.tone = tone || 'ok';
  box.append(line);
  setTimeout(() => line.remove(), tone === 'bad' ? 12000 : 5000);
  while (box.children.length > 3) box.firstChild.remove();
}
