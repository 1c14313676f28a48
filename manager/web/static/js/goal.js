// Where the application should be: how far it is, and asking for something else with the
// plan shown first.

import {h, memo, say} from './dom.js';
import {call} from './api.js';
import {state, may, changed, soon} from './store.js';
import {progress, retried} from './tone.js';
import {SIGNS, bare, plain, obstacleText, whenOf, linkTo, named, stateName} from './words.js';

const draft = {touched: false, all: '', states: {}, plan: null, pulse: 0, asking: false, for: ''};

export const called = g => !g || (!g.state && !Object.keys(g.states || {}).length) || g.state === 'none' && !Object.keys(g.states || {}).length ? 'none'
  : [g.state, ...Object.entries(g.states || {}).map(([n, s]) => n + '=' + s)].filter(Boolean).join(' ');

function toneOfGoal(g) {
  if (!g || called(g) === 'none') return 'idle';
  if (!g.acting) return 'warn';
  const failed = (g.obstacles || []).filter(o => !o.waits && !g.holds?.[o.component]);
  if (failed.length) return failed.every(retried) ? 'warn' : 'bad';
  if (g.underway?.length) return 'busy';
  if (g.reached < g.wanted) return 'busy';
  return Object.keys(g.holds || {}).length ? 'warn' : g.done ? 'ok' : 'busy';
}

// goalChip says in the head of every view how far the application is.
export function goalChip() {
  const g = state.goal, tone = toneOfGoal(g);
  if (!g) return null;
  const none = called(g) === 'none';
  const text = called(g);
  return h('a', {class: 'chip', href: '#/goal', 'data-tone': tone, key: 'chip'}, h('i', {'aria-hidden': 'true'}, SIGNS[tone]), ' ',
    none ? 'no goal' : h('span', null, h('span', {class: 'word'}, 'goal '), h('b', {title: text}, text), ' ', counted()));
}

export function goal(at) {
  const g = state.goal;
  if (!g) return h('p', {class: 'empty'}, 'Reading the goal …');
  return h('div', {class: 'goal reading'},
    h('h1', null, 'Goal'),
    now(g),
    editor(g));
}

function now(g) {
  const tone = toneOfGoal(g);
  if (called(g) === 'none') return h('p', {class: 'lead'}, 'There is no goal: the manager observes, and keeps nothing up. Ask for one below.');
  return h('section', null,
    h('p', {class: 'lead', 'data-tone': tone}, h('i', {'aria-hidden': 'true'}, SIGNS[tone]), ' ', h('b', null, called(g)), ' ',
      tone === 'ok' ? (g.settling?.length ? `is reached, and settling: ${names(g.settling)} started a moment ago and may still fail.` : 'is reached, and kept.') : tone === 'warn' && g.acting ? (g.done || g.reached === g.wanted ? 'is reached but for what is on hold.' : 'is not reached yet: what failed is tried again.') : !g.acting ? 'is known, but not acted upon: not enough replicas have said which goal they keep.' : tone === 'bad' ? (g.stuck ? 'is stuck: nothing is tried again until you act. See what is in the way.' : 'is not reached: see what is in the way.') : 'is on its way.',
      h('span', {class: 'muted'}, g.by ? ` Asked for by ${g.by}${g.at ? ` at ${whenOf(g.at)}` : ''}.` : g.default ? ' It is that of toskose.yml.' : '')),
    segments(),
    g.underway?.length > 0 && [h('h2', {key: 'u'}, 'Under way'), h('ul', {class: 'steps', key: 'ul'}, g.underway.map(s => h('li', {key: s.id, 'data-tone': 'busy'}, h('i', {'aria-hidden': 'true'}, SIGNS.busy), ' ', component(s.component), ' ', bare(named(s.operation)), h('span', {class: 'muted'}, ` ${stateName(s.from)} → ${stateName(s.to)}`))))],
    toCome(g),
    g.obstacles?.length > 0 && [h('h2', {key: 'o'}, 'In the way'), h('ul', {class: 'troubles', key: 'ol'}, g.obstacles.map((o, i) => h('li', {key: i, 'data-tone': o.waits ? 'idle' : g.holds?.[o.component] || retried(o) ? 'warn' : 'bad'}, o.component ? component(o.component) : o.node, o.component || o.node ? ': ' : '', obstacleText(o))))],
    tone === 'bad' && h('button', {key: 'again', disabled: !may('operator') || draft.asking, onClick: () => put({state: g.state, states: g.states})}, 'Set the goal again'),
    g.notes?.length > 0 && h('ul', {class: 'troubles', key: 'n'}, g.notes.map((n, i) => h('li', {key: i, 'data-tone': 'warn'}, n))));
}

