// A box with the end of logs and what is added to them, which it takes care of itself: a line
// is drawn once.

import {h} from './dom.js';
import {follow} from './stream.js';
import {watch} from './store.js';
import {bare, whenOf} from './words.js';

const MOST = 2000; // lines that are kept
const AT_ONCE = 300; // are drawn in a frame
const readers = new Map(); // by the name of their place

// lines describes the box. text is what its lines have.
export function lines({of, stream, text, tail, name}) {
  const query = new URLSearchParams({follow: 'true', tail: String(tail)});
  for (const one of of) query.append('of', one);
  if (stream) query.set('stream', stream);
  if (text) query.set('match', '(?i)' + text.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&'));
  const path = '/logs?' + query;
  return h('div', {class: 'lines', tabindex: '0', role: 'log', 'aria-live': 'off', 'aria-label': 'Lines of ' + (of.join(', ') || 'all components'), own: true, key: name + path,
    made: box => begin(name, path, box, text)});
}

// What is no longer shown is no longer read.
watch(() => {
  for (const [name, {box, stop}] of readers) if (!box.isConnected) { stop(); readers.delete(name); }
});

function begin(name, path, box, text) {
  readers.get(name)?.stop();
  const rows = document.createElement('div'), empty = document.createElement('p'), more = document.createElement('button');
  empty.className = 'empty';
  empty.textContent = text ? 'No line has this text yet. Those that do appear here as they are written.' : 'Nothing was printed yet. Lines appear here as they are written.';
  more.className = 'more';
  more.hidden = true;
  box.append(empty, rows, more);

  // Who has scrolled up reads: nothing moves there, and what is new waits.
  let coming = [], asked = 0, drawn = 0, reading = false;
  const atEnd = () => box.scrollHeight - box.scrollTop - box.clientHeight < 40;
  const draw = () => {
    asked = 0;
    if (reading) {
      more.hidden = !coming.length;
      more.textContent = coming.length + (coming.length < MOST ? '' : ' or more') + (coming.length === 1 ? ' new line' : ' new lines') + ' ↓';
      return;
    }
    more.hidden = true;
    const now = coming.splice(0, AT_ONCE).map(e => row(e.read(), text));
    rows.append(...now);
    for (drawn += now.length; drawn > MOST; drawn--) rows.firstChild.remove();
    empty.hidden = drawn > 0;
    box.scrollTop = box.scrollHeight;
    if (coming.length) ask();
  };
  const ask = () => { asked ||= requestAnimationFrame(draw); };
  box.onscroll = () => {
    const up = !atEnd(); // by whoever reads: what is drawn ends at the end
    if (up !== reading) { reading = up; ask(); }
  };
  more.onclick = () => { reading = false; box.focus({preventScroll: true}); ask(); };
  const stop = follow(path, {
    event(all) {
      coming.push(...all.filter(e => e.kind !== 'live'));
      if (coming.length > MOST) coming = coming.slice(-MOST);
      ask();
    },
    refused(err) { empty.hidden = false; empty.textContent = err.message; },
  });
  readers.set(name, {box, stop});
}

const ESCAPES = /\u001b\[[0-9;?]*[A-Za-z]/g;

function row(e, text) {
  const p = document.createElement('p');
  if (e.kind !== 'line') {
    p.className = 'note';
    p.textContent = e.why || e.kind;
    return p;
  }
  const time = document.createElement('time');
  time.textContent = whenOf(e.time);
  const from = document.createElement('b');
  from.textContent = e.component + ' ' + bare(e.operation);
  from.title = e.node + ' ' + e.replica;
  p.className = e.stream;
  p.append(time, ' ', from, ' ', ...marked(textOf(e).replace(ESCAPES, ''), text));
  return p;
}

// marked is a line with what was searched for marked in it.
function marked(line, text) {
  const at = text ? line.toLowerCase().indexOf(text.toLowerCase()) : -1;
  if (at < 0) return [line];
  const mark = document.createElement('mark'), end = at + text.length;
  mark.textContent = line.slice(at, end);
  return [line.slice(0, at), mark, ...marked(line.slice(end), text)];
}

const textOf = e => e.line ?? new TextDecoder().decode(Uint8Array.from(atob(e.base64), c => c.charCodeAt(0)));
