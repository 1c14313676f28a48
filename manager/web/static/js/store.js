// What the page knows: the drawing, which does not change; nodes and components, as the
// manager has them; the goal. Events change it at once, and answers put it right.

import {get, follow, Problem, Unreachable} from './api.js';
import {ROLES} from './words.js';

export const state = {
  session: undefined, // undefined: not known yet; null: nobody is signed in
  connected: false,
  problem: '',
  drawing: null,
  nodes: new Map(),
  components: new Map(),
  usage: new Map(), // of components: {cpu, memory, processes}
  goal: null,
  goalOf: new Map(), // what of it is a component's: {underway, ahead, obstacles}
  happened: [], // the latest events of replicas
  pulse: 0, // grows with what is executed
};

const listeners = new Set();
let drawn = 0;

// watch calls a function before the next frame whenever something has changed.
export function watch(f) { listeners.add(f); return () => listeners.delete(f); }

export function changed() {
  if (!drawn) drawn = requestAnimationFrame(() => { drawn = 0; for (const f of [...listeners]) f(); });
}

// A page that is not looked at gets no frames; what is then shown first is true.
document.addEventListener('visibilitychange', () => { if (!document.hidden) { readStates(); readUsage(); } });

export const may = role => !!state.session && ROLES[state.session.role] >= ROLES[role];

// begin asks who is signed in, and then follows the application.
export async function begin() {
  try {
    state.session = await get('/session');
    state.problem = '';
  } catch (err) {
    if (err instanceof Problem && err.status === 401) state.session = null;
    else { state.problem = err.message; setTimeout(begin, 2000); }
    changed();
    return;
  }
  changed();
  try {
    state.drawing = await get('/app/drawing');
  } catch (err) { lost(err); return; }
  await readStates();
  followEvents();
  readUsage();
}

let stop = null, timers = [];

// end forgets all that somebody was allowed to see.
export function end() {
  stop?.();
  stop = null;
  timers.forEach(clearTimeout);
  timers = [];
  Object.assign(state, {session: null, drawing: null, goal: null, happened: [], connected: false});
  for (const map of [state.nodes, state.components, state.usage, state.goalOf]) map.clear();
  changed();
}

// lost takes in that something could not be read.
export function lost(err) {
  if (err instanceof Problem && err.status === 401) { stop?.(); stop = null; state.session = null; state.connected = false; changed(); return; }
  if (err.name === 'AbortError') return;
  if (err instanceof Unreachable) { state.connected = false; changed(); }
}

function followEvents() {
  stop?.();
  stop = follow('/events?goal=true', {
    event: take,
    changed(on) {
      if (on && !state.connected) readStates();
      state.connected = on;
      changed();
    },
    refused(err) { if (err.status === 401) lost(err); },
  });
}

function take(all) {
  const events = all.filter(e => e.kind !== 'goal'), goal = all.findLast(e => e.kind === 'goal');
  if (goal) takeGoal(goal);
  if (!events.length) return;
  for (const e of events) {
    if (e.component) {
      const c = state.components.get(e.component);
      const r = c?.replicas.find(r => r.address === e.replica);
      if (c && e.kind === 'task') keep(state.components, c.name, {...c, task: e.task});
      if (r && !c.task && e.state && e.state !== r.state) {
        r.state = e.state;
        r.since = e.time;
        const all = new Set(c.replicas.map(r => r.state));
        state.components.set(e.component, {...c, state: all.size === 1 ? e.state : 'mixed'});
      }
      if (r && e.execution && e.kind === 'start') { r.executing = e.execution.id; state.components.set(e.component, {...c}); }
    }
    if (e.kind !== 'state' && e.kind !== 'task') { state.happened.unshift(e); state.pulse++; }
  }
  state.happened.length = Math.min(state.happened.length, 200);
  changed();
  soon('states', readStates, 60);
}

// soon does something once, however often it is asked for, and not again before it has
// had its answer.
const waiting = new Map();
function soon(name, f, ms) {
  if (waiting.has(name)) { if (waiting.get(name) === 'asked') waiting.set(name, 'again'); return; }
  waiting.set(name, 'once');
  setTimeout(async () => {
    waiting.set(name, 'asked');
    const begun = performance.now();
    await f();
    const again = waiting.get(name) === 'again';
    waiting.delete(name);
    if (again) soon(name, f, Math.max(ms, 3 * (performance.now() - begun)));
  }, ms);
}

async function readStates() {
  if (!state.session) return;
  try { takeNodes(await get('/node')); } catch (err) { lost(err); }
}

function takeNodes(nodes) {
  const there = new Set();
  for (const n of nodes) {
    for (const c of n.components || []) { there.add(c.name); keep(state.components, c.name, c); }
    keep(state.nodes, n.name, n);
  }
  for (const name of state.components.keys()) if (!there.has(name)) state.components.delete(name);
  changed();
}

// keep leaves what is the same in its place, so that it is not drawn again.
function keep(map, name, value) {
  const text = JSON.stringify(value);
  if (map.get(name)?.text !== text) {
    Object.defineProperty(value, 'text', {value: text, enumerable: false});
    map.set(name, value);
  }
}

// takeGoal takes in where the goal stands. What of it is a component's stays the same
// while it says the same.
function takeGoal(goal) {
  state.goal = goal;
  const of = new Map();
  for (const [what, all] of Object.entries({underway: goal.underway, ahead: goal.ahead, obstacles: goal.obstacles})) {
    for (const one of all || []) {
      if (!of.has(one.component)) of.set(one.component, {underway: [], ahead: [], obstacles: []});
      of.get(one.component)[what].push(one);
    }
  }
  for (const [name, value] of of) keep(state.goalOf, name, value);
  for (const name of state.goalOf.keys()) if (!of.has(name)) state.goalOf.delete(name);
  changed();
}

const before = new Map();

// readUsage asks for processes only while somebody looks.
async function readUsage() {
  clearTimeout(timers[0]);
  if (!state.session) return;
  if (!document.hidden) {
    try { takeUsage(await get('/components?processes=true')); } catch (err) { lost(err); }
  }
  timers[0] = setTimeout(readUsage, 3000);
}

function takeUsage(components) {
  const now = performance.now();
  for (const c of components) {
    let cpu = 0, memory = 0, processes = 0;
    for (const r of c.replicas) for (const p of r.processes || []) { cpu += p.cpu_seconds; memory += p.memory_bytes; processes++; }
    const old = before.get(c.name);
    before.set(c.name, {now, cpu});
    const used = old && cpu >= old.cpu ? Math.round((cpu - old.cpu) / (now - old.now) * 1e6) / 10 : undefined;
    const shown = {cpu: used, memory, processes, replicas: c.replicas};
    const text = JSON.stringify(shown);
    if (state.usage.get(c.name)?.text !== text) state.usage.set(c.name, {...shown, text});
  }
  changed();
}

// toneOf is what matters of a component at a glance.
export function toneOf(c) {
  if (!c) return 'idle';
  if (c.replicas.some(r => r.executing)) return 'busy';
  if (c.state === 'unknown' || c.replicas.some(r => r.problem)) return 'bad';
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
