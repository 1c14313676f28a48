// What may be run of a component.

import {h, say, confirmed} from './dom.js';
import {get, call, run} from './api.js';
import {state, may, changed} from './store.js';
import {bare, named, lackTexts, stateName} from './words.js';

const chosen = {replica: '', inputs: {}, open: ''};
let menu = false, restarting = '', shown = '';

// forgetChoices is called when another component is opened.
export function forgetChoices() { Object.assign(chosen, {replica: '', inputs: {}, open: ''}); }

// operations are what may be run of a component: one that is needed most, and all in a menu.
export function operations(c, wanted) {
  show(c, wanted);
  const replicas = c.replicas;
  if (!replicas.some(r => r.address === chosen.replica)) chosen.replica = ''; // it was replaced
  return [
    replicas.length > 1 && h('label', {class: 'field', key: 'on'}, 'On ', h('select', {onChange: e => { chosen.replica = e.target.value; changed(); }},
      h('option', {value: '', selected: !chosen.replica}, 'all replicas'), replicas.map(r => h('option', {value: r.address, key: r.address, selected: chosen.replica === r.address}, r.address)))),
    !c.operations.length && h('p', {class: 'muted', key: 'none'}, 'It has none.'),
    !c.task && primary(c),
    c.operations.length > 0 && h('details', {class: 'menu', key: 'menu', open: menu, onToggle: e => { menu = e.target.open; }}, h('summary', null, 'All operations'),
      h('div', {class: 'operations'}, [...c.operations].sort((a, b) => rank(a) - rank(b)).map(o => operation(c, o)))),
    !may('operator') && h('p', {class: 'hint', key: 'role'}, `You are signed in as ${state.session.role}: operators may run these.`)];
}

// show opens the menu at an operation that was searched for, once.
function show(c, wanted) {
  const key = wanted && c.name + ' ' + wanted;
  if (key && key !== shown) {
    menu = true;
    requestAnimationFrame(() => [...document.querySelectorAll('.operation > button:first-child')].find(b => b.textContent === bare(wanted))?.scrollIntoView({block: 'center'}));
  }
  shown = key;
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
    h('button', {disabled: !free || !may('operator'), 'aria-describedby': why ? 'why-' + o.name : null, onClick: () => ask(c, o, false), class: free ? 'main' : ''}, bare(o.name)),
    o.inputs?.length && free && may('operator') && h('button', {class: 'quiet', 'aria-expanded': String(open), onClick: () => { chosen.open = open ? '' : o.name; changed(); }}, 'inputs'),
    why && h('span', {class: 'why', id: 'why-' + o.name}, why),
    blocked && !busy && may('operator') && h('button', {class: 'quiet', onClick: () => ask(c, o, true)}, 'run anyway'),
    open && h('div', {class: 'inputs', key: 'inputs'}, o.inputs.map(name => h('label', {class: 'field', key: name}, name,
      h('input', {name, text: chosen.inputs[o.name]?.[name], placeholder: 'as it is declared', onInput: e => { (chosen.inputs[o.name] ||= {})[name] = e.target.value; }})))));
}

const silentText = (silent, of) => of === 1 ? 'its container does not answer' : `${silent} of ${of} ${silent === 1 ? 'does' : 'do'} not answer: choose another`;

// primary is a button for Restart where the component runs, and for Start where it does not.
function primary(c) {
  const on = chosen.replica ? c.replicas.filter(r => r.address === chosen.replica) : c.replicas;
  const op = name => c.operations.find(o => o.name.endsWith('.' + name)), free = o => !!o && on.length > 0 && on.every(r => (r.allowed || []).includes(o.name));
  const begin = op('start'), stop = op('stop'), busy = restarting === c.name || on.some(r => r.executing);
  const restart = !!begin && free(stop), direct = free(begin);
  const able = may('operator') && !busy && on.length > 0 && !on.some(r => r.problem) && (restart || direct || !chosen.replica);
  const act = () => restart ? runBoth(c, stop, begin) : direct ? start(c, begin, false) : bringUp(c);
  return h('div', {class: 'primary', key: 'primary'}, h('button', {class: 'main', disabled: !able, onClick: act}, restart || restarting === c.name ? 'Restart' : 'Start'),
    h('span', {class: 'why'}, !on.length ? 'there is no container' : restart || direct || busy ? '' : 'with all that it requires, by the goal'));
}

// runBoth stops a component and starts it again.
async function runBoth(c, stop, begin) {
  const at = {replica: chosen.replica};
  restarting = c.name;
  changed();
  try {
    for (const o of [stop, begin]) {
      let x = await run(c.node, c.name, o.name, at);
      while (x.outcome === 'running') x = await get('/executions/' + encodeURIComponent(x.id) + '?wait=50');
      if (x.outcome !== 'succeeded') { finish(x); break; }
      if (o === begin) say(c.name + ' was restarted.');
    }
  } catch (err) { say(`${c.name}: restart: ${err.message}`, 'bad'); }
  restarting = '';
  state.pulse++;
  changed();
}

// bringUp adds the component to the goal.
async function bringUp(c) {
  try {
    await call('PATCH', '/app/goal', {body: {states: {[c.name]: 'up'}}});
    say(`The goal is set: ${c.name} is to be up.`);
  } catch (err) { say(`${c.name}: ${err.message}`, 'bad'); }
}

// ask runs an operation. One that deletes something is confirmed before.
function ask(c, o, force) {
  if (bare(o.name).split('.').at(-1) !== 'delete') { start(c, o, force); return; }
  confirmed(`Delete ${c.name}${chosen.replica || c.replicas.length < 2 ? '' : ` on all ${c.replicas.length} replicas`}?`, 'It removes what the component has created. The goal leaves the component alone until you resume it.', 'Delete', () => start(c, o, force));
}

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
