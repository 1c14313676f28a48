// How components and containers are, at a glance, and what the goal does with them.

import {state} from './store.js';

// toneOf is what matters of a component at a glance.
export function toneOf(c) {
  if (!c) return 'idle';
  if (c.replicas.some(r => r.executing)) return 'busy';
  if (c.state === 'unknown' || c.replicas.some(r => r.problem || r.failing)) return 'bad';
  if (c.lacks?.length || c.state === 'mixed' || c.replicas.some(r => r.outdated) || state.goal?.holds?.[c.name]) return 'warn';
  if (c.task?.phase === 'retrying') return 'warn';
  if (c.task?.phase === 'failed' || failedOf(c.name).length) return 'bad';
  return offers(c.name, c.state) ? 'ok' : 'idle';
}

// offers reports whether a component is of use in a state: that it is alive is what it
// says of itself wherever its container runs.
const offers = (component, name) => !!state.drawing?.protocols[component]?.states.find(s => s.name === name)?.offers?.some(o => o !== 'alive');

const NOTHING = {underway: [], ahead: [], obstacles: []};

// goalOf is what the goal does with a component: the operations under way, those that its
// plan has ahead, and what is in its way.
export const goalOf = name => state.goalOf.get(name) || NOTHING;

// failedOf returns what went wrong on the way of a component. A hold is shown as that.
export const failedOf = name => state.goal?.holds?.[name] ? [] : goalOf(name).obstacles.filter(o => !o.waits);

export const nodeTone = n => ({running: 'ok', degraded: 'warn', unreachable: 'bad', stopped: 'idle'})[n?.state] || 'idle';
