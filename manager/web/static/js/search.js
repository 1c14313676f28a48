// Search: components, containers, operations, executions and actions, by keyboard.

import {h, render} from './dom.js';
import {state, may, watch} from './store.js';
import {toneOf, nodeTone} from './tone.js';
import {known} from './activity.js';
import {called, propose, put} from './goal.js';
import {SIGNS, OUTCOMES, bare, linkTo, meaning, named, standing, whenOf} from './words.js';

const MOST = 12; // results at once
const found = {box: null, text: '', at: 0, all: []};

const go = href => () => { location.hash = href; };

// entries is everything that can be found.
function entries(actions) {
  const all = [...state.components.values()], operator = may('operator');
  return [
    ...all.map(c => ({kind: 'component', name: c.name, more: c.node + ', ' + standing(c), tone: toneOf(c), act: go(linkTo(c))})),
    ...[...state.nodes.values()].map(n => ({kind: 'container', name: n.name, more: n.state, tone: nodeTone(n), act: go('#/components?in=' + encodeURIComponent(n.name))})),
    ...actions,
    ...(operator ? [{kind: 'action', name: 'Bring everything up', act: () => put({state: 'up'})}, {kind: 'action', name: 'Plan to bring everything up', act: () => propose('up')}, {kind: 'action', name: 'Plan to take everything down', act: () => propose('down')}] : []),
    ...(operator && called(state.goal) !== 'none' ? [{kind: 'action', name: 'Set the goal again', act: () => put({state: state.goal.state, states: state.goal.states})}] : []),
    ...all.flatMap(c => [
      {kind: 'log', name: 'log of ' + c.name, more: c.node, act: go('#/logs?of=' + encodeURIComponent(c.node + '/' + c.name))},
      ...c.operations.map(o => ({kind: 'operation', name: c.name + ' ' + bare(o.name), more: c.node, act: go(linkTo(c) + '?operation=' + encodeURIComponent(o.name))}))]),
    ...known().map(x => ({kind: 'execution', name: x.component + ' ' + bare(named(x)), more: `${x.outcome}, ${whenOf(x.started)}, ${x.id}`, tone: OUTCOMES[x.outcome], act: go('#/execution/' + encodeURIComponent(x.id))})),
  ];
}

// rank is how well an entry is what was typed: 0 is best, and Infinity that it is not.
function rank(e, words) {
  const name = e.name.toLowerCase(), whole = `${name} ${e.kind} ${(e.more || '').toLowerCase()}`;
  if (!words.every(w => whole.includes(w))) return Infinity;
  const text = words.join(' ');
  return name === text ? 0 : name.startsWith(text) ? 1 : name.includes(text) ? 2 : words.every(w => name.includes(w)) ? 3 : 4;
}

function search(actions) {
  const words = found.text.toLowerCase().split(/\s+/).filter(Boolean);
  const troubled = e => RANK.indexOf(e.tone || 'idle');
  found.all = entries(actions).map((e, i) => ({e, i, r: rank(e, words)})).filter(x => x.r < Infinity)
    .sort((a, b) => a.r - b.r || (words.length ? 0 : troubled(a.e) - troubled(b.e)) || a.i - b.i).slice(0, MOST).map(x => x.e);
  found.at = Math.max(0, Math.min(found.at, found.all.length - 1));
}

const RANK = ['bad', 'warn', 'busy', 'ok', 'idle'];

function choose(entry) {
  found.box.close();
  entry?.act();
}

// openSearch opens the search over the page.
export function openSearch(actions) {
  if (found.box || !state.drawing) return;
  const box = document.createElement('dialog');
  Object.assign(found, {box, text: '', at: 0});
  box.className = 'palette';
  box.setAttribute('aria-label', 'Search');
  let stop = null;
  box.onclose = () => { stop?.(); box.remove(); found.box = null; };
  box.onclick = e => { if (e.target === box) box.close(); };
  document.body.append(box);
  const draw = () => {
    search(actions);
    render(box, field(draw), results(draw));
  };
  draw();
  box.showModal();
  stop = watch(draw); // executions are read when the search opens
}

function field(draw) {
  const keys = {ArrowDown: 1, ArrowUp: -1};
  return h('input', {type: 'search', role: 'combobox', 'aria-label': 'Search', 'aria-expanded': 'true', 'aria-controls': 'found', 'aria-activedescendant': found.all.length ? 'found-' + found.at : null, autocomplete: 'off', spellcheck: 'false',
    placeholder: 'Component, container, operation, execution, action', made: e => requestAnimationFrame(() => e.focus()),
    onInput: e => { found.text = e.target.value.replace(/^\//, ''); found.at = 0; draw(); },
    onKeydown: e => {
      if (keys[e.key]) { found.at = (found.at + keys[e.key] + found.all.length) % (found.all.length || 1); e.preventDefault(); draw(); found.box.querySelector('[aria-selected=true]')?.scrollIntoView({block: 'nearest'}); }
      else if (e.key === 'Enter') { e.preventDefault(); choose(found.all[found.at]); }
      else if (e.key === 'Escape') { e.preventDefault(); found.box.close(); }
    }});
}

function results() {
  if (!found.all.length) return h('p', {class: 'empty'}, 'Nothing has this name.');
  return h('ul', {role: 'listbox', id: 'found', 'aria-label': 'Results'}, found.all.map((e, i) => h('li', {key: e.kind + e.name + e.more, role: 'option', id: 'found-' + i, 'aria-selected': String(i === found.at), 'data-tone': e.tone || null, onClick: () => choose(e)},
    h('i', {'aria-hidden': 'true'}, e.tone ? SIGNS[e.tone] : '›'), h('span', {class: 'name'}, e.name, e.tone && h('span', {class: 'unseen'}, ', ' + meaning(e.tone))), h('span', {class: 'muted'}, [e.kind, e.more].filter(Boolean).join(' · ')))));
}
