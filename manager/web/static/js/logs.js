// Logs, followed and searched.

import {h, say} from './dom.js';
import {ask} from './api.js';
import {state, changed} from './store.js';
import {lines} from './lines.js';
import {findField} from './find.js';

const wanted = {of: '', stream: '', text: ''};
const MOST = 10000; // lines of a download
let wraps = true;

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
  return h('div', {class: wraps ? 'logs' : 'logs as-written'},
    h('div', {class: 'tools'}, h('h1', null, 'Logs'), sources(go),
      h('form', {class: 'field', role: 'search', onSubmit: e => { e.preventDefault(); go({text: e.target.text.value}); }},
        h('label', null, 'Only with ', h('input', {name: 'text', type: 'search', text: wanted.text, placeholder: 'text', onSearch: e => go({text: e.target.value})}))),
      findField(),
      h('button', {class: 'quiet', 'aria-pressed': String(wraps), onClick: () => { wraps = !wraps; changed(); }}, 'Wrap'),
      h('button', {class: 'quiet', onClick: () => download(of)}, 'Download')),
    lines({of, stream: wanted.stream, text: wanted.text, tail: 500, name: 'view'}));
}

function sources(go) {
  const all = [...state.nodes.values()].filter(n => n.components?.length);
  return [h('label', {class: 'field', key: 'of'}, 'From ', h('select', {name: 'of', onChange: e => go({of: e.target.value})},
    h('option', {value: '', selected: !wanted.of}, 'everything'),
    all.map(n => [h('option', {value: n.name, key: n.name, selected: wanted.of === n.name}, n.name),
      n.components.map(c => h('option', {value: n.name + '/' + c.name, key: n.name + '/' + c.name, selected: wanted.of === n.name + '/' + c.name}, n.name + ' / ' + c.name))]))),
  h('label', {class: 'field', key: 'stream', title: 'Lines of stderr have a bar beside them'}, 'Stream ', h('select', {name: 'stream', onChange: e => go({stream: e.target.value})},
    [['', 'both'], ['stdout', 'stdout'], ['stderr', '▍stderr']].map(([v, t]) => h('option', {value: v, key: v, selected: wanted.stream === v}, t))))];
}

// download saves the last lines as text.
async function download(of) {
  const query = new URLSearchParams({tail: String(MOST), limit: String(MOST)});
  for (const one of of) query.append('of', one);
  if (wanted.stream) query.set('stream', wanted.stream);
  try {
    const answer = await ask('/logs?' + query, {headers: {Accept: 'text/plain'}});
    const href = URL.createObjectURL(await answer.blob());
    const name = [state.drawing.name, ...of, new Date().toISOString().slice(0, 19)].join('-').replace(/[^\w.-]+/g, '-') + '.log';
    Object.assign(document.createElement('a'), {href, download: name}).click();
    setTimeout(() => URL.revokeObjectURL(href), 60000);
  } catch (err) { say(err.message, 'bad'); }
}
