// The components as a list.

import {h, memo} from './dom.js';
import {state} from './store.js';
import {toneOf} from './tone.js';
import {reasonOf} from './trouble.js';
import {SIGNS, meaning, standing, linkTo} from './words.js';

// counts says how many components are how, in words, and leads to those.
export const counts = chosen => memo('counts', [state.version, chosen], () => {
  const all = {};
  for (const c of state.components.values()) { const tone = toneOf(c); all[tone] = (all[tone] || 0) + 1; }
  return h('p', {class: 'counts'}, ['bad', 'warn', 'busy', 'ok', 'idle'].filter(tone => all[tone]).map(tone =>
    h('a', {href: '#/components?are=' + tone, 'aria-current': tone === chosen ? 'true' : null, 'data-tone': tone, key: tone}, h('i', {'aria-hidden': 'true'}, SIGNS[tone]), ' ', all[tone] + ' ' + meaning(tone, all[tone]))),
  chosen && h('a', {href: '#/components', key: 'all'}, 'all'));
});

// list is the same for those who rather read: all components, or those of one tone.
export function list(at) {
  const are = at.query.get('are');
  return h('div', {class: 'listing'},
    h('div', {class: 'tools'}, h('h1', null, 'Components'), counts(are)),
    h('table', {class: 'wide'},
      h('thead', null, h('tr', null, ['Component', 'Container', 'State', 'Replicas', 'CPU', 'Memory'].map((t, i) => h('th', {scope: 'col', class: i > 2 ? 'number' : ''}, t)))),
      memo('rows', [state.version, are], () => h('tbody', null, sorted().filter(c => !are || toneOf(c) === are).map(c => {
        const used = state.usage.get(c.name), tone = toneOf(c);
        return memo(c.name, [c, used, tone], () => h('tr', {'data-tone': tone},
          h('th', {scope: 'row'}, h('a', {href: linkTo(c)}, c.name)), h('td', null, c.node),
          h('td', {class: 'state'}, h('i', {'aria-hidden': 'true'}, SIGNS[tone]), ' ', standing(c), h('span', {class: 'unseen'}, ', ' + meaning(tone)), reasonOf(c) && h('span', {class: 'because'}, reasonOf(c))),
          h('td', {class: 'number'}, c.replicas.length),
          h('td', {class: 'number'}, used?.cpu || '–'),
          h('td', {class: 'number'}, used?.memory || '–')));
      })))));
}

const sorted = () => [...state.components.values()].sort((a, b) => a.node.localeCompare(b.node) || a.name.localeCompare(b.name));