// counted says how many of all the components that the goal wants are in the desired state.
function counted() {
  const all = progress();
  return all.filter(p => p.tone === 'ok').length + '/' + all.length;
}

const ORDER = ['ok', 'busy', 'warn', 'bad', 'idle'], SINGLE = 150;
const WORDS = {ok: 'in the desired state', busy: 'working', warn: 'retrying or on hold', bad: 'failed', idle: 'waiting'};

// segments draws a segment for each component: of very many, one for those alike.
function segments() {
  const all = [...progress()].sort((a, b) => ORDER.indexOf(a.tone) - ORDER.indexOf(b.tone));
  const counts = ORDER.map(tone => [tone, all.filter(p => p.tone === tone).length]).filter(([, n]) => n);
  const drawn = all.length > SINGLE ? counts.map(([tone, n]) => ({tone, name: `${n} ${WORDS[tone]}`, n})) : all;
  return memo('progress', [JSON.stringify(drawn)], () => h('div', null,
    h('div', {class: 'bar segments', role: 'progressbar', 'aria-label': 'Components in the desired state', 'aria-valuemin': '0', 'aria-valuemax': all.length, 'aria-valuenow': all.filter(p => p.tone === 'ok').length},
      drawn.map(p => h('div', {key: p.name, 'data-tone': p.tone, title: p.name, style: {'flex-grow': p.n || 1}}))),
    h('p', {class: 'legend muted'}, `${all.filter(p => p.tone === 'ok').length} of ${all.length} components are in the desired state. `,
      counts.filter(([tone]) => tone !== 'ok').map(([tone, n]) => h('span', {key: tone, 'data-tone': tone}, h('i', {'aria-hidden': 'true'}, SIGNS[tone]), ` ${n} ${WORDS[tone]} `)))));
}

const names = all => all.slice(0, 3).join(', ') + (all.length > 3 ? ` and ${all.length - 3} more` : '');

// toCome is the rest of the plan, by level: what is of one does not wait for each other.
function toCome(g) {
  if (!g.ahead?.length) return null;
  const levels = new Map();
  for (const s of g.ahead) levels.set(s.level, [...levels.get(s.level) || [], s]);
  return [h('h2', {key: 'a'}, 'To come'), h('ol', {class: 'plan ahead', key: 'al'}, [...levels].map(([level, steps]) => h('li', {key: level}, h('span', {class: 'level'}, level),
    h('span', {class: 'together'}, steps.map(s => h('span', {key: s.component + s.operation, class: 'step'}, component(s.component), ' ', bare(s.operation)))))))];
}

function component(name) {
  const c = state.components.get(name);
  return c ? h('a', {href: linkTo(c)}, name) : name;
}

