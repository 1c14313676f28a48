// The boxes of the drawing, and the lines between them.

import {h, memo} from './dom.js';
import {state} from './store.js';
import {toneOf, nodeTone, goalOf} from './tone.js';
import {reasonOf} from './trouble.js';
import {TILE} from './arrange.js';
import {cut, shortened, widthOf} from './measure.js';
import {SIGNS, meaning, standing, bare, linkTo, named} from './words.js';

const EDGE = 4; // around each part

// part is an outermost box with those in it. Each is a picture of its own: browsers lay out and paint a picture anew
// as a whole.
export function part(p, margin, chosen, z, toggle) {
  const w = p.w + 2 * EDGE, height = p.h + 2 * EDGE, {of} = p;
  const place = {left: p.x - EDGE + margin + 'px', top: p.y - EDGE + margin + 'px', width: w + 'px', height: height + 'px'};
  return p.tile ? h('svg', {class: 'part', viewBox: `${-EDGE} ${-EDGE} ${w} ${height}`, style: place}, tile(p, z, toggle)) :
    h('svg', {class: 'part', viewBox: `${of.x - EDGE} ${of.y - EDGE} ${w} ${height}`, style: place}, of.boxes.map(b => box(b, chosen, z, of.boxes.length > 1 && toggle)));
}

// tile is a container with a dot for each of its components.
function tile(p, z, toggle) {
  const n = state.nodes.get(p.name), tone = n ? nodeTone(n) : 'idle', hosted = p.of.boxes.slice(1);
  const tones = hosted.map(b => toneOf(state.components.get(b.name)));
  const worst = ['bad', 'warn', 'busy'].find(t => tone === t || tones.includes(t)) || tone;
  const counted = [...new Set(tones)].map(t => tones.filter(o => o === t).length + ' ' + meaning(t)).join(', ');
  const size = Math.max(13, z.name), name = z.name && shortened(p.name, p.w - 46, size, 600);
  return h('a', {class: 'box tile', role: 'button', href: '#/', 'aria-expanded': 'false', 'aria-label': `${p.name}: ${n ? containerState(n) : ''}; ${counted}`, 'data-tile': p.name, 'data-tone': worst,
    onClick: e => { e.preventDefault(); const dot = e.target.closest('[data-box]'), c = dot && state.components.get(dot.dataset.box); if (c) location.hash = linkTo(c); else toggle(p.name); }},
    h('rect', {class: 'shape', x: 0, y: 0, width: p.w, height: p.h, rx: 8}),
    h('rect', {class: 'tone', x: 0, y: 0, width: 5, height: p.h, rx: 2.5}),
    h('text', {class: 'name', x: 14, y: 21, style: {'font-size': size + 'px'}}, h('title', null, p.name), name),
    h('text', {class: 'sign', x: p.w - 12, y: 21, 'text-anchor': 'end'}, SIGNS[tone]),
    hosted.map((b, i) => dot(b, i, tones[i])));
}

function dot(b, i, tone) {
  const c = state.components.get(b.name), title = `${b.name}: ${c ? standing(c) + ', ' : ''}${meaning(tone)}${c && reasonOf(c) ? ': ' + reasonOf(c) : ''}`;
  return memo(b.name, [c, tone, title], () => h('g', {'data-box': b.name, 'data-tone': tone}, h('title', null, title),
    h('text', {class: 'dot sign', x: 20 + TILE.dot * (i % TILE.row), y: TILE.head + 13 + TILE.dot * Math.floor(i / TILE.row), 'text-anchor': 'middle'}, SIGNS[tone])));
}

// lines are all edges, below the boxes where the page has placed these. They change with what is lacking.
export function lines(a, margin, z) {
  if (!a.edges.length) return null; // browsers take an empty drawing for an image without a name
  let lacking = '';
  for (const c of state.components.values()) if (c.lacks?.length) lacking += c.name + '>' + c.lacks.map(l => l.provider) + ' ';
  const w = a.w + 2 * margin, height = a.h + 2 * margin;
  return memo('edges', [a, lacking, z.map], () => h('svg', {class: a.given ? 'edges over' : 'edges', viewBox: `${-margin} ${-margin} ${w} ${height}`, style: {left: 0, top: 0, width: w + 'px', height: height + 'px'}}, a.edges.map((e, i) => edge(e, i, z))));
}

