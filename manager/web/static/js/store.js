// What the page knows: the drawing, which changes with the components of attached nodes; nodes and components, as the
// manager has them; the goal. Events change it at once, and answers put it right.

import {get, Problem, sessionKey} from './api.js';
import {follow} from './stream.js';
import {ROLES, percent, bytes} from './words.js';

export const state = {
  session: undefined, // undefined: not known yet; null: nobody is signed in
  ended: false, // somebody was, and is no longer
  connected: true, // until it is known that it is not
  problem: '',
  drawing: null,
  nodes: new Map(),
  components: new Map(),
  usage: new Map(), // of components whose processes run: {cpu, memory}, as they are shown
  processes: new Map(), // of components: their replicas with their processes
  goal: null,
  goalOf: new Map(), // what of it is a component's: {underway, ahead, obstacles}
  happened: [], // the latest events of replicas
  pulse: 0, // grows with what is executed
  version: 0, // grows with what is shown of nodes and components
  versions: new Map(), // of each node, its version when it or a component in it changed last
};

const nodeChanged = name => { state.versions.set(name, ++state.version); };
const componentChanged = name => { const c = state.components.get(name); if (c) nodeChanged(c.node); };

const listeners = new Set();
let drawn = 0;

// watch calls a function before the next frame whenever something has changed.
export function watch(f) { listeners.add(f); return () => listeners.delete(f); }

export function changed() {
  if (!drawn) drawn = requestAnimationFrame(() => { drawn = 0; for (const f of [...listeners]) f(); });
}

// A page that is not looked at gets no frames; what is then shown first is true.
document.addEventListener('visibilitychange', () => { if (!document.hidden) { readStates(); readUsage(); } });

// Other pages of this origin have the same cookie: whose it is has changed for all of them. They
// give the key of the session to a page that is opened later.
const pages = new BroadcastChannel('toskose');
let received = null;
pages.onmessage = ({data}) => {
  if (data === 'key?') { if (sessionKey.get()) pages.postMessage({key: sessionKey.get()}); return; }
  if (data.key) { received?.(data.key); return; }
  if (data.session !== undefined) sessionKey.set(data.session);
  location.reload();
};
export const tellOtherPages = () => pages.postMessage({session: sessionKey.get()});

const KEY_WAIT = 300; // ms until other pages have answered

// findKey asks the other pages for the key of the session.
function findKey() {
  if (sessionKey.get()) return Promise.resolve();
  return new Promise(done => {
    const timer = setTimeout(done, KEY_WAIT);
    received = key => { received = null; clearTimeout(timer); sessionKey.set(key); done(); };
    pages.postMessage('key?');
  });
}

export const may = role => !!state.session && ROLES[state.session.role] >= ROLES[role];

// begin asks who is signed in, and then follows the application.
export async function begin() {
  try {
    await findKey();
    state.session = await get('/session');
    state.drawing = await get('/app/drawing');
  } catch (err) {
    if (err instanceof Problem && err.status === 401) state.session = null;
    else { state.problem = err.message; setTimeout(begin, 2000); }
    changed();
    return;
  }
  state.ended = false;
  state.problem = '';
  await readStates();
  followEvents();
  readUsage();
}

let stop = null, usageTimer = 0;

// end forgets all that somebody was allowed to see. unasked: they did not sign out.
export function end(unasked) {
  stop?.();
  stop = null;
  clearTimeout(usageTimer);
  Object.assign(state, {session: null, ended: !!unasked, drawing: null, goal: null, happened: [], connected: true});
  state.pulse++; // others read anew what was executed
  for (const map of [state.nodes, state.components, state.usage, state.processes, state.goalOf, state.versions, before]) map.clear();
  changed();
}

// lost takes in that something could not be read. Whether there is a connection is known from
// the events.
function lost(err) {
  if (err instanceof Problem && err.status === 401 && state.session) end(true);
}

function followEvents() {
  stop?.();
  stop = follow('/events?goal=true', {
    event: take,
    changed(on) {
      if (on && !state.connected) { state.pulse++; readStates(); }
      state.connected = on;
      changed();
    },
    refused: lost,
  });
}

const OF_REPLICAS = new Set(['unreachable', 'reachable', 'vanished', 'gone', 'missing']);

function take(came) {
  const all = came.map(e => e.read());
  const events = all.filter(e => e.kind !== 'goal'), goal = all.findLast(e => e.kind === 'goal');
  if (goal) takeGoal(goal);
  if (!events.length) return;
  for (const e of events) {
    if (e.component) {
      const c = state.components.get(e.component);
      const r = c?.replicas.find(r => r.address === e.replica);
      if (c && e.kind === 'task' && keep(state.components, c.name, {...c, task: e.task})) componentChanged(c.name);
      if (r && !c.task && e.state && e.state !== r.state) {
        r.state = e.state;
        r.since = e.time;
        forgetUsage(e.component);
        const all = new Set(c.replicas.map(r => r.state));
        state.components.set(e.component, {...c, state: all.size === 1 ? e.state : 'mixed'});
        componentChanged(e.component);
      }
      if (r && e.execution && e.kind === 'start') { r.executing = e.execution.id; state.components.set(e.component, {...state.components.get(e.component)}); componentChanged(e.component); }
    }
    if (e.kind !== 'state' && e.kind !== 'task') state.pulse++;
    if (OF_REPLICAS.has(e.kind)) state.happened.unshift(e);
  }
  state.happened.length = Math.min(state.happened.length, 200);
  changed();
  soon('states', readStates, 60);
}

