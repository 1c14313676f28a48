// Moving and scaling the drawing. Nothing but a transform changes while it moves. What lies beyond the window is
// counted at its edges, and a map shows where the window is.

import {h, memo} from './dom.js';
import {state, changed} from './store.js';
import {nodeTone, toneOf} from './tone.js';
import {fitting, MARGIN} from './arrange.js';

const LEAST = .6, MOST = 3, STEP = 1.25, MAP = 150;
const view = {s: 1, x: 0, y: 0, moved: false, drawing: null, room: {w: innerWidth - 34, h: 400}};

const roomOf = () => ({w: view.room.w, h: view.room.h});

// measured takes in how much room there is; the drawing is arranged for it.
const places = new ResizeObserver(all => { for (const {target} of all) if (target.clientWidth && target.clientWidth !== view.room.w) { view.room.w = target.clientWidth; changed(); } });
addEventListener('resize', changed);

export function roomFor(above) {
  view.room.h = Math.max(innerHeight - above, innerWidth < 600 ? 360 : 260);
  return roomOf();
}

// show prepares the drawing for its window, and returns the height of the window.
export function show(drawing) {
  const fresh = view.drawing !== drawing;
  view.drawing = drawing;
  const whole = outer(drawing), fit = fitting(drawing, view.room);
  view.height = Math.round(Math.min(view.room.h, Math.max(whole.h * opening(fit), 160)));
  if (!view.moved) open(fit);
  else if (fresh) clamp();
  return view.height;
}

const outer = a => ({w: a.w + 2 * MARGIN, h: a.h + 2 * MARGIN});

// opening is the scale at which the drawing is shown first: as a whole, or as wide as the window.
const opening = fit => fit >= LEAST ? fit : Math.max(LEAST, Math.min(1, (view.room.w - 2) / outer(view.drawing).w));

// open shows the drawing as a whole, or its entry points where it is too large for that.
function open(fit) {
  const whole = outer(view.drawing);
  view.s = opening(fit);
  view.x = Math.max(0, (view.room.w - whole.w * view.s) / 2);
  view.y = Math.max(0, (view.height - whole.h * view.s) / 2);
}

// fitAll scales the drawing so that all of it is in the window.
export function fitAll() {
  const whole = outer(view.drawing), fit = fitting(view.drawing, {w: view.room.w, h: view.height});
  Object.assign(view, {s: fit, x: (view.room.w - whole.w * fit) / 2, y: (view.height - whole.h * fit) / 2, moved: fit < LEAST});
  move(true);
}

function clamp() {
  const whole = outer(view.drawing), keep = 80;
  view.x = Math.min(view.room.w - keep, Math.max(keep - whole.w * view.s, view.x));
  view.y = Math.min(view.height - keep, Math.max(keep - whole.h * view.s, view.y));
}

const transform = () => `translate(${view.x.toFixed(1)}px, ${view.y.toFixed(1)}px) scale(${view.s.toFixed(4)})`;

// detail says how large texts are in the drawing, so that none is smaller than ten pixels in the window.
export function detail() {
  if (view.s >= .91) return {id: 'near', map: false, small: 11, mid: 12, name: 13};
  if (view.s >= .77) return {id: 'close', map: false, small: 13, mid: 13, name: 13};
  const size = [17, 20, 24].find(f => f * view.s >= 10) || 0;
  return {id: 'map' + size, map: true, small: 0, mid: size, name: size};
}

let shown = '';

// move draws the window where it is now. Texts are made anew only where their size changes.
function move(scaled) {
  clamp();
  const sheet = document.querySelector('.sheet');
  if (!sheet) return;
  sheet.style.transform = transform();
  look();
  if (scaled && detail().id !== shown) changed();
}

export function zoom(factor, x = view.room.w / 2, y = view.height / 2) {
  const s = Math.min(MOST, Math.max(Math.min(LEAST / 4, view.s), view.s * factor));
  view.x = x - (x - view.x) * s / view.s;
  view.y = y - (y - view.y) * s / view.s;
  Object.assign(view, {s, moved: true});
  move(true);
}

function pan(dx, dy) { view.x += dx; view.y += dy; view.moved = true; move(); }

