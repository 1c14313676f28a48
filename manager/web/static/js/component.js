// A component: its protocol with the present state, what it may do now, how it ran.

import {h, memo, say} from './dom.js';
import {get, call} from './api.js';
import {operations, forgetChoices} from './operations.js';
import {state, may, changed, soon} from './store.js';
import {toneOf, failedOf, goalOf} from './tone.js';
import {SIGNS, OUTCOMES, meaning, bytes, lasted, whenOf, bare, plain, obstacleText, named, partOf, lackTexts, stateName} from './words.js';
import {explained} from './trouble.js';
import {lastHour} from './series.js';
import {lines, keptLines} from './lines.js';
import {task} from './task.js';

const FEW = 3; // replicas that are shown at once
let past = {of: '', pulse: -1, executions: null};

export function component(node, name, wanted) {
  const c = state.components.get(name);
  if (!c || c.node !== node) {
    return [h('a', {class: 'close', href: '#/', 'aria-label': 'Close'}, '×'),
      h('h1', {tabindex: '-1'}, name),
      h('div', {class: 'empty'}, h('p', null, `The application has no component "${name}" in a container "${node}".`), h('p', null, h('a', {href: '#/components'}, 'All components')))];
  }
  if (past.of !== name) { past = {of: name, pulse: -1, executions: null}; forgetChoices(); }
  if (past.pulse !== state.pulse) { past.pulse = state.pulse; soon('executions of ' + c.name, () => readPast(c), past.executions ? 100 : 0); }
  const tone = toneOf(c), reason = explained(c);
  return [
    h('a', {class: 'close', href: '#/', 'aria-label': 'Close'}, '×'),
    h('h1', {tabindex: '-1'}, c.name),
    h('p', {class: 'sub'}, c.type.split('.').pop() + ' in ' + c.node),
    h('p', {class: 'now', 'data-tone': tone}, h('i', {'aria-hidden': 'true'}, SIGNS[tone]), ' ', h('strong', null, stateName(c.state)), h('span', {class: 'unseen'}, ', ' + meaning(tone)), since(c), c.restarts > 0 && h('span', {class: 'muted'}, `, ${c.restarts} ${c.restarts === 1 ? 'restart' : 'restarts'}`)),
    reason && !state.goal?.holds?.[c.name] && h('p', {class: 'reason', 'data-tone': tone}, reason),
    troubles(c, reason),
    ahead(c),
    task(c),
    h('section', null, h('h2', null, 'Protocol'), protocol(c)),
    h('section', null, h('h2', null, 'Operations'), operations(c, wanted)),
    h('section', null, h('h2', null, c.replicas.length === 1 ? 'Replica' : 'Replicas'), c.replicas.length > FEW ? h('details', null, h('summary', null, [...counted(c.replicas)].map(([state, n]) => n + ' ' + stateName(state)).join(', ')), replicas(c)) : replicas(c)),
    h('section', null, h('h2', null, 'Last hour'), lastHour(c.name)),
    shell(c),
    h('section', null, h('h2', null, 'Executions'), executions(c)),
    h('section', null, h('h2', null, 'Log ', h('a', {class: 'more', href: '#/logs?of=' + encodeURIComponent(c.node + '/' + c.name)}, 'open')), log(c)),
  ];
}

// shell shows the command that opens a shell in the container. The page itself has none: it would put one behind the API.
function shell(c) {
  const command = 'toskose exec ' + (/^[\w./@-]+$/.test(c.name) ? c.name : `'${c.name}'`);
  const copy = async e => {
    const code = e.target.parentElement.querySelector('code');
    try { await navigator.clipboard.writeText(command); say('Copied: ' + command); } catch { getSelection().selectAllChildren(code); } // only pages of HTTPS or this machine may
  };
  return h('section', null, h('h2', null, 'Shell'), h('p', {class: 'copy'}, h('code', null, command), h('button', {'aria-label': 'Copy ' + command, onClick: copy}, 'Copy')));
}

function since(c) {
  const at = c.replicas.map(r => r.since).filter(Boolean).sort().pop();
  return at && h('span', {class: 'muted'}, ' ' + lasted(at));
}

