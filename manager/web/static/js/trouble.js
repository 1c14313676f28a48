// What is wrong, and why: the bar below the header, and the reason of each component.

import {h} from './dom.js';
import {state, changed} from './store.js';
import {toneOf, nodeTone, failedOf, goalOf} from './tone.js';
import {SIGNS, bare, lackTexts, lasted, linkTo, obstacleText, plain, whenOf} from './words.js';

// reasonOf returns in a few words why a component needs attention, or nothing.
export function reasonOf(c) {
  const tone = toneOf(c);
  if (tone !== 'bad' && tone !== 'warn') return '';
  const hold = state.goal?.holds?.[c.name];
  if (hold) return 'on hold' + (hold.operation ? ' since ' + bare(hold.operation) : '') + (hold.by ? ' by ' + hold.by : '');
  if (!c.replicas.length) return 'no container';
  const [failed] = failedOf(c.name), silent = c.replicas.find(r => r.problem), failing = c.replicas.find(r => r.failing);
  if (silent) return c.replicas.length > 1 ? 'a container does not answer' : 'its container does not answer';
  if (failing) return 'not live: ' + failing.failing.why;
  if (c.reason) return plain(c.reason);
  if (failed) return obstacleText(failed);
  if (c.task?.reason) return c.task.reason;
  if (c.lacks?.length) return lackTexts(c.lacks)[0].replace(c.name + ' ', '');
  if (c.state === 'mixed') return 'its replicas differ';
  return c.replicas.some(r => r.outdated) ? 'of another version' : '';
}

// explained is the reason of a component, and whether what failed is tried again.
export function explained(c) {
  const reason = reasonOf(c), [failed] = failedOf(c.name);
  if (!failed || !c.reason || reason !== plain(c.reason)) return reason;
  return reason + (failed.final ? '; not tried again until you act' : failed.until || failed.next ? '; next try at ' + whenOf(failed.until || failed.next) : '');
}

// sinceOf returns when the problem of a component began, as far as that is known.
function sinceOf(c) {
  const times = [state.goal?.holds?.[c.name]?.at, ...c.replicas.map(r => r.failing?.since)].filter(Boolean);
  return times.sort()[0] || c.replicas.map(r => r.since).filter(Boolean).sort().at(-1) || '';
}

// waitersOf returns the components that wait for others, directly or through those that wait for them.
function waitersOf(names) {
  const found = new Set(names);
  const waits = c => c.lacks?.some(l => found.has(l.provider)) || goalOf(c.name).ahead.some(s => s.after?.some(n => found.has(n)));
  for (let before = -1; before !== found.size;) {
    before = found.size;
    for (const c of state.components.values()) if (!found.has(c.name) && waits(c)) found.add(c.name);
  }
  return [...found].slice(names.length).map(n => state.components.get(n)).filter(Boolean);
}

// ofNode returns the problem of a container, if it has one.
function ofNode(n) {
  const tone = nodeTone(n);
  if (tone !== 'bad' && tone !== 'warn') return null;
  const gone = n.replicas.map(r => r.gone).filter(Boolean).sort().at(-1), silent = n.replicas.filter(r => r.problem);
  const what = n.state === 'stopped' ? (gone ? 'its container is gone' : 'it has no container') :
    n.state === 'degraded' ? `${silent.length} of ${n.replicas.length} containers do not answer` : 'its container does not answer';
  const hosted = (n.components || []).map(c => state.components.get(c.name)).filter(Boolean);
  return {key: 'node ' + n.name, tone, name: n.name, href: hosted.length ? linkTo(hosted[0]) : '#/components', what, since: gone || silent.map(r => r.since).filter(Boolean).sort()[0], waits: [...hosted, ...waitersOf(hosted.map(c => c.name))]};
}

function ofComponent(c) {
  const tone = toneOf(c);
  if (tone !== 'bad' && tone !== 'warn') return null;
  if (tone === 'warn' && c.lacks?.length && !c.reason && !failedOf(c.name).length && !state.goal?.holds?.[c.name]) return null; // it waits for another problem
  return {key: 'component ' + c.name, tone, name: c.name, href: linkTo(c), what: explained(c), since: sinceOf(c), waits: waitersOf([c.name])};
}

let made = {goal: null, version: -1, all: []};

// problems returns all that is wrong, the worst first. A component in a container with a problem is not named again.
export function problems() {
  if (made.goal === state.goal && made.version === state.version) return made.all;
  const nodes = [...state.nodes.values()].map(ofNode).filter(Boolean), dead = new Set(nodes.filter(p => p.tone === 'bad').map(p => p.name));
  const parts = [...state.components.values()].filter(c => !dead.has(c.node)).map(ofComponent).filter(Boolean);
  const general = (state.goal?.obstacles || []).filter(o => !o.component && !o.waits && !dead.has(o.node)).map((o, i) => ({key: 'goal ' + i, tone: 'bad', name: o.node || 'The goal', href: '#/goal', what: obstacleText(o), waits: []}));
  const all = [...nodes, ...parts, ...general];
  made = {goal: state.goal, version: state.version, all: [...all.filter(p => p.tone === 'bad'), ...all.filter(p => p.tone !== 'bad')]};
  return made.all;
}

const FEW = 3, NAMED = 3; // problems at once, and waiting components by name
let open = false;

// The bar takes height from what is as high as the window.
let height = 0;
const heights = new ResizeObserver(all => { for (const {target} of all) { height = target.isConnected ? target.offsetHeight : 0; document.documentElement.style.setProperty('--troubled', height + 'px'); changed(); } });
export const barHeight = () => height;

// troubleBar names each problem, since when it exists, and what waits for it.
export function troubleBar() {
  const all = problems();
  if (!all.length) return null;
  const shown = all.slice(0, FEW), rest = all.slice(FEW);
  return h('section', {class: 'trouble', key: 'trouble', 'aria-label': 'Problems', made: e => heights.observe(e)},
    h('ul', null, shown.map(problem)),
    rest.length > 0 && h('details', {key: 'rest', open, onToggle: e => { open = e.target.open; }}, h('summary', null, `${rest.length} more`), h('ul', null, rest.slice(0, 50).map(problem)),
      rest.length > 50 && h('a', {href: '#/components?are=bad'}, 'all of them')));
}

function problem(p) {
  const named = p.waits.slice(0, NAMED), rest = p.waits.length - named.length;
  return h('li', {key: p.key, 'data-tone': p.tone}, h('i', {'aria-hidden': 'true'}, SIGNS[p.tone]), ' ',
    h('a', {class: 'which', href: p.href}, p.name), h('span', {class: 'what', title: p.what}, p.what),
    p.since && h('time', {datetime: p.since, title: 'since ' + whenOf(p.since)}, lasted(p.since)),
    named.length > 0 && h('span', {class: 'waits'}, 'waiting: ', named.map((c, i) => [i > 0 && ', ', h('a', {key: c.name, href: linkTo(c)}, c.name)]), rest > 0 && ` and ${rest} more`));
}
