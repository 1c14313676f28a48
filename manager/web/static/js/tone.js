// How components and containers are, at a glance, and what the goal does with them.

import {state} from './store.js';
import {offers, wants, wantsNode, targets, reached} from './wanted.js';

// Tones are computed once for each state of a component: all views ask for all of them.
let tones = new WeakMap(), of = {};

// toneOf is what matters of a component at a glance. What is tried again needs a look; what is not is in trouble.
export function toneOf(c) {
  if (!c) return 'idle';
  if (of.goal !== state.goal || of.drawing !== state.drawing || of.size !== state.components.size) { tones = new WeakMap(); of = {goal: state.goal, drawing: state.drawing, size: state.components.size}; }
  if (!tones.has(c)) tones.set(c, computed(c));
  return tones.get(c);
}

function computed(c) {
  if (!c.replicas.length) return wants(c.name) ? 'bad' : 'idle';
  const failed = failedOf(c.name);
  if (c.state === 'unknown' || c.replicas.some(r => r.problem || r.failing)) return 'bad';
  if (c.task?.phase === 'failed' || failed.some(o => !retried(o))) return 'bad';
  if (failed.length || c.task?.phase === 'retrying' || c.reason && !offers(c.name, c.state)) return 'warn';
  if (c.replicas.some(r => r.executing)) return 'busy';
  if (c.lacks?.length || c.state === 'mixed' || c.replicas.some(r => r.outdated) || state.goal?.holds?.[c.name]) return 'warn';
  return offers(c.name, c.state) ? 'ok' : 'idle';
}

const NOTHING = {underway: [], ahead: [], obstacles: []};

// goalOf is what the goal does with a component: the operations under way, those that its
// plan has ahead, and what is in its way.
export const goalOf = name => state.goalOf.get(name) || NOTHING;

// failedOf returns what went wrong on the way of a component. A hold is shown as that.
export const failedOf = name => state.goal?.holds?.[name] ? [] : goalOf(name).obstacles.filter(o => !o.waits);

// retried reports whether the manager tries again what has failed.
export const retried = o => !o.final && !!(o.until || o.next);

export const nodeTone = n => n?.state === 'stopped' && wantsNode(n) ? 'bad' : {running: 'ok', degraded: 'warn', unreachable: 'bad', stopped: 'idle'}[n?.state] || 'idle';

let reported = {goal: undefined, version: -1, all: []};

// progress has a tone for each component that the goal wants in some state, and for each on hold.
export function progress() {
  if (reported.goal === state.goal && reported.version === state.version) return reported.all;
  const of = targets();
  const all = [...state.components.values()].filter(c => of.has(c.name) || state.goal?.holds?.[c.name]).map(c => {
    const tone = toneOf(c);
    if (tone === 'bad' || tone === 'warn') return {name: c.name, tone};
    if (goalOf(c.name).underway.length) return {name: c.name, tone: 'busy'};
    return {name: c.name, tone: reached(c) ? 'ok' : 'idle'};
  });
  reported = {goal: state.goal, version: state.version, all};
  return all;
}