function troubles(c, reason) {
  const hold = state.goal?.holds?.[c.name];
  const all = [
    ...new Set([...lackTexts(c.lacks || []), ...some(c.replicas.filter(r => r.problem), r => r.problem.includes(r.address) ? r.problem : r.address + ': ' + r.problem),
      ...some(c.replicas.filter(r => r.failing), r => `${r.address} fails its liveness checks since ${whenOf(r.failing.since)}: ${r.failing.why}`),
      ...some(c.replicas.filter(r => r.outdated), r => r.address + ' is of another version of the application'),
      ...(c.reason ? [] : failedOf(c.name).map(obstacleText))]),
  ].filter(text => text !== reason);
  if (!all.length && !hold) return null;
  return h('ul', {class: 'troubles'}, all.map(t => h('li', {key: t}, t)),
    hold && h('li', {key: 'hold', 'data-tone': 'warn'}, `On hold: ${hold.by || 'an unknown user'} ran ${hold.operation ? bare(hold.operation) : 'an operation'} against the goal${hold.at ? ' at ' + whenOf(hold.at) : ''}. `,
      h('button', {disabled: !may('operator'), onClick: () => resume(c)}, 'Resume')));
}

// some says of a few replicas what is wrong with them, and of how many others it is.
function some(replicas, what) {
  const rest = replicas.length - FEW;
  return [...replicas.slice(0, FEW).map(what), ...rest > 0 ? [rest === 1 ? 'One more replica has the same problem.' : `${rest} more replicas have the same problem.`] : []];
}

// ahead is what the goal does here now, and what its plan has next.
function ahead(c) {
  const {underway, ahead: next, obstacles} = goalOf(c.name);
  const waits = [...new Set(obstacles.filter(o => o.waits).map(o => plain(o.reason)))];
  if (!underway.length && !next.length && !waits.length) return null;
  const now = [...new Set(underway.map(s => bare(named(s.operation))))];
  return h('section', {key: 'ahead'}, h('h2', null, 'The goal\'s next steps'),
    h('ol', {class: 'steps'},
      now.map(o => h('li', {key: 'now ' + o, 'data-tone': 'busy'}, h('i', {'aria-hidden': 'true'}, SIGNS.busy), ' ', o, h('span', {class: 'muted'}, ' is under way'))),
      next.map(s => h('li', {key: s.level + s.operation}, h('span', {class: 'level'}, s.level), bare(s.operation), s.after?.length && h('span', {class: 'muted'}, ' after ' + s.after.join(', '))))),
    waits.map(w => h('p', {class: 'hint', key: w}, w)));
}

async function resume(c) {
  try { await call('POST', '/app/goal/resume', {body: {components: [c.name]}}); say(c.name + ' follows the goal again.'); } catch (err) { say(err.message, 'bad'); }
}

// protocol draws the states, with that of each replica filled.
function protocol(c) {
  const d = state.drawing.protocols[c.name];
  if (!d) return null; // it has just been learned
  const there = counted(c.replicas);
  const key = [...there].flat().join();
  return memo('protocol', [d, key], () => h('div', {class: 'diagram', tabindex: '0', role: 'img', 'aria-label': `Protocol: ${d.states.map(s => stateName(s.name)).join(', ')}; now ${[...there.keys()].map(stateName).join(', ')}`},
    h('svg', {key, viewBox: `0 0 ${Math.ceil(d.width)} ${Math.ceil(d.height)}`, width: Math.ceil(d.width), height: Math.ceil(d.height), style: {'--w': Math.ceil(d.width) + 'px'}, made: e => requestAnimationFrame(() => showHere(e))},
      d.arrows.map(a => h('g', {class: a.fault ? 'edge fault' : 'edge'}, h('path', {d: a.path, 'marker-end': a.fault ? 'url(#bad)' : 'url(#line)'}), h('text', {x: a.label.x, y: a.label.y, 'text-anchor': a.label.anchor, class: 'line'}, a.label.text))),
      d.states.map(s => h('g', {class: there.has(s.name) ? 'at here' : 'at'}, h('title', null, says(s)),
        h('rect', {x: s.x, y: s.y, width: s.w, height: s.h, rx: s.h / 2}),
        h('text', {x: s.x + s.w / 2, y: s.y + s.h / 2 + 4.5, 'text-anchor': 'middle'}, stateName(s.name)))))));
}

// showHere has the present state be seen where the picture is wider than its place.
function showHere(svg) {
  const box = svg.parentElement, here = svg.querySelector('.here rect');
  if (here && box.scrollWidth > box.clientWidth) box.scrollLeft += here.getBoundingClientRect().right - box.getBoundingClientRect().right + 24;
}

