// The application as a picture, and as a list.

import {h, memo} from './dom.js';
import {state, changed, may} from './store.js';
import {called, propose, put} from './goal.js';
import {toneOf, nodeTone, goalOf} from './tone.js';
import {latest} from './activity.js';
import {reasonOf} from './trouble.js';
import {cut, shortened, widthOf} from './measure.js';
import {SIGNS, meaning, standing, bare, linkTo, named} from './words.js';

const MARGIN = 16, EDGE = 4; // around everything, and around each part
let fitted = true;

// How small "Fit" makes the picture at most, which is then wider than its place. One of many
// components becomes a map, with signs and names only.
const MANY = 60, LEAST = .75, LEAST_OF_MANY = .6, MAP = .7, MOST = 1.4;

// fit gives the picture its size, when its place has another one or the button was pressed.
function fit(canvas) {
  const sheet = canvas.firstElementChild, width = +sheet.style.getPropertyValue('--w'), height = +sheet.style.getPropertyValue('--h');
  const least = sheet.querySelectorAll('.box').length > MANY ? LEAST_OF_MANY : LEAST;
  const room = Math.min((canvas.clientWidth - 1) / width, Math.max(innerHeight - 150, 200) / height);
  const small = least < LEAST ? least : 1; // what does not fit is moved, and need not be small
  const scale = !fitted ? 1 : room < least ? small : Math.min(room, MOST);
  sheet.style.setProperty('--scale', scale.toFixed(3));
  sheet.dataset.zoom = scale < MAP ? 'map' : 'near';
}

const places = new ResizeObserver(all => { for (const {target} of all) fit(target); });

export function topology(at) {
  const {topology: t} = state.drawing;
  const w = Math.ceil(t.width + 2 * MARGIN), height = Math.ceil(t.height + 2 * MARGIN);
  const chosen = at.view === 'component' ? at.parts[1] : '';
  if (!t.boxes.length) return h('p', {class: 'empty'}, 'There is nothing in the topology.');
  return h('div', {class: 'topology'},
    h('div', {class: 'tools'},
      h('h1', {class: 'unseen'}, 'Topology of ' + state.drawing.name),
      counts(),
      h('button', {class: 'quiet', 'aria-pressed': String(fitted), title: 'Fit the picture to the window', onClick: () => { fitted = !fitted; fit(document.querySelector('.canvas')); changed(); }}, 'Fit')),
    nothingYet(),
    h('div', {class: 'canvas', tabindex: '0', role: 'group', 'aria-label': t.summary, made: e => places.observe(e)},
      h('div', {class: 'sheet', style: {'--w': w, '--h': height}},
        partsOf(t).map(p => memo(p.name, [p, state.versions.get(p.name), p.names.has(chosen) && chosen], () => part(p, chosen))),
        edges(t, w, height))),
    !chosen && latest());
}

// nothingYet says so where nothing is up and the goal does not change that.
function nothingYet() {
  const all = [...state.components.values()], goal = state.goal;
  if (!goal || !['none', 'down'].includes(called(goal)) || all.some(c => toneOf(c) !== 'idle' || c.state === 'unknown')) return null;
  return h('section', {class: 'nothing', key: 'nothing'}, h('h2', null, all.every(c => c.state === 'deleted') ? 'Nothing is up yet' : 'Nothing is up'),
    h('div', {class: 'row'},
      h('button', {class: 'main', disabled: !may('operator'), onClick: () => put({state: 'up'})}, 'Bring everything up'),
      h('button', {onClick: () => propose('up')}, 'See the plan')),
    !may('operator') && h('p', {class: 'hint'}, `You are signed in as ${state.session.role}: operators may set a goal.`));
}

// partsOf are the boxes that stand alone, with those in them. Each part is a picture of its own:
// browsers lay out and paint a picture anew as a whole.
const parts = new WeakMap();
function partsOf(t) {
  if (!parts.has(t)) {
    const all = [];
    for (const b of t.boxes) {
      const last = all.at(-1);
      if (last && b.x >= last.x && b.y >= last.y && b.x + b.w <= last.x + last.w && b.y + b.h <= last.y + last.h) { last.boxes.push(b); last.names.add(b.name); }
      else all.push({name: b.name, x: b.x, y: b.y, w: b.w, h: b.h, boxes: [b], names: new Set([b.name])});
    }
    parts.set(t, all);
  }
  return parts.get(t);
}

function part(p, chosen) {
  const x = p.x - EDGE, y = p.y - EDGE, w = p.w + 2 * EDGE, height = p.h + 2 * EDGE;
  return h('svg', {class: 'part', viewBox: `${x} ${y} ${w} ${height}`, style: {'--x': x + MARGIN, '--y': y + MARGIN, '--w': w, '--h': height}}, p.boxes.map(b => box(b, chosen)));
}