// reveal moves an element of the drawing into the window.
export function reveal(element) {
  const canvas = element && element.closest('.canvas');
  if (!canvas) return;
  const r = element.getBoundingClientRect(), c = canvas.getBoundingClientRect(), edge = 24;
  const by = (low, high, from, to) => high - low > to - from - 2 * edge ? from + edge - low : low < from + edge ? from + edge - low : high > to - edge ? to - edge - high : 0;
  if (r.left >= c.left && r.right <= c.right && r.top >= c.top && r.bottom <= c.bottom) return;
  pan(by(r.left, r.right, c.left, c.right), by(r.top, r.bottom, c.top, c.bottom));
}

// look counts what lies beyond each edge, and moves the frame on the map.
function look() {
  const beyond = {up: [], down: [], left: [], right: []};
  for (const p of view.drawing.tops) {
    const x = (p.x + MARGIN) * view.s + view.x, y = (p.y + MARGIN) * view.s + view.y, right = x + p.w * view.s, low = y + p.h * view.s;
    const high = Math.min(8, p.h * view.s / 2), wide = Math.min(8, p.w * view.s / 2); // of it is to be seen
    if (low < high) beyond.up.push(p);
    else if (y > view.height - high) beyond.down.push(p);
    else if (right < wide) beyond.left.push(p);
    else if (x > view.room.w - wide) beyond.right.push(p);
  }
  let any = false;
  for (const [side, all] of Object.entries(beyond)) {
    const e = document.querySelector('.beyond.' + side);
    if (!e) return;
    any ||= all.length > 0;
    if (e.hidden !== !all.length) e.hidden = !all.length;
    const text = ARROWS[side] + ' ' + all.length;
    if (e.textContent !== text) { e.textContent = text; e.ariaLabel = all.length + ' more ' + WORDS[side]; }
    const tone = all.some(p => toneOfTop(p) === 'bad') ? 'bad' : 'idle';
    if (e.dataset.tone !== tone) e.dataset.tone = tone;
  }
  const map = document.querySelector('.minimap'), whole = outer(view.drawing), cut = view.x < -1 || view.y < -1 || view.x + whole.w * view.s > view.room.w + 2 || view.y + whole.h * view.s > view.height + 2;
  map.toggleAttribute('hidden', !cut && !any);
  const frame = map.querySelector('.frame'), box = {x: -view.x / view.s, y: -view.y / view.s, width: view.room.w / view.s, height: view.height / view.s};
  for (const [name, value] of Object.entries(box)) if (frame.getAttribute(name) !== value.toFixed(1)) frame.setAttribute(name, value.toFixed(1));
}

const ARROWS = {up: '↑', down: '↓', left: '←', right: '→'}, WORDS = {up: 'above', down: 'below', left: 'to the left', right: 'to the right'};
const WAYS = {up: [0, .7], down: [0, -.7], left: [.7, 0], right: [-.7, 0]};

// toneOfTop is the worst tone of a container and what is in it.
const RANK = ['idle', 'ok', 'busy', 'warn', 'bad'];
export function toneOfTop(p) {
  const n = p.kind === 'container' ? state.nodes.get(p.name) : null;
  let worst = n ? nodeTone(n) : 'idle';
  for (const b of p.of.boxes) {
    const tone = b.kind === 'component' ? toneOf(state.components.get(b.name)) : 'idle';
    if (RANK.indexOf(tone) > RANK.indexOf(worst)) worst = tone;
  }
  return worst;
}

// same returns the style as it was given before where it is the same: setting one computes those of all boxes anew.
const styles = new Map();
function same(name, style) {
  const text = JSON.stringify(style);
  if (styles.get(name)?.text !== text) styles.set(name, {text, style});
  return styles.get(name).style;
}

// canvas is the window with the drawing in it.
export function canvas(drawing, label, parts) {
  shown = detail().id;
  return h('div', {class: 'canvas', tabindex: '0', role: 'group', 'aria-label': label + ' Arrow keys move it, plus and minus scale it.', style: same('canvas', {height: view.height + 'px'}), made: follow, onKeydown: keys},
    h('div', {class: 'sheet', 'data-detail': shown, style: same('sheet', {transform: transform(), '--small': detail().small + 'px', '--mid': detail().mid + 'px', '--name': detail().name + 'px'})}, parts),
    Object.keys(ARROWS).map(side => h('button', {key: side, class: 'beyond ' + side, own: true, hidden: true, onClick: () => pan(WAYS[side][0] * view.room.w, WAYS[side][1] * view.height)})),
    minimap(drawing));
}

