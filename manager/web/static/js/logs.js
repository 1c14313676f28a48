// Logs, followed and searched.

import {h} from './dom.js';
import {state} from './store.js';
import {lines} from './lines.js';

const wanted = {of: '', stream: '', text: ''};

export function logs(at) {
  const of = at.query.getAll('of');
  wanted.of = of[0] || '';
  wanted.stream = at.query.get('stream') || '';
  wanted.text = at.query.get('text') || '';
  const go = change => {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries({...wanted, ...change})) if (value) query.set(name, value);
    location.hash = '#/logs' + (query.size ? '?' + query : '');
  };
  const sources = [...state.nodes.values()].filter(n => n.components?.length);
  return h('div', {class: 'logs'},
    h('div', {class: 'tools'}, h('h1', null, 'Logs'),
      h('label', {class: 'field'}, 'From ', h('select', {name: 'of', onChange: e => go({of: e.target.value})},
        h('option', {value: '', selected: !wanted.of}, 'everything'),
        sources.map(n => [h('option', {value: n.name, key: n.name, selected: wanted.of === n.name}, n.name),
          n.components.map(c => h('option', {value: n.name + '/' + c.name, key: n.name + '/' + c.name, selected: wanted.of === n.name + '/' + c.name}, n.name + ' / ' + c.name))]))),
      h('label', {class: 'field'}, 'Stream ', h('select', {name: 'stream', onChange: e => go({stream: e.target.value})},
        [['', 'both'], ['stdout', 'stdout'], ['stderr', 'stderr']].map(([v, t]) => h('option', {value: v, key: v, selected: wanted.stream === v}, t)))),
      h('form', {class: 'field', role: 'search', onSubmit: e => { e.preventDefault(); go({text: e.target.text.value}); }},
        h('label', null, 'Search ', h('input', {name: 'text', type: 'search', text: wanted.text, placeholder: 'text', onSearch: e => go({text: e.target.value})})))),
    lines({of, stream: wanted.stream, text: wanted.text, tail: 500, name: 'view'}));
}
