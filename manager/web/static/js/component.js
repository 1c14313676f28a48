// A component: its protocol with the present state, what it may do now, how it ran.

import {h, memo, say} from './dom.js';
import {get, call, run} from './api.js';
import {state, may, changed, soon} from './store.js';
import {toneOf, failedOf, goalOf} from './tone.js';
import {SIGNS, OUTCOMES, meaning, bytes, lasted, whenOf, bare, plain, obstacleText, named, partOf, lackTexts, stateName} from './words.js';
import {reasonOf} from './trouble.js';
import {lines} from './lines.js';
import {task} from './task.js';

const FEW = 3; // replicas that are shown at once
const chosen = {replica: '', inputs: {}, open: ''};
let past = {of: '', pulse: -1, executions: null};

export function component(node, name) {
  const c = state.components.get(name);
  if (!c || c.node !== node) {
    return [h('a', {class: 'close', href: '#/', 'aria-label': 'Close'}, '×'),
      h('h1', {tabindex: '-1'}, name),
      h('div', {class: 'empty'}, h('p', null, `The application has no component "${name}" in a container "${node}".`), h('p', null, h('a', {href: '#/components'}, 'All components')))];
  }
  if (past.of !== name) { past = {of: name, pulse: -1, executions: null}; Object.assign(chosen, {replica: '', inputs: {}, open: ''}); }
  if (past.pulse !== state.pulse) { past.pulse = state.pulse; soon('executions of ' + c.name, () => readPast(c), past.executions ? 100 : 0); }
  const tone = toneOf(c), reason = reasonOf(c);
  return [
    h('a', {class: 'close', href: '#/', 'aria-label': 'Close'}, '×'),
    h('h1', {tabindex: '-1'}, c.name),
    h('p', {class: 'sub'}, c.type.split('.').pop() + ' in ' + c.node),
    h('p', {class: 'now', 'data-tone': tone}, h('i', {'aria-hidden': 'true'}, SIGNS[tone]), ' ', h('strong', null, stateName(c.state)), h('span', {class: 'unseen'}, ', ' + meaning(tone)), since(c), c.restarts > 0 && h('span', {class: 'muted'}, `, ${c.restarts} ${c.restarts === 1 ? 'restart' : 'restarts'}`)),
    reason && h('p', {class: 'reason', 'data-tone': tone}, reason),
    troubles(c),
    ahead(c),
    task(c),
    h('section', null, h('h2', null, 'Protocol'), protocol(c)),
    h('section', null, h('h2', null, 'Operations'), operations(c)),
    h('section', null, h('h2', null, c.replicas.length === 1 ? 'Replica' : 'Replicas'), c.replicas.length > FEW ? h('details', null, h('summary', null, [...counted(c.replicas)].map(([state, n]) => n + ' ' + stateName(state)).join(', ')), replicas(c)) : replicas(c)),
    h('section', null, h('h2', null, 'Executions'), executions()),
    h('section', null, h('h2', null, 'Log ', h('a', {class: 'more', href: '#/logs?of=' + encodeURIComponent(c.node + '/' + c.name)}, 'open')),
      h('div', {class: 'own-log', key: 'log-' + c.name}, lines({of: [c.node + '/' + c.name], tail: 100, name: 'panel'}))),
  ];
}

function since(c) {
  const at = c.replicas.map(r => r.since).filter(Boolean).sort().pop();
  return at && h('span', {class: 'muted'}, ' ' + lasted(at));
}

function troubles(c) {
  const hold = state.goal?.holds?.[c.name];
  const all = [
    ...new Set([...lackTexts(c.lacks || []), ...some(c.replicas.filter(r => r.problem), r => r.problem.includes(r.address) ? r.problem : r.address + ': ' + r.problem),
      ...some(c.replicas.filter(r => r.failing), r => `${r.address} fails its liveness checks since ${whenOf(r.failing.since)}: ${r.failing.why}`),
      ...some(c.replicas.filter(r => r.outdated), r => r.address + ' is of another version of the application'),
      ...failedOf(c.name).map(obstacleText)]),
  ];
  if (!all.length && !hold) return null;
  return h('ul', {class: 'troubles'}, all.map(t => h('li', {key: t}, t)),
    hold && h('li', {key: 'hold', 'data-tone': 'warn'}, `On hold: ${hold.by || 'somebody'} ran ${hold.operation ? bare(hold.operation) : 'an operation'} against the goal${hold.at ? ' at ' + whenOf(hold.at) : ''}. `,
      h('button', {disabled: !may('operator'), onClick: () => resume(c)}, 'Resume')));
}