// arrowheads are those of all lines on the page.
export const arrowheads = () => memo('arrowheads', [], () => h('svg', {class: 'unseen', 'aria-hidden': 'true', width: 0, height: 0}, h('defs', null, ['line', 'bad'].map(kind =>
  h('marker', {id: kind, key: kind, viewBox: '0 0 10 10', refX: '9.5', refY: '5', markerUnits: 'userSpaceOnUse', markerWidth: '9', markerHeight: '9', orient: 'auto'}, h('path', {d: 'M0,1 L10,5 L0,9 Z', class: kind}))))));

function box(b, chosen, z, toggle) {
  if (b.kind === 'component') {
    const c = state.components.get(b.name), used = state.usage.get(b.name), tone = toneOf(c);
    const goal = goalOf(b.name);
    return memo(b.name, [c, used, tone, goal, b.name === chosen, z.id], () => componentBox(b, c, used, tone, goal, b.name === chosen, z)); // its reason changes with these
  }
  const n = b.kind === 'container' ? state.nodes.get(b.name) : null, closes = n && toggle;
  const sign = n && SIGNS[nodeTone(n)], label = n && !z.map ? ' ' + containerState(n) : '', room = b.w - INSET - LEAST_INSET, right = closes ? 24 : 0;
  const name = z.name ? shortened(b.name, n ? b.w - 2 * INSET - GAP - right - widthOf(sign + label, z.mid || 12) : room, z.name, 600) : '';
  const y = b.y + (b.kind === 'volume' ? 29 : 20);
  return memo(b.name, [n, n && nodeTone(n), z.id], () => h('g', {class: 'box ' + b.kind.replace(' ', '-'), 'data-tone': n ? nodeTone(n) : null, 'data-box': b.name},
    b.kind === 'volume' ? h('path', {class: 'shape', d: cylinder(b)}) : h('rect', {class: 'shape', x: b.x, y: b.y, width: b.w, height: b.h, rx: 8}),
    h('text', {class: 'name', x: b.x + INSET, y}, h('title', null, b.name), name),
    n && h('text', {class: 'state', x: b.x + b.w - INSET - right, y, 'text-anchor': 'end'}, n.job && h('title', null, `${n.job.join(', ')}: ${n.why}`), h('tspan', {class: 'sign'}, sign), h('tspan', {class: 'label'}, ' ' + containerState(n))),
    closes && h('g', {class: 'close-tile', onClick: () => toggle(b.name)}, h('title', null, 'Collapse'), h('rect', {x: b.x + b.w - 30, y: b.y + 2, width: 26, height: 26, rx: 6}), h('path', {d: `M${b.x + b.w - 22},${b.y + 13} l5,5 l5,-5`})),
    (b.lines || []).map((l, i) => h('text', {class: 'line', x: b.x + INSET, y: b.y + 35 + 14 * i}, shortened(l, room, z.small || 11)))));
}

const INSET = 14, LEAST_INSET = 4, GAP = 10; // of what is in a box

function containerState(n) {
  if (n.kind === 'job') return 'job, ' + (n.state === 'stopped' ? 'not running' : n.state);
  const there = n.replicas.filter(r => !r.gone), well = there.filter(r => !r.problem);
  return n.state + (there.length > 1 ? ' ' + well.length + '/' + there.length : '');
}