const says = s => [stateName(s.name), s.requires?.length && 'requires ' + s.requires.join(', '), s.offers?.length && 'offers ' + s.offers.join(', ')].filter(Boolean).join('\n');

function replicas(c) {
  if (!c.replicas.length) return h('p', {class: 'empty'}, 'There is no container: the orchestrator has to start one.');
  const used = state.processes.get(c.name);
  const labels = new Map((state.nodes.get(c.node)?.replicas || []).map(r => [r.address, r]));
  return c.replicas.map(r => {
    const processes = used?.replicas.find(u => u.address === r.address)?.processes || [];
    const where = labels.get(r.address)?.labels || {};
    return memo(r.address, [r, used?.text], () => h('div', {class: 'replica'},
      h('p', null, h('strong', null, r.address), ' ', Object.values(where).join(' · '), h('span', {class: 'right'}, r.problem ? (r.last ? 'was ' + stateName(r.last) : 'unknown') : stateName(r.state))),
      processes.length > 0 && h('table', null, h('thead', null, h('tr', null, ['PID', 'Command', 'CPU time', 'Memory'].map((t, i) => h('th', {scope: 'col', class: i === 1 ? '' : 'number'}, t)))),
        h('tbody', null, processes.slice(0, 40).map(p => h('tr', {key: p.pid}, h('td', {class: 'number'}, p.pid), h('td', {class: 'command', title: p.command}, p.command),
          h('td', {class: 'number'}, p.cpu_seconds.toFixed(2) + ' s'), h('td', {class: 'number'}, bytes(p.memory_bytes))))))));
  });
}

// counted says how many replicas are in which state.
function counted(replicas) {
  const all = new Map();
  for (const r of replicas) all.set(r.state, (all.get(r.state) || 0) + 1);
  return all;
}

const silent = c => c.replicas.every(r => r.problem);
const remembered = new Map(); // of components: their executions, as they were read last

// ended returns when the last container of a component was known to run, as text.
function ended(c) {
  const node = state.nodes.get(c.node), at = node?.replicas.map(r => r.gone || r.heard || r.since).filter(Boolean).sort().at(-1);
  return `From ${node?.state === 'unreachable' ? 'a container that does not answer' : 'a container that is gone'}${at ? ' since ' + whenOf(at) : ''}.`;
}

// log follows the log of a component. Without its container, it shows the lines that were read before.
function log(c) {
  const of = c.node + '/' + c.name;
  if (!silent(c)) return h('div', {class: 'own-log', key: 'log-' + c.name}, lines({of: [of], tail: 100, name: 'panel'}));
  const kept = keptLines(of);
  return h('div', {class: 'own-log old', key: 'old-log-' + c.name}, h('p', {class: 'muted'}, kept ? ended(c) : 'The log was lost with the container.'), kept);
}

async function readPast(c) {
  try {
    const page = await get(`/executions?component=${encodeURIComponent(c.name)}&node=${encodeURIComponent(c.node)}&limit=8&output=false`);
    if (page.executions.length) remembered.set(c.name, page.executions);
    if (past.of === c.name) { past.executions = page.executions; changed(); }
  } catch { /* shown as it was */ }
}

function executions(c) {
  const old = silent(c) && !past.executions?.length && remembered.get(c.name);
  if (!past.executions && !old) return h('p', {class: 'muted'}, 'Reading …');
  const all = old || past.executions;
  if (!all.length) return h('p', {class: 'muted'}, 'Nothing was executed yet.');
  return [silent(c) && h('p', {class: 'muted', key: 'ended'}, ended(c)), h('ul', {class: silent(c) ? 'past old' : 'past', key: 'past'}, all.map(x => {
    const what = [h('i', {'aria-hidden': 'true'}, SIGNS[OUTCOMES[x.outcome]]), ' ', bare(named(x)) + partOf(x)];
    return h('li', {key: x.id, 'data-tone': OUTCOMES[x.outcome]},
      old ? h('span', null, what) : h('a', {href: '#/execution/' + encodeURIComponent(x.id)}, what),
      h('span', {class: 'muted'}, `${x.outcome}, ${whenOf(x.started)}, ${x.by || 'unknown'}`));
  }))];
}