function editor(g) {
  if (!draft.touched && draft.for !== g.revision) Object.assign(draft, {for: g.revision, all: g.state || '', states: {...g.states}, plan: null});
  const allowed = may('operator');
  const names = new Set([...Object.keys(state.drawing.groups), ...state.nodes.keys(), ...state.components.keys()]);
  if (draft.touched && draft.pulse !== state.pulse) { draft.pulse = state.pulse; soon('plan', makePlan, 200); } // it is another by now
  return h('section', {class: 'editor', key: 'editor'},
    h('h2', null, called(g) === 'none' ? 'Ask for a goal' : 'Ask for another'),
    h('div', {class: 'row', role: 'group', 'aria-label': 'All components'},
      ['up', 'down', 'none'].map(s => h('button', {key: s, class: 'choice', 'aria-pressed': String(draft.all === s), onClick: () => { draft.all = draft.all === s ? '' : s; touch(); }}, s === 'none' ? 'no goal' : 'all ' + s))),
    h('details', {key: 'single', open: Object.keys(draft.states).length > 0 || null}, h('summary', null, 'Single components, containers or groups'),
      h('table', null, h('tbody', null, [...names].map(n => h('tr', {key: n}, h('th', {scope: 'row'}, n),
        h('td', null, h('select', {'aria-label': 'State of ' + n, onChange: e => { if (e.target.value) draft.states[n] = e.target.value; else delete draft.states[n]; touch(); }},
          h('option', {value: '', selected: !draft.states[n]}, 'as the rest'),
          options(n).map(s => h('option', {value: s, key: s, selected: draft.states[n] === s}, stateName(s)))))))))),
    draft.touched && plan(),
    h('div', {class: 'row'},
      h('button', {class: 'main', disabled: !allowed || !draft.touched || draft.asking || !draft.plan || !!draft.plan.problem, onClick: () => put(body())}, 'Set this goal'),
      draft.touched && h('button', {class: 'quiet', onClick: () => { draft.touched = false; draft.for = ''; changed(); }}, 'Discard')),
    !allowed && h('p', {class: 'hint'}, `You are signed in as ${state.session.role}: operators may set a goal. All users can see the plan.`));
}

const options = n => ['up', 'down', 'none', ...(state.drawing.protocols[n]?.states.map(s => s.name) || [])];
const asked = () => draft.all || Object.keys(draft.states).length;
const body = () => ({...(draft.all ? {state: draft.all} : {}), ...(Object.keys(draft.states).length ? {states: draft.states} : {})});

function touch() {
  Object.assign(draft, {touched: true, plan: null, pulse: state.pulse});
  changed();
  makePlan();
}

// propose opens the goal with the plan for another one.
export function propose(all) {
  Object.assign(draft, {all, states: {}, for: state.goal?.revision});
  touch();
  location.hash = '#/goal';
}

async function makePlan() {
  if (!draft.touched || !asked()) return;
  const wanted = JSON.stringify(body());
  let made;
  try { made = await call('POST', '/app/plan', {body: body()}); } catch (err) { made = {problem: err.message}; }
  if (draft.touched && wanted === JSON.stringify(body())) draft.plan = made;
  changed();
}

function plan() {
  const p = draft.plan;
  if (!asked()) return h('p', {class: 'muted', key: 'plan'}, 'Choose a state.');
  if (!p) return h('p', {class: 'muted', key: 'plan'}, 'Planning …');
  if (p.problem) return h('p', {class: 'refused', key: 'plan'}, p.problem, ' ', h('button', {onClick: makePlan}, 'Plan again'));
  const levels = p.plan?.levels || [];
  return h('div', {class: 'plan', key: 'plan'},
    h('h3', null, levels.length ? `The plan: ${p.plan.operations} ${p.plan.operations === 1 ? 'operation' : 'operations'}` : 'Nothing has to be done for this goal now'),
    levels.length > 0 && h('ol', null, levels.map((level, i) => h('li', {key: i}, h('span', {class: 'together'}, level.map(s => h('span', {key: s.id, class: 'step'}, h('b', null, s.component), ' ', bare(named(s)), h('span', {class: 'muted'}, ` → ${stateName(s.target)}`))))))),
    p.obstacles?.length > 0 && h('ul', {class: 'troubles'}, p.obstacles.map((o, i) => h('li', {key: i}, [o.component || o.node, plain(o.reason)].filter(Boolean).join(': ')))),
    p.notes?.length > 0 && h('ul', {class: 'troubles'}, p.notes.map((n, i) => h('li', {key: i, 'data-tone': 'warn'}, n))));
}

export async function put(wanted) {
  draft.asking = true;
  changed();
  try {
    const g = await call('PUT', '/app/goal', {body: wanted});
    say('The goal is set: ' + called(g) + '.');
    draft.touched = false;
    draft.for = '';
  } catch (err) { say(err.message, 'bad'); }
  draft.asking = false;
  changed();
}
