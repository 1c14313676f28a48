// What the goal wants of each component.

import {state} from './store.js';

let made = {goal: null, drawing: null, nodes: -1, of: new Map()};

// targets returns the state that the goal requests of each component that it wants in one. A component's own name
// takes precedence over its container's, that over a group's, and a smaller group over a larger one.
export function targets() {
  const {goal, drawing} = state;
  if (made.goal === goal && made.drawing === drawing && made.nodes === state.components.size) return made.of;
  const of = new Map(), all = [...state.components.values()];
  const set = (names, target) => { for (const n of names) if (target && target !== 'none') of.set(n, target); else of.delete(n); };
  set(all.map(c => c.name), goal?.state);
  const groups = drawing?.groups || {}, asked = Object.keys(goal?.states || {});
  for (const name of asked.filter(n => groups[n]).sort((a, b) => groups[b].length - groups[a].length)) set(groups[name], goal.states[name]);
  for (const name of asked.filter(n => state.nodes.has(n))) set(all.filter(c => c.node === name).map(c => c.name), goal.states[name]);
  for (const name of asked.filter(n => state.components.has(n))) set([name], goal.states[name]);
  for (const step of [...goal?.underway || [], ...goal?.ahead || []]) if (!of.has(step.component)) of.set(step.component, 'up'); // required by others
  for (const name of Object.keys(goal?.holds || {})) of.delete(name);
  made = {goal, drawing, nodes: state.components.size, of};
  return of;
}

// offers reports whether a component is of use in a state. That it is alive does not count: it is wherever its
// container runs.
export const offers = (component, name) => !!state.drawing?.protocols[component]?.states.find(s => s.name === name)?.offers?.some(o => o !== 'alive');

const DOWN = new Set(['down', 'deleted']);

// wants reports whether the goal needs a container of the component.
export const wants = name => targets().has(name) && !DOWN.has(targets().get(name));

// wantsNode reports whether the goal needs a container.
export const wantsNode = n => n.components?.length ? n.components.some(c => wants(c.name)) : n.kind !== 'job' && state.goal?.state === 'up';

// reached reports whether a component is in the state that the goal requests.
export function reached(c) {
  const target = targets().get(c.name);
  if (!target || !c.replicas.length) return target === undefined || DOWN.has(target);
  if (target === 'up') return c.task ? c.task.phase === 'completed' : offers(c.name, c.state);
  return target === 'down' ? !offers(c.name, c.state) : c.state === target;
}
