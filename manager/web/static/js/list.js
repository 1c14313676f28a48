// The components as a list.

import {h, memo} from './dom.js';
import {state} from './store.js';
import {toneOf, nodeTone} from './tone.js';
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
  const are = at.query.get('are'), within = at.query.get('in');
  return h('div', {class: 'listing'},
    h('div', {class: 'tools'}, h('h1', null, within ? 'Components in ' + within : 'Components'), counts(are), within && h('a', {href: '#/components'}, 'all containers')),
    h('table', {class: 'wide'},
      h('thead', null, h('tr', null, ['Component', 'Container', 'State', 'Replicas', 'CPU', 'Memory'].map((t, i) => h('th', {scope: 'col', class: i > 2 ? 'number' : ''}, t)))),
      memo('rows', [state.version, are, within], () => h('tbody', null, sorted().filter(c => (!are || toneOf(c) === are) && (!within || c.node === within)).map(c => {
        const used = state.usage.get(c.name), tone = toneOf(c);
        return memo(c.name, [c, used, tone], () => h('tr', {'data-tone': tone},
          h('th', {scope: 'row'}, h('a', {href: linkTo(c)}, c.name)), h('td', null, h('a', {href: '#/components?in=' + encodeURIComponent(c.node)}, c.node)),
          h('td', {class: 'state'}, h('i', {'aria-hidden': 'true'}, SIGNS[tone]), ' ', standing(c), h('span', {class: 'unseen'}, ', ' + meaning(tone)), reasonOf(c) && h('span', {class: 'because'}, reasonOf(c))),
          h('td', {class: 'number'}, c.replicas.length),
          h('td', {class: 'number'}, used?.cpu || '–'),
          h('td', {class: 'number'}, used?.memory || '–')));
      })))));
}

const sorted = () => [...state.components.values()].sort((a, b) => a.node.localeCompare(b.node) || a.name.localeCompare(b.name));

const RANK = ['bad', 'warn', 'busy', 'ok', 'idle'];

// worst is the tone of a container and of what is in it.
function worst(n, hosted) {
  return [nodeTone(n), ...hosted.map(toneOf)].sort((a, b) => RANK.indexOf(a) - RANK.indexOf(b))[0];
}

// byContainer lists the components of each container, those in trouble first: for phones.
export function byContainer(first, ...tools) {
  const of = new Map();
  for (const c of sorted()) of.set(c.node, [...of.get(c.node) || [], c]);
  const all = [...state.nodes.values()].map(n => { const hosted = of.get(n.name) || []; return {n, hosted, tone: worst(n, hosted)}; });
  const trouble = tone => Math.min(2, RANK.indexOf(tone));
  all.sort((a, b) => trouble(a.tone) - trouble(b.tone) || a.n.name.localeCompare(b.n.name));
  return h('div', {class: 'by-container'},
    h('div', {class: 'tools'}, h('h1', {class: 'unseen'}, 'Topology of ' + state.drawing.name), counts(), tools), first,
    all.map(({n, hosted, tone}) => memo(n.name, [state.versions.get(n.name), tone], () => h('section', {'data-tone': tone},
      h('h2', {'data-tone': nodeTone(n)}, h('i', {'aria-hidden': 'true'}, SIGNS[nodeTone(n)]), n.name, h('span', {class: 'muted'}, n.state)),
      hosted.length > 0 && h('ul', null, hosted.map(row))))));
}

function row(c) {
  const tone = toneOf(c), reason = reasonOf(c);
  return h('li', {key: c.name, 'data-tone': tone}, h('a', {href: linkTo(c), 'data-box': c.name}, h('i', {'aria-hidden': 'true'}, SIGNS[tone]), h('span', null, c.name),
    h('span', {class: 'muted'}, standing(c), h('span', {class: 'unseen'}, ', ' + meaning(tone))), reason && h('span', {class: 'because'}, reason)));
}
