// Numbers of the last hour as small lines.

import {h, memo} from './dom.js';
import {get} from './api.js';
import {state, changed, soon} from './store.js';
import {offers} from './wanted.js';
import {bytes, percent, stateName, whenOf} from './words.js';

const W = 240, H = 34, AGAIN = 15000; // ms until they are read again
const read = {of: undefined, at: 0, window: null};

// lastHour describes the numbers of a component or, without one, of the application.
export function lastHour(name = '') {
  if (read.of !== name) Object.assign(read, {of: name, at: 0, window: null});
  if (Date.now() - read.at > AGAIN && !document.hidden) {
    read.at = Date.now();
    soon('series of ' + name, () => readSeries(name), 0);
  }
  const w = read.window, all = w && (name ? w.components?.find(c => c.name === name) : w.total);
  if (!all || !(w.at?.length > 1)) return h('p', {class: 'muted'}, w ? 'The manager has just started to record. The first values appear within a minute.' : 'Reading …');
  return memo('series', [w, name], () => h('div', {class: 'sparks'},
    spark('CPU', w.at, all.cpu_percent, percent), spark('Memory', w.at, all.memory_bytes, bytes), spark('Restarts', w.at, all.restarts, String),
    all.states && strip(name, w.at, all.states),
    h('p', {class: 'hint axis'}, h('span', null, whenOf(w.at[0])), h('span', null, 'now'))));
}

async function readSeries(name) {
  try {
    const w = await get('/series' + (name ? '?component=' + encodeURIComponent(name) : ''));
    if (read.of === name) { read.window = w; changed(); }
  } catch { /* shown as it was */ }
}

const xs = at => { const first = new Date(at[0]), all = new Date(at.at(-1)) - first || 1; return at.map(t => (new Date(t) - first) / all * W); };

// spark draws numbers as a line, which has gaps where they are unknown.
function spark(label, at, all, text) {
  const known = all.filter(n => n !== null), last = all.at(-1), most = Math.max(...known, 0), x = xs(at);
  const y = n => (H - 2 - (most ? n / most : 0) * (H - 4)).toFixed(1);
  let path = '', gap = true;
  all.forEach((n, i) => { if (n === null) { gap = true; return; } path += (gap ? 'M' : 'L') + x[i].toFixed(1) + ',' + y(n); gap = false; });
  const value = last === null || last === undefined ? '–' : text(last), peak = known.length ? text(most) : '–';
  return h('figure', {key: label, class: 'spark'}, h('figcaption', null, label, h('b', null, value)),
    h('svg', {viewBox: `0 0 ${W} ${H}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': `${label} in the last hour: now ${value}, at most ${peak}`}, h('path', {d: path})),
    h('span', {class: 'muted'}, 'max ' + peak));
}

// strip draws states as parts of a bar.
function strip(name, at, all) {
  const x = xs(at), parts = [];
  all.forEach((s, i) => { const last = parts.at(-1); if (last?.state === s) last.to = x[i]; else { if (last) last.to = x[i]; parts.push({state: s, from: x[i], to: x[i], at: at[i]}); } });
  const tone = s => !s ? 'none' : s === 'unknown' ? 'bad' : s === 'mixed' ? 'warn' : offers(name, s) ? 'ok' : 'idle';
  return h('figure', {key: 'State', class: 'spark'}, h('figcaption', null, 'State', h('b', null, stateName(all.at(-1)) || '–')),
    h('svg', {viewBox: `0 0 ${W} 10`, preserveAspectRatio: 'none', role: 'img', class: 'strip', 'aria-label': 'States in the last hour: ' + parts.map(p => `${stateName(p.state) || 'not known'} from ${whenOf(p.at)}`).join(', ')},
      parts.map((p, i) => h('rect', {key: i, x: p.from, y: 0, width: Math.max(p.to - p.from, 1), height: 10, 'data-tone': tone(p.state)}, h('title', null, `${stateName(p.state) || 'not known'} from ${whenOf(p.at)}`)))),
    h('span', {class: 'muted'}, parts.length > 1 ? parts.length - 1 + (parts.length === 2 ? ' change' : ' changes') : ''));
}