// soon does something once, however often it is asked for, and not again before it has
// had its answer.
const waiting = new Map();
export function soon(name, f, ms) {
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
  try {
    const nodes = await get('/node');
    if (state.drawing && !draws(nodes)) state.drawing = await get('/app/drawing');
    takeNodes(nodes);
  } catch (err) { lost(err); }
}

// draws reports whether the drawing has exactly the components of these nodes. Those of attached nodes change.
function draws(nodes) {
  const names = nodes.flatMap(n => (n.components || []).map(c => c.name));
  return names.length === Object.keys(state.drawing.protocols).length && names.every(name => state.drawing.protocols[name]);
}

function takeNodes(nodes) {
  const there = new Set();
  for (const n of nodes) {
    for (const c of n.components || []) {
      there.add(c.name);
      const old = state.components.get(c.name);
      if (old && stands(old) !== stands(c)) forgetUsage(c.name);
      if (keep(state.components, c.name, c)) nodeChanged(n.name);
    }
    if (keep(state.nodes, n.name, n)) nodeChanged(n.name);
  }
  for (const name of state.components.keys()) if (!there.has(name)) { componentChanged(name); state.components.delete(name); }
  changed();
}

// keep leaves what is the same in its place, so that it is not drawn again, and reports
// whether it is another.
function keep(map, name, value) {
  const text = JSON.stringify(value);
  if (map.get(name)?.text === text) return false;
  Object.defineProperty(value, 'text', {value: text, enumerable: false});
  map.set(name, value);
  return true;
}

// takeGoal takes in where the goal stands. What of it is a component's stays the same
// while it says the same.
function takeGoal(goal) {
  const holds = state.goal?.holds || {}, now = goal.holds || {};
  state.goal = goal;
  for (const name of Object.keys({...holds, ...now})) if (!holds[name] !== !now[name]) componentChanged(name);
  const of = new Map();
  for (const [what, all] of Object.entries({underway: goal.underway, ahead: goal.ahead, obstacles: goal.obstacles})) {
    for (const one of all || []) {
      if (!of.has(one.component)) of.set(one.component, {underway: [], ahead: [], obstacles: []});
      of.get(one.component)[what].push(one);
    }
  }
  for (const [name, value] of of) if (keep(state.goalOf, name, value)) componentChanged(name);
  for (const name of state.goalOf.keys()) if (!of.has(name)) { state.goalOf.delete(name); componentChanged(name); }
  changed();
}

const before = new Map();

// stands is where a component is on each of its replicas.
const stands = c => c.replicas.map(r => r.address + ' ' + r.state).join();

// forgetUsage takes away the numbers of processes that are no longer those of a component.
function forgetUsage(name) {
  state.processes.delete(name);
  if (state.usage.delete(name)) componentChanged(name);
  before.delete(name);
  soon('usage', readUsage, 500);
}

// readUsage asks for processes only while somebody looks, and for the containers of which no
// event tells that they have ended.
async function readUsage() {
  clearTimeout(usageTimer);
  if (!state.session) return;
  if (!document.hidden) {
    if ([...state.nodes.values()].some(n => n.kind !== 'toskosed')) readStates();
    try { await takeUsage(await get('/components?processes=true')); } catch (err) { lost(err); }
  }
  clearTimeout(usageTimer);
  usageTimer = setTimeout(readUsage, 3000);
}

// takeUsage takes numbers in a few at a time: those of many change at once, and a frame is short.
async function takeUsage(components) {
  const now = performance.now();
  for (let i = 0; i < components.length; i += AT_ONCE) {
    if (i) await new Promise(requestAnimationFrame);
    for (const c of components.slice(i, i + AT_ONCE)) takeUsageOf(c, now);
    changed();
  }
}

const AT_ONCE = 50;

function takeUsageOf(c, now) {
  const known = state.components.get(c.name);
  if (!known || stands(known) !== stands(c)) return; // it was asked before what has happened since
  let used = 0, memory = 0, processes = 0;
  for (const r of c.replicas) for (const p of r.processes || []) { used += p.cpu_seconds; memory += p.memory_bytes; processes++; }
  const old = before.get(c.name);
  before.set(c.name, {now, used});
  const cpu = old && used >= old.used && now > old.now ? percent((used - old.used) / (now - old.now) * 1e5) : '';
  keep(state.processes, c.name, {replicas: c.replicas});
  if (!processes) { if (state.usage.delete(c.name)) componentChanged(c.name); } else if (keep(state.usage, c.name, {cpu, memory: bytes(memory)})) componentChanged(c.name);
}