function minimap(a) {
  const whole = outer(a), most = innerWidth < 600 ? MAP / 2 : MAP, scale = Math.min(most / whole.w, most * .8 / whole.h);
  return memo('minimap', [a, a.tops.map(toneOfTop).join()], () => h('svg', {class: 'minimap', 'aria-hidden': 'true', viewBox: `0 0 ${whole.w} ${whole.h}`, width: whole.w * scale, height: whole.h * scale, onPointerdown: jump, onPointermove: e => { if (e.buttons) jump(e); }},
    a.tops.map(p => h('rect', {key: p.kind + p.name, class: 'dot', 'data-tone': toneOfTop(p), x: p.x + MARGIN, y: p.y + MARGIN, width: p.w, height: p.h})), h('rect', {class: 'frame'})));
}

function jump(e) {
  e.stopPropagation();
  const map = document.querySelector('.minimap').getBoundingClientRect(), whole = outer(view.drawing);
  view.x = view.room.w / 2 - (e.clientX - map.left) / map.width * whole.w * view.s;
  view.y = view.height / 2 - (e.clientY - map.top) / map.height * whole.h * view.s;
  view.moved = true;
  move();
}

function keys(e) {
  if (e.target !== e.currentTarget) return;
  const step = {ArrowUp: [0, 60], ArrowDown: [0, -60], ArrowLeft: [60, 0], ArrowRight: [-60, 0]}[e.key];
  if (step) pan(...step);
  else if (e.key === '+' || e.key === '=') zoom(STEP);
  else if (e.key === '-') zoom(1 / STEP);
  else if (e.key === '0') fitAll();
  else return;
  e.preventDefault();
}

// follow moves the drawing with pointers: one moves it, two scale it. A click that moved it opens nothing.
function follow(box) {
  places.observe(box);
  if (box.clientWidth && box.clientWidth !== view.room.w) { view.room.w = box.clientWidth; changed(); }
  const down = new Map();
  let far = 0;
  const middle = () => { const [a, b = a] = [...down.values()]; return {x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, apart: Math.hypot(a.x - b.x, a.y - b.y)}; };
  box.addEventListener('wheel', e => {
    e.preventDefault();
    const r = box.getBoundingClientRect();
    zoom(Math.exp(-e.deltaY * (e.deltaMode ? 20 : 1) * (e.ctrlKey ? .01 : .0015)), e.clientX - r.left, e.clientY - r.top);
  }, {passive: false});
  box.addEventListener('pointerdown', e => { if (e.button || e.target.closest('.beyond, .minimap')) return; down.set(e.pointerId, {x: e.clientX, y: e.clientY}); if (down.size === 1) far = 0; });
  box.addEventListener('pointermove', e => {
    if (!down.has(e.pointerId)) return;
    const was = middle();
    down.set(e.pointerId, {x: e.clientX, y: e.clientY});
    const now = middle(), r = box.getBoundingClientRect();
    far += Math.hypot(now.x - was.x, now.y - was.y);
    if (far < 4 && down.size === 1) return;
    box.classList.add('moving');
    box.setPointerCapture(e.pointerId);
    pan(now.x - was.x, now.y - was.y);
    if (down.size > 1 && was.apart) zoom(now.apart / was.apart, now.x - r.left, now.y - r.top);
  });
  for (const kind of ['pointerup', 'pointercancel']) box.addEventListener(kind, e => { down.delete(e.pointerId); if (!down.size) box.classList.remove('moving'); });
  box.addEventListener('click', e => { if (far >= 4) { e.preventDefault(); e.stopPropagation(); } far = 0; }, true);
  box.addEventListener('dragstart', e => e.preventDefault());
  box.addEventListener('focusin', e => { if (e.target !== box && e.target.matches(':focus-visible')) reveal(e.target); });
  look();
}

// looked is called after each drawing.
let at = '', of = null;
export function looked() {
  const now = [transform(), view.height, view.room.w, view.drawing.tops.map(toneOfTop)].join();
  const map = document.querySelector('.minimap');
  if (map && (now !== at || of !== view.drawing || !map.hasAttribute('hidden') && !map.querySelector('.frame').hasAttribute('width'))) look();
  at = now;
  of = view.drawing;
}
