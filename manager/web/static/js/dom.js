// A description of elements, and what makes the page be like it: only what differs is
// touched, so that nothing loses its focus, its selection or its place.

const SVG = 'http://www.w3.org/2000/svg';

// h describes an element. Properties that begin with "on" are listeners; `key`
// says which element of the same parent it is; `text` is the value of a field until
// somebody types another;
// `made` is called with the element once it is in the page; of one that is its `own`, the
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
  for (const f of fresh.splice(0)) f();
}

const fresh = []; // what is to be called of elements that were made

function patch(parent, kids, svg) {
  const before = parent.made || [];
  const spare = new Map();
  before.forEach((one, i) => spare.set(one.id, one));
  const seen = new Map();
  const made = kids.map(kid => {
    const name = typeof kid === 'object' ? kid.key ?? kid.props?.key : undefined;
    const like = (typeof kid === 'object' ? kid.tag || 'memo' : '#text') + (name === undefined ? '' : '=' + name);
    const nth = seen.get(like) || 0;
    seen.set(like, nth + 1);
    const id = like + '#' + nth;
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
  if (before === NEW && props.made) fresh.push(() => props.made(node));
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

addEventListener('hashchange', () => { for (const line of document.querySelectorAll('#said [data-tone=bad]')) line.remove(); });

// say tells everybody, also those who listen to the page. What went wrong stays until it is
// closed or another view is opened; href is where there is more of it.
export function say(text, tone, href) {
  const box = document.getElementById('said');
  const line = document.createElement('p');
  line.textContent = text;
  line.dataset.tone = tone || 'ok';
  if (tone === 'bad') {
    const close = document.createElement('button');
    close.ariaLabel = 'Close';
    close.textContent = '×';
    close.onclick = () => line.remove();
    if (href) line.append(' ', Object.assign(document.createElement('a'), {href, textContent: 'See what it printed'}));
    line.append(close);
  } else {
    setTimeout(() => line.remove(), 5000);
  }
  box.append(line);
  while (box.children.length > 3) box.firstChild.remove();
}

// confirmed asks before it does something that cannot be undone.
export function confirmed(title, text, label, f) {
  const box = document.createElement('dialog'), row = document.createElement('div');
  const button = (name, kind, act) => Object.assign(document.createElement('button'), {textContent: name, className: kind, onclick: () => { box.close(); act?.(); }});
  const heading = Object.assign(document.createElement('h2'), {textContent: title, id: 'confirm'});
  box.setAttribute('aria-labelledby', 'confirm');
  row.className = 'row';
  row.append(button(label, 'danger', f), button('Cancel', ''));
  box.append(heading, Object.assign(document.createElement('p'), {textContent: text}), row);
  box.onclose = () => box.remove();
  document.body.append(box);
  box.showModal();
  row.lastChild.focus();
}