// edges are over all parts, and change with what is lacking.
function edges(t, w, height) {
  if (!t.edges.length) return null; // browsers take an empty drawing for an image without a name
  let lacking = '';
  for (const c of state.components.values()) if (c.lacks?.length) lacking += c.name + '>' + c.lacks.map(l => l.provider) + ' ';
  return memo('edges', [t, lacking], () => h('svg', {class: 'edges', viewBox: `${-MARGIN} ${-MARGIN} ${w} ${height}`, style: {'--x': 0, '--y': 0, '--w': w, '--h': height}}, t.edges.map(edge)));
}

// arrowheads are those of all lines on the page.
export const arrowheads = () => memo('arrowheads', [], () => h('svg', {class: 'unseen', 'aria-hidden': 'true', width: 0, height: 0}, h('defs', null, ['line', 'bad'].map(kind =>
  h('marker', {id: kind, key: kind, viewBox: '0 0 10 10', refX: '9.5', refY: '5', markerUnits: 'userSpaceOnUse', markerWidth: '9', markerHeight: '9', orient: 'auto'}, h('path', {d: 'M0,1 L10,5 L0,9 Z', class: kind}))))));

// counts says how many components are how, in words, and leads to those.
const counts = chosen => memo('counts', [state.version, chosen], () => {
  const all = {};
  for (const c of state.components.values()) { const tone = toneOf(c); all[tone] = (all[tone] || 0) + 1; }
  return h('p', {class: 'counts'}, ['bad', 'warn', 'busy', 'ok', 'idle'].filter(tone => all[tone]).map(tone =>
    h('a', {href: '#/components?are=' + tone, 'aria-current': tone === chosen ? 'true' : null, 'data-tone': tone, key: tone}, h('i', {'aria-hidden': 'true'}, SIGNS[tone]), ' ', all[tone] + ' ' + meaning(tone, all[tone]))),
  chosen && h('a', {href: '#/components', key: 'all'}, 'all'));
});

function box(b, chosen) {
  if (b.kind === 'component') {
    const c = state.components.get(b.name), used = state.usage.get(b.name), tone = toneOf(c);
    const goal = goalOf(b.name);
    return memo(b.name, [c, used, tone, goal, b.name === chosen], () => componentBox(b, c, used, tone, goal, b.name === chosen)); // its reason changes with these
  }
  const n = b.kind === 'container' ? state.nodes.get(b.name) : null;
  const sign = n && SIGNS[nodeTone(n)], label = n ? ' ' + containerState(n) : '', room = b.w - INSET - LEAST_INSET;
  const name = shortened(b.name, n ? b.w - 2 * INSET - GAP - widthOf(sign + label, 12) : room, 13, 600);
  return memo(b.name, [n, n && nodeTone(n)], () => h('g', {class: 'box ' + b.kind.replace(' ', '-'), 'data-tone': n ? nodeTone(n) : null, 'data-box': b.name},
    b.kind === 'volume' ? h('path', {class: 'shape', d: cylinder(b)}) : h('rect', {class: 'shape', x: b.x, y: b.y, width: b.w, height: b.h, rx: 8}),
    h('text', {class: 'name', x: b.x + INSET, y: b.y + (b.kind === 'volume' ? 29 : 20), style: onMap(name, room - 2 * GAP)}, name !== b.name && h('title', null, b.name), name),
    n && h('text', {class: 'state', x: b.x + b.w - INSET, y: b.y + 20, 'text-anchor': 'end'}, n.job && h('title', null, `${n.job.join(', ')}: ${n.why}`), h('tspan', {class: 'sign'}, sign), h('tspan', {class: 'label'}, label)),
    (b.lines || []).map((l, i) => h('text', {class: 'line', x: b.x + INSET, y: b.y + 35 + 14 * i}, shortened(l, room, 11)))));
}

const INSET = 14, LEAST_INSET = 4, GAP = 10; // of what is in a box

// onMap is how large a name is on a map.
const onMap = (name, room) => ({'--map': Math.min(19, room / .64 / name.length) + 'px'});

function containerState(n) {
  if (n.kind === 'job') return 'job, ' + (n.state === 'stopped' ? 'not running' : n.state);
  const there = n.replicas.filter(r => !r.gone), well = there.filter(r => !r.problem);
  return n.state + (there.length > 1 ? ' ' + well.length + '/' + there.length : '');
}

