// Lines of logs, followed and searched.

import {h} from './dom.js';
import {follow} from './api.js';
import {state} from './store.js';
import {bare} from './words.js';

const MOST = 5000; // lines that are kept
const readers = new Map();
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

// lines is a box with the end of logs and what is added to them, which it takes care of
// itself: a line is drawn once.
export function lines({of, stream, text, tail, name}) {
  const query = new URLSearchParams({follow: 'true', tail: String(tail)});
  for (const one of of) query.append('of', one);
  if (stream) query.set('stream', stream);
  if (text) query.set('text', text);
  const path = '/logs?' + query;
  return h('div', {class: 'lines', tabindex: '0', role: 'log', 'aria-label': 'Lines of ' + (of.join(', ') || 'all components'), own: true, key: name + path, made: box => begin(name, path, box, !!text)});
}

function begin(name, path, box, searched) {
  readers.get(name)?.();
  const rows = document.createElement('div');
  const empty = document.createElement('p');
  empty.className = 'empty';
  empty.textContent = searched ? 'No line has this text yet. Those that do appear here as they are written.' : 'Nothing was printed yet. Lines appear here as they are written.';
  box.append(empty, rows);
  const stop = follow(path, {
    event(all) {
      if (!box.isConnected) { stop(); return; }
      const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
      rows.append(...all.map(row).filter(Boolean));
      while (rows.childElementCount > MOST) rows.firstChild.remove();
      empty.hidden = rows.childElementCount > 0;
      if (atEnd) box.scrollTop = box.scrollHeight;
    },
    changed(on) { box.dataset.connected = on; if (!box.isConnected) stop(); },
    refused(err) { empty.hidden = false; empty.textContent = err.message; },
  });
  readers.set(name, stop);
}

const ESCAPES = /\u001b\[[0-9;?]*[A-Za-z]/g;

function row(e) {
  if (e.kind === 'live') return null;
  const p = document.createElement('p');
  if (e.kind !== 'line') {
    p.className = 'note';
    p.textContent = e.why || e.kind;
    return p;
  }
  const time = document.createElement('time');
  time.textContent = new Date(e.time).toLocaleTimeString([], {hourCycle: 'h23'});
  const from = document.createElement('b');
  from.textContent = e.component + ' ' + bare(e.operation);
  from.title = e.node + ' ' + e.replica;
  p.className = e.stream;
  p.append(time, ' ', from, ' ', textOf(e).replace(ESCAPES, ''));
  return p;
}

const textOf = e => e.line ?? new TextDecoder().decode(Uint8Array.from(atob(e.base64), c => c.charCodeAt(0)));
