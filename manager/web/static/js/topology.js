// The application as a picture.

import {h, memo} from './dom.js';
import {state, changed, may} from './store.js';
import {called, propose, put} from './goal.js';
import {toneOf} from './tone.js';
import {latest} from './activity.js';
import {arrange, many, topsOf, MARGIN} from './arrange.js';
import {canvas, detail, fitAll, looked, reveal, roomFor, show, zoom} from './panzoom.js';
import {lines, part} from './boxes.js';
import {byContainer, counts} from './list.js';
import {barHeight} from './trouble.js';
import {SIGNS, meaning} from './words.js';

const open = {all: null, single: new Map()}; // which containers are more than tiles: null: as many as are legible

const isOpen = (t, chosen) => name => open.single.get(name) ?? (name === chosen || (open.all ?? !many(t)));

function toggle(name) { open.single.set(name, !isOpen(state.drawing.topology, '')(name)); changed(); }

function toggleAll(to) { open.all = to; open.single.clear(); changed(); }

let made = {key: '', drawing: null, topology: null}, before = '';

// arranged returns the drawing for the window, made anew only where something of it changes.
function arranged(t, room, chosen) {
  const is = isOpen(t, topsOf(t).by.get(chosen)?.name), key = [room.w, room.h, ...topsOf(t).all.filter(p => is(p.name)).map(p => p.name)].join();
  if (made.topology !== t || made.key !== key) made = {key, topology: t, drawing: arrange(t, room, is)};
  return made.drawing;
}

// On a phone there is a list first, and the drawing on demand.
const phone = matchMedia('(max-width: 560px)'), narrow = matchMedia('(max-width: 1199px)');
let drawn = false;

export function topology(at) {
  const {topology: t} = state.drawing;
  const chosen = at.view === 'component' ? at.parts[1] : '';
  if (!t.boxes.length) return h('p', {class: 'empty'}, 'There is nothing in the topology.');
  if (phone.matches && !drawn) return byContainer([nothingYet()], h('button', {class: 'quiet', onClick: () => { drawn = true; changed(); }}, 'Show the graph'));
  const a = arranged(t, roomFor(170 + barHeight()), chosen);
  show(a);
  const z = detail(), hosts = topsOf(t).all.some(p => p.boxes.length > 1);
  requestAnimationFrame(() => { looked(); if (chosen !== before) { before = chosen; reveal(chosen && document.querySelector(`[data-box="${CSS.escape(chosen)}"]`)); } });
  return h('div', {class: 'topology'},
    h('div', {class: 'tools'},
      h('h1', {class: 'unseen'}, 'Topology of ' + state.drawing.name),
      counts(),
      legend(),
      h('div', {class: 'zoom', role: 'group', 'aria-label': 'Scale'},
        phone.matches && h('button', {class: 'quiet', key: 'list', onClick: () => { drawn = false; changed(); }}, 'List'),
        hosts && h('button', {class: 'quiet', key: 'tiles', onClick: () => toggleAll(a.tops.some(p => p.tile))}, a.tops.some(p => p.tile) ? 'Expand all' : 'Collapse all'),
        h('button', {class: 'quiet', 'aria-label': 'Zoom out', onClick: () => zoom(1 / 1.25)}, '−'),
        h('button', {class: 'quiet', 'aria-label': 'Zoom in', onClick: () => zoom(1.25)}, '+'),
        h('button', {class: 'quiet', title: 'Fit the picture into the window', onClick: fitAll}, 'Fit'))),
    nothingYet(),
    canvas(a, t.summary, [lines(a, MARGIN, z), a.tops.map(p => memo(p.kind + p.name, [p, versionOf(p), p.of.boxes.some(b => b.name === chosen) && chosen, z.id], () => part(p, MARGIN, chosen, z, toggle)))]),
    !chosen && narrow.matches && latest());
}

const versionOf = p => Math.max(state.versions.get(p.name) || 0, ...p.kind === 'container' ? [] : p.of.boxes.map(b => state.versions.get(state.components.get(b.name)?.node) || 0));

const LINES = [['connection', 'connects to'], ['dependency', 'depends on'], ['storage', 'stores in'], ['connection lacking', 'requires, and lacks']];

function legend() {
  return h('details', {class: 'legend-of', key: 'legend'}, h('summary', null, 'Legend'), h('ul', null,
    ['ok', 'idle', 'busy', 'warn', 'bad'].map(tone => h('li', {key: tone, 'data-tone': tone}, h('i', {'aria-hidden': 'true'}, SIGNS[tone]), ' ', meaning(tone))),
    LINES.map(([kind, text]) => h('li', {key: kind}, h('svg', {width: 34, height: 10, 'aria-hidden': 'true'}, h('g', {class: 'edge ' + kind}, h('path', {d: 'M0,5 L32,5', 'marker-end': kind.endsWith('lacking') ? 'url(#bad)' : 'url(#line)'}))), ' ', text))));
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