// A box has what is under way beside its name, and what the goal's plan has next, with
// its level there, below.
function componentBox(b, c, used, tone, goal, chosen) {
  const next = [...new Set(goal.underway.map(s => bare(named(s.operation))))].join(), [then] = goal.ahead;
  const ahead = then ? `${then.level}. ${bare(then.operation)}${goal.ahead.length > 1 ? ' …' : ''}` : '';
  const label = c ? standing(c) + (c.replicas.length > 1 ? ', ' + c.replicas.length + ' replicas' : '') : '';
  const cpu = used?.cpu || '', memory = used?.memory || '', reason = c ? reasonOf(c) : '';
  const href = c ? linkTo(c) : '#/', room = b.w - 16 - LEAST_INSET;
  const beside = next && shortened('→ ' + next, room / 2, 12), name = shortened(b.name, room - (next ? widthOf(beside, 12) + GAP + 12 : 0), 13, 600);
  return h('a', {href, class: 'box component', 'data-tone': tone, 'data-box': b.name, 'aria-current': chosen ? 'true' : null,
    'aria-label': `${b.name}: ${label}, ${meaning(tone)}${reason ? ': ' + reason : ''}${next ? ', ' + next + ' is under way' : ''}${then ? `, ${goal.ahead.map(s => bare(s.operation)).join(', ')} to come${then.after ? ' after ' + then.after.join(', ') : ''}` : ''}${memory ? `, ${cpu} ${memory}` : ''}`},
    h('rect', {class: 'shape', x: b.x, y: b.y, width: b.w, height: b.h, rx: 6}),
    h('rect', {class: 'tone', x: b.x, y: b.y, width: 5, height: b.h, rx: 2.5}),
    h('text', {class: 'name', x: b.x + 16, y: b.y + 20, style: onMap(name, b.w - 52)}, name !== b.name && h('title', null, b.name), name),
    h('text', {class: 'state', x: b.x + 16, y: b.y + 38}, h('tspan', {class: 'sign'}, SIGNS[tone]), h('tspan', {class: reason ? 'label reason' : 'label'}, ' ' + cut(reason || label, room - 20, 12)), reason && h('title', null, reason)),
    next && h('text', {class: 'next', x: b.x + b.w - 12, y: b.y + 20, 'text-anchor': 'end'}, beside),
    ahead && h('text', {class: 'ahead', x: b.x + b.w - 12, y: b.y + 53, 'text-anchor': 'end'}, then.after && h('title', null, 'after ' + then.after.join(', ')), shortened(ahead, room - (reason ? widthOf(label, 11) + 24 : memory ? 125 : 12), 11)),
    reason && h('text', {class: 'line stands', x: b.x + 16, y: b.y + 53}, ahead ? label : cut(label, room - (memory ? 60 : 0), 11)),
    h('text', {class: 'numbers', x: b.x + 16, y: b.y + 53}, reason ? '' : memory),
    h('text', {class: 'numbers', x: b.x + 76, y: b.y + 53}, reason ? '' : cpu));
}

function edge(e, i) {
  const from = state.components.get(e.from);
  const lacking = !!from?.lacks?.some(l => l.provider === e.to);
  return memo('edge-' + i, [lacking], () => h('g', {class: 'edge ' + e.relation + (lacking ? ' lacking' : '')},
    h('path', {d: e.path, 'marker-end': lacking ? 'url(#bad)' : 'url(#line)'}, h('title', null, `${e.from} requires ${e.relation} of ${e.to}${lacking ? ', and lacks it' : ''}`)),
    e.label && h('text', {class: 'line', x: e.label.x, y: e.label.y, 'text-anchor': e.label.anchor}, e.label.text)));
}

function cylinder(b) {
  const rim = 6, half = b.w / 2, top = b.y + rim, low = b.y + b.h - rim;
  return `M${b.x},${top} A${half},${rim} 0 0 1 ${b.x + b.w},${top} V${low} A${half},${rim} 0 0 1 ${b.x},${low} Z M${b.x},${top} A${half},${rim} 0 0 0 ${b.x + b.w},${top}`;
}

// list is the same for those who rather read: all components, or those of one tone.
export function list(at) {
  const are = at.query.get('are');
  return h('div', {class: 'listing'},
    h('div', {class: 'tools'}, h('h1', null, 'Components'), counts(are)),
    h('table', {class: 'wide'},
      h('thead', null, h('tr', null, ['Component', 'Container', 'State', 'Replicas', 'CPU', 'Memory'].map((t, i) => h('th', {scope: 'col', class: i > 2 ? 'number' : ''}, t)))),
      memo('rows', [state.version, are], () => h('tbody', null, sorted().filter(c => !are || toneOf(c) === are).map(c => {
        const used = state.usage.get(c.name), tone = toneOf(c);
        return memo(c.name, [c, used, tone], () => h('tr', {'data-tone': tone},
          h('th', {scope: 'row'}, h('a', {href: linkTo(c)}, c.name)), h('td', null, c.node),
          h('td', {class: 'state'}, h('i', {'aria-hidden': 'true'}, SIGNS[tone]), ' ', standing(c), h('span', {class: 'unseen'}, ', ' + meaning(tone)), reasonOf(c) && h('span', {class: 'because'}, reasonOf(c))),
          h('td', {class: 'number'}, c.replicas.length),
          h('td', {class: 'number'}, used?.cpu || '–'),
          h('td', {class: 'number'}, used?.memory || '–')));
      })))));
}

const sorted = () => [...state.components.values()].sort((a, b) => a.node.localeCompare(b.node) || a.name.localeCompare(b.name));