// A box has what is under way beside its name, and what the goal's plan has next, with
// its level there, below.
function componentBox(b, c, used, tone, goal, chosen, z) {
  const next = [...new Set(goal.underway.map(s => bare(named(s.operation))))].join(), [then] = goal.ahead;
  const ahead = then ? `${then.level}. ${bare(then.operation)}${goal.ahead.length > 1 ? ' …' : ''}` : '';
  const label = c ? standing(c) + (c.replicas.length > 1 ? ', ' + c.replicas.length + ' replicas' : '') : '';
  const cpu = used?.cpu || '', memory = used?.memory || '', reason = c ? reasonOf(c) : '';
  const href = c ? linkTo(c) : '#/', room = b.w - 16 - LEAST_INSET, mid = z.mid || 12, small = z.small || 11;
  const beside = next && shortened('→ ' + next, room / 2, mid);
  const name = z.map ? z.name && shortened(b.name, b.w - 56, z.name, 400) : shortened(b.name, room - (next ? widthOf(beside, mid) + GAP + 12 : 0), 13, 600);
  return h('a', {href, class: 'box component', 'data-tone': tone, 'data-box': b.name, 'aria-current': chosen ? 'true' : null,
    'aria-label': `${b.name}: ${label}, ${meaning(tone)}${reason ? ': ' + reason : ''}${next ? ', ' + next + ' is under way' : ''}${then ? `, ${goal.ahead.map(s => bare(s.operation)).join(', ')} to come${then.after ? ' after ' + then.after.join(', ') : ''}` : ''}${memory ? `, ${cpu} ${memory}` : ''}`},
    h('rect', {class: 'shape', x: b.x, y: b.y, width: b.w, height: b.h, rx: 6}),
    h('rect', {class: 'tone', x: b.x, y: b.y, width: 5, height: b.h, rx: 2.5}),
    h('text', {class: 'name', x: b.x + (z.map ? 42 : 16), y: b.y + (z.map ? 37 : 20)}, name !== b.name && h('title', null, b.name), name),
    h('text', {class: 'state', x: b.x + 16, y: b.y + 38}, h('tspan', {class: 'sign'}, SIGNS[tone]), h('tspan', {class: reason ? 'label reason' : 'label'}, ' ' + cut(reason || label, room - 20, mid)), reason && h('title', null, reason)),
    next && h('text', {class: 'next', x: b.x + b.w - 12, y: b.y + 20, 'text-anchor': 'end'}, beside),
    ahead && h('text', {class: 'ahead', x: b.x + b.w - 12, y: b.y + 53, 'text-anchor': 'end'}, then.after && h('title', null, 'after ' + then.after.join(', ')), shortened(ahead, room - (reason ? widthOf(label, small) + 24 : memory ? 125 : 12), small)),
    reason && h('text', {class: 'line stands', x: b.x + 16, y: b.y + 53}, ahead ? label : cut(label, room, small)),
    h('text', {class: 'numbers', x: b.x + 16, y: b.y + 53}, reason ? '' : memory),
    h('text', {class: 'numbers', x: b.x + 76, y: b.y + 53}, reason ? '' : cpu));
}

function edge(e, i, z) {
  const lacks = one => !!state.components.get(one.from)?.lacks?.some(l => l.provider === one.to);
  const lacking = e.of.some(lacks), title = e.of.map(one => `${one.from} requires ${one.relation} of ${one.to}${lacks(one) ? ', and lacks it' : ''}`).slice(0, 12).join('\n');
  return memo('edge-' + i, [e, lacking, z.map], () => h('g', {class: 'edge ' + e.relation + (lacking ? ' lacking' : ''), transform: e.dx === undefined ? null : `translate(${e.dx} ${e.dy})`},
    h('path', {d: e.path, 'marker-end': lacking ? 'url(#bad)' : 'url(#line)'}, h('title', null, title)),
    e.label && !z.map && h('text', {class: 'line', x: e.label.x, y: e.label.y, 'text-anchor': e.label.anchor}, e.label.text)));
}

function cylinder(b) {
  const rim = 6, half = b.w / 2, top = b.y + rim, low = b.y + b.h - rim;
  return `M${b.x},${top} A${half},${rim} 0 0 1 ${b.x + b.w},${top} V${low} A${half},${rim} 0 0 1 ${b.x},${low} Z M${b.x},${top} A${half},${rim} 0 0 0 ${b.x + b.w},${top}`;
}
