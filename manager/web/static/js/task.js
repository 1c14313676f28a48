// A task: how far it is, and each of its indexes.

import {h, say} from './dom.js';
import {call} from './api.js';
import {now} from './clock.js';
import {may, changed} from './store.js';
import {SIGNS, PHASES, sharePart} from './words.js';

let asking = '', ticking = 0;

// task is a component's part of its view, where it is one.
export function task(c) {
  const t = c.task;
  if (!t) return null;
  tick([t, ...t.indexes]);
  return h('section', {key: 'task'}, h('h2', null, 'Task'),
    h('p', {'data-tone': PHASES[t.phase]}, h('i', {'aria-hidden': 'true'}, SIGNS[PHASES[t.phase]]), ' ', h('b', null, t.phase), ': ',
      [sharePart(t), t.running && t.running + ' running', t.failed && t.failed + ' failed', t.until && 'next try ' + nextTry(t.until)].filter(Boolean).join(', ')),
    h('div', {class: 'bar', role: 'progressbar', 'aria-label': 'Indexes that are completed', 'aria-valuemin': '0', 'aria-valuemax': t.completions, 'aria-valuenow': t.completed},
      h('div', {style: {width: 100 * t.completed / t.completions + '%'}})),
    t.reason && h('p', {class: 'refused'}, t.reason),
    h('div', {class: 'row'},
      t.phase !== 'completed' && h('button', {key: 'run', class: 'main', disabled: !may('operator') || asking === c.name, onClick: () => run(c, false)}, 'Run to its end'),
      h('button', {key: 'again', disabled: !may('operator') || asking === c.name, onClick: () => run(c, true)}, 'Run all again')),
    h('table', {class: 'indexes'},
      h('thead', null, h('tr', null, ['Index', 'Phase', 'Attempts', 'Exit', 'Next try'].map((title, i) => h('th', {scope: 'col', class: i === 1 ? '' : 'number'}, title)))),
      h('tbody', null, t.indexes.map(index))));
}

function index(x) {
  const tone = PHASES[x.phase];
  const phase = [h('i', {'aria-hidden': 'true'}, SIGNS[tone]), ' ', x.phase];
  return h('tr', {key: x.index, 'data-tone': tone},
    h('th', {scope: 'row', class: 'number'}, x.index),
    h('td', {class: 'state', title: x.replica && 'on ' + x.replica}, x.execution ? h('a', {href: '#/execution/' + encodeURIComponent(x.execution)}, phase, h('span', {class: 'unseen'}, `, the last execution of index ${x.index}`)) : phase),
    h('td', {class: 'number'}, x.attempts || '–'),
    h('td', {class: 'number'}, x.timed_out ? 'timeout' : x.exit_code ?? (x.signal || '–')),
    h('td', {class: 'number'}, x.until ? nextTry(x.until) : '–'));
}

// nextTry counts down to a time.
function nextTry(until) {
  const left = Math.ceil((new Date(until) - now()) / 1000);
  return left > 120 ? `in ${Math.round(left / 60)}\u00a0min` : left > 0 ? `in ${left}\u00a0s` : 'now';
}

// tick has the page drawn again when the next countdown shows another second.
function tick(all) {
  const left = all.filter(x => x.until).map(x => new Date(x.until) - now()).filter(ms => ms > 0);
  if (!left.length || ticking) return;
  ticking = setTimeout(() => { ticking = 0; changed(); }, 1 + Math.min(...left.map(ms => ms % 1000 || 1000)));
}

async function run(c, again) {
  asking = c.name;
  changed();
  try {
    await call('POST', '/app/tasks/' + encodeURIComponent(c.name) + '/run', {body: {again}});
    say(again ? `All of ${c.name} runs again.` : `${c.name} runs to its end.`);
  } catch (err) { say(err.message, 'bad'); }
  asking = '';
  changed();
}
