// A box with the end of logs and what is added to them, which it takes care of itself: a line
// is drawn once.

import {h} from './dom.js';
import {follow} from './stream.js';
import {watch} from './store.js';
import {rowOf, widthOf} from './row.js';

const MOST = 2000; // lines that are kept
const AT_ONCE = 300; // are drawn in a frame
const KEPT = 100; // of each component that was looked at, for when its container is gone
const kept = new Map();
const readers = new Map(); // by the name of their place

// lines describes the box. text is what its lines have.
export function lines({of, stream, text, tail, name}) {
  const query = new URLSearchParams({follow: 'true', tail: String(tail)});
  for (const one of of) query.append('of', one);
  if (stream) query.set('stream', stream);
  if (text) query.set('match', '(?i)' + text.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&'));
  const path = '/logs?' + query;
  return h('div', {class: 'lines', tabindex: '0', role: 'log', 'aria-live': 'off', 'aria-label': 'Lines of ' + (of.join(', ') || 'all components'), own: true, key: name + path,
    made: box => begin(name, path, box, text, of)});
}

// keptLines describes the lines that were read of a component before, if there are any.
export const keptLines = of => kept.get(of)?.length > 0 && h('div', {class: 'lines single', tabindex: '0', role: 'log', 'aria-live': 'off', 'aria-label': 'Lines that ' + of + ' printed before', own: true, key: 'kept ' + of,
  made: box => {
    const rows = document.createElement('div');
    rows.append(...kept.get(of).map(e => rowOf(e, '', true)));
    box.append(rows);
    fitColumns(box, kept.get(of), true);
    box.scrollTop = box.scrollHeight;
  }});

// What is no longer shown is no longer read.
watch(() => {
  for (const [name, {box, stop}] of readers) if (!box.isConnected) { stop(); readers.delete(name); }
});

function begin(name, path, box, text, of) {
  readers.get(name)?.stop();
  const rows = document.createElement('div'), empty = document.createElement('p'), more = document.createElement('button');
  empty.className = 'empty';
  empty.textContent = text ? 'No line has this text yet. Matching lines appear here as they are written.' : 'Nothing was printed yet. Lines appear here as they are written.';
  more.className = 'more';
  more.hidden = true;
  box.append(empty, rows, more);

  const single = name === 'panel';
  if (single) { kept.delete(of[0]); box.classList.add('single'); }

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
    const now = coming.splice(0, AT_ONCE).map(e => e.read());
    if (single) kept.set(of[0], [...kept.get(of[0]) || [], ...now].slice(-KEPT));
    rows.append(...now.map(e => rowOf(e, text, single)));
    fitColumns(box, now, single);
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

// fitColumns makes the columns as wide as what is in them, and has one for levels where a line has one.
function fitColumns(box, added, single) {
  const wide = box.columns ||= {time: 8, from: 0};
  for (const e of added) for (const [column, n] of Object.entries(widthOf(e, single))) wide[column] = Math.max(wide[column] || 0, n);
  for (const [column, n] of Object.entries(wide)) box.style.setProperty('--' + column, (n && n + 1) + 'ch');
}