// some says of a few replicas what is wrong with them, and of how many others it is.
function some(replicas, what) {
  const rest = replicas.length - FEW;
  return [...replicas.slice(0, FEW).map(what), ...rest > 0 ? [rest === 1 ? 'So is one more replica.' : `So are ${rest} more replicas.`] : []];
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

function operations(c) {
  const replicas = c.replicas;
  if (!replicas.some(r => r.address === chosen.replica)) chosen.replica = ''; // it was replaced
  return [
    replicas.length > 1 && h('label', {class: 'field', key: 'on'}, 'On ', h('select', {onChange: e => { chosen.replica = e.target.value; changed(); }},
      h('option', {value: '', selected: !chosen.replica}, 'all replicas'), replicas.map(r => h('option', {value: r.address, key: r.address, selected: chosen.replica === r.address}, r.address)))),
    !c.operations.length && h('p', {class: 'muted', key: 'none'}, 'It has none.'),
    h('div', {class: 'operations'}, [...c.operations].sort((a, b) => rank(a) - rank(b)).map(o => operation(c, o))),
    !may('operator') && h('p', {class: 'hint', key: 'role'}, `You are signed in as ${state.session.role}: operators may run these.`)];
}

// rank puts operations into the order of a life.
const LIFE = ['Standard.create', 'Standard.configure', 'Standard.start', 'Standard.stop', 'Standard.delete'];
const rank = o => (LIFE.indexOf(o.name) + LIFE.length + 1) % (LIFE.length + 1);

// operation is a button, which says why it cannot be used when it cannot.
function operation(c, o) {
  const on = chosen.replica ? c.replicas.filter(r => r.address === chosen.replica) : c.replicas;
  const free = on.length > 0 && on.every(r => (r.allowed || []).includes(o.name));
  const blocked = on.map(r => r.blocked?.[o.name]).find(Boolean);
  const busy = on.some(r => r.executing), silent = on.filter(r => r.problem).length;
  const why = free ? '' : busy ? 'an operation is under way' : blocked ? lackTexts(blocked).join('; ') : silent ? silentText(silent, on.length) : on.length ? 'not allowed while ' + [...new Set(on.map(r => stateName(r.state)))].join(', ') : 'there is no container';
  const open = chosen.open === o.name;
  return h('div', {class: 'operation', key: o.name},
    h('button', {disabled: !free || !may('operator'), 'aria-describedby': why ? 'why-' + o.name : null, onClick: () => start(c, o, false), class: free ? 'main' : ''}, bare(o.name)),
    o.inputs?.length && free && may('operator') && h('button', {class: 'quiet', 'aria-expanded': String(open), onClick: () => { chosen.open = open ? '' : o.name; changed(); }}, 'inputs'),
    why && h('span', {class: 'why', id: 'why-' + o.name}, why),
    blocked && !busy && may('operator') && h('button', {class: 'quiet', onClick: () => start(c, o, true)}, 'run anyway'),
    open && h('div', {class: 'inputs', key: 'inputs'}, o.inputs.map(name => h('label', {class: 'field', key: name}, name,
      h('input', {name, text: chosen.inputs[o.name]?.[name], placeholder: 'as it is declared', onInput: e => { (chosen.inputs[o.name] ||= {})[name] = e.target.value; }})))));
}

const silentText = (silent, of) => of === 1 ? 'its container does not answer' : `${silent} of ${of} ${silent === 1 ? 'does' : 'do'} not answer: choose another`;

async function start(c, o, force) {
  const given = Object.fromEntries(Object.entries(chosen.inputs[o.name] || {}).filter(([, v]) => v !== ''));
  try {
    const x = await run(c.node, c.name, o.name, {inputs: Object.keys(given).length ? given : undefined, replica: chosen.replica, force});
    say(`${c.name}: ${bare(o.name)} has begun.`);
    finish(x);
  } catch (err) { say(`${c.name}: ${bare(o.name)}: ${err.message}`, 'bad'); }
}

// finish says how an operation ended, if that was not as it should be.
async function finish(x) {
  try {
    while (x.outcome === 'running') x = await get('/executions/' + encodeURIComponent(x.id) + '?wait=50');
    if (x.outcome !== 'succeeded') say(`${x.component}: ${bare(named(x))} ${x.outcome}${x.runs?.[0]?.reason ? ': ' + x.runs[0].reason : '.'}`, 'bad', '#/execution/' + encodeURIComponent(x.id));
  } catch { /* the history has it */ }
  state.pulse++;
  changed();
}

function replicas(c) {
  if (!c.replicas.length) return h('p', {class: 'empty'}, 'There is no container. Making one is the orchestrator\'s affair.');
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

async function readPast(c) {
  try {
    const page = await get(`/executions?component=${encodeURIComponent(c.name)}&node=${encodeURIComponent(c.node)}&limit=8&output=false`);
    if (past.of === c.name) { past.executions = page.executions; changed(); }
  } catch { /* shown as it was */ }
}

function executions() {
  if (!past.executions) return h('p', {class: 'muted'}, 'Reading …');
  if (!past.executions.length) return h('p', {class: 'muted'}, 'Nothing was executed yet.');
  return h('ul', {class: 'past'}, past.executions.map(x => h('li', {key: x.id, 'data-tone': OUTCOMES[x.outcome]},
    h('a', {href: '#/execution/' + encodeURIComponent(x.id)}, h('i', {'aria-hidden': 'true'}, SIGNS[OUTCOMES[x.outcome]]), ' ', bare(named(x)) + partOf(x)),
    h('span', {class: 'muted'}, `${x.outcome}, ${whenOf(x.started)}, ${x.by || 'somebody'}`))));
}
