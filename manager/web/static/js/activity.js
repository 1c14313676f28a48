// What happened, by whom; and one execution.

import {h, memo, say} from './dom.js';
import {get, call} from './api.js';
import {now} from './clock.js';
import {state, may, changed, soon} from './store.js';
import {SIGNS, OUTCOMES, timeOf, dayOf, spent, bare, named, partOf, linkTo, stateName} from './words.js';

const past = {pulse: -1, executions: null, next: '', missing: [], problem: ''};

// read takes the latest, or what was before the earliest that is known.
async function read(earlier) {
  try {
    const page = await get('/executions?limit=50&output=false' + (earlier ? '&after=' + encodeURIComponent(past.next) : ''));
    const known = past.executions || [], last = page.executions.at(-1)?.id;
    const from = known.findIndex(x => x.id === last);
    if (earlier) past.executions = [...known, ...page.executions];
    else past.executions = from < 0 ? page.executions : [...page.executions, ...known.slice(from + 1)]; // what was read before stays
    if (earlier || from < 0 || from === known.length - 1) past.next = page.next || '';
    past.missing = page.missing || [];
    past.problem = '';
  } catch (err) { past.problem = err.message; }
  changed();
}

function readAnew() {
  if (past.pulse === state.pulse) return;
  past.pulse = state.pulse;
  soon('executions', () => read(false), past.executions ? 100 : 0);
}

export function activity() {
  readAnew();
  if (!past.executions) return h('div', {class: 'empty'}, h('h1', null, 'Activity'), h('p', null, past.problem || 'Reading the activity …'));
  const all = [...past.executions.map(x => ({at: x.started, x})), ...state.happened.map(e => ({at: e.time, e}))].sort((a, b) => new Date(b.at) - new Date(a.at));
  return h('div', {class: 'activity reading'},
    h('h1', null, 'Activity'),
    past.problem && h('p', {class: 'refused'}, past.problem),
    !all.length && h('p', {class: 'empty'}, 'Nothing was executed yet. Open a component and run its first operation, or set a goal.'),
    timeline(all),
    past.next && h('button', {class: 'quiet', onClick: () => read(true)}, 'Earlier'),
    past.missing.map(m => h('p', {class: 'hint', key: m.replica}, `Without what ran on ${m.node} at ${m.replica}: ${m.why}`)));
}

// known returns the executions that were read, the latest first.
export function known() {
  readAnew();
  return past.executions || [];
}

// latest is the last of it, beside the topology or below it.
export function latest(most = 6) {
  readAnew();
  if (!past.executions?.length) return null;
  return h('section', {class: 'latest reading', key: 'latest'}, h('h2', null, 'Latest ', h('a', {class: 'more', href: '#/activity'}, 'all')),
    timeline(past.executions.slice(0, most).map(x => ({at: x.started, x})), dayOf(now())));
}

// timeline is what happened, the latest first, under the days after the last one named.
function timeline(all, last) {
  return h('ol', {class: 'timeline'}, all.map(one => {
    const day = dayOf(one.at), first = day !== last;
    last = day;
    return [first && h('li', {class: 'day', key: day}, h('h2', null, day)), one.x ? executed(one.x) : happened(one.e)];
  }));
}

const took = x => x.ended ? spent(new Date(x.ended) - new Date(x.started)) : '';

function executed(x) {
  return memo(x.id, [x.outcome, x.ended], () => h('li', {'data-tone': OUTCOMES[x.outcome]},
    h('time', {datetime: x.started}, timeOf(x.started)), h('i', {'aria-hidden': 'true'}, SIGNS[OUTCOMES[x.outcome]]),
    h('a', {href: '#/execution/' + encodeURIComponent(x.id)}, h('b', null, x.component), ' ', bare(named(x)) + partOf(x)),
    h('span', {class: 'muted'}, [x.outcome, took(x), x.by && 'by ' + x.by].filter(Boolean).join(', '))));
}

function happened(e) {
  const what = {unreachable: 'does not answer', reachable: 'answers again', vanished: 'is gone or was replaced', gone: 'ended by itself', missing: 'Some events are missing here'}[e.kind];
  const bad = e.kind === 'unreachable' || e.kind === 'gone';
  return h('li', {key: e.kind + e.time + e.replica + e.component, 'data-tone': bad ? 'bad' : 'idle'}, h('time', {datetime: e.time}, timeOf(e.time)), h('i', {'aria-hidden': 'true'}, SIGNS[bad ? 'bad' : 'idle']),
    h('span', null, h('b', null, e.component || e.node), ' ', what), h('span', {class: 'muted'}, [e.component && e.node, e.replica, e.why].filter(Boolean).join(', ')));
}

const opened = {id: '', x: null, problem: ''};

async function follow(id) {
  Object.assign(opened, {id, x: null, problem: ''});
  try {
    let x = await get('/executions/' + encodeURIComponent(id));
    for (;;) {
      if (opened.id !== id) return;
      opened.x = x;
      changed();
      if (x.outcome !== 'running') return;
      x = await get('/executions/' + encodeURIComponent(id) + '?wait=20');
    }
  } catch (err) { opened.problem = err.message; changed(); }
}

export function execution(id) {
  if (opened.id !== id) follow(id);
  const x = opened.x;
  if (!x) return h('div', {class: 'empty'}, h('h1', null, 'Execution'), h('p', null, opened.problem || 'Reading the execution …'),
    opened.problem && h('p', null, h('a', {href: '#/activity'}, 'All that is known')));
  const c = state.components.get(x.component);
  return h('div', {class: 'execution reading'},
    h('h1', null, c ? h('a', {href: linkTo(c)}, x.component) : x.component, ' ', bare(named(x)) + partOf(x)),
    h('p', {class: 'lead', 'data-tone': OUTCOMES[x.outcome]}, h('i', {'aria-hidden': 'true'}, SIGNS[OUTCOMES[x.outcome]]), ' ', h('b', null, x.outcome),
      h('span', {class: 'muted'}, ` ${dayOf(x.started)}, ${timeOf(x.started)}${x.ended ? ', ' + took(x) : ''}${x.by ? ', by ' + x.by : ''}${x.part ? ', attempt ' + x.part.attempt : ''}`)),
    x.inputs?.length > 0 && h('p', {class: 'muted'}, 'With other values for ' + x.inputs.join(', ')),
    x.outcome === 'running' && h('button', {disabled: !may('operator'), onClick: () => cancel(x)}, 'Cancel'),
    x.runs.map(r => h('section', {key: r.replica, 'data-tone': OUTCOMES[r.outcome]},
      h('h2', null, r.replica, ' ', h('span', {class: 'muted'}, [r.outcome, r.exit_code !== undefined ? 'exit code ' + r.exit_code : r.signal, r.from && r.to && stateName(r.from) + ' → ' + stateName(r.to)].filter(Boolean).join(', '))),
      r.reason && h('p', {class: 'refused'}, r.reason),
      ['stdout', 'stderr'].filter(s => r[s]).map(s => h('figure', {key: s}, h('figcaption', null, s), h('pre', {tabindex: '0'}, r[s]))),
      !r.stdout && !r.stderr && h('p', {class: 'muted'}, 'It printed nothing, or its output is no longer known.'))));
}

async function cancel(x) {
  try { await call('DELETE', '/executions/' + encodeURIComponent(x.id)); say('Cancelled.'); } catch (err) { say(err.message, 'bad'); }
}
