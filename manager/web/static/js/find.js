// Finding a text in the lines that are shown, without leaving out the others.

import {h} from './dom.js';
import {changed} from './store.js';

const found = {text: '', at: -1, ranges: []};
const MOST = 5000;

// search finds the text in all lines of the box.
function search() {
  const box = document.querySelector('.logs .lines'), wanted = found.text.toLowerCase();
  found.ranges = [];
  if (wanted && box) {
    const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    while (walker.nextNode() && found.ranges.length < MOST) {
      const node = walker.currentNode, line = node.data.toLowerCase();
      if (!node.parentElement.closest('.text')) continue;
      for (let at = line.indexOf(wanted); at >= 0; at = line.indexOf(wanted, at + wanted.length)) {
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, at + wanted.length);
        found.ranges.push(range);
      }
    }
  }
  found.at = Math.min(found.at, found.ranges.length - 1);
  if (!globalThis.CSS?.highlights) return;
  CSS.highlights.set('found', new Highlight(...found.ranges));
  CSS.highlights.set('found-here', new Highlight(...found.ranges.slice(found.at, found.at + 1).filter(() => found.at >= 0)));
}

// go shows the next place, or the one before. Lines come at the end, so the last place is the first to be shown.
function go(step) {
  search();
  const n = found.ranges.length;
  if (!n) { changed(); return; }
  found.at = found.at < 0 ? n - 1 : (found.at + step + n) % n;
  search();
  found.ranges[found.at].startContainer.parentElement.scrollIntoView({block: 'center'});
  changed();
}

// findField is the field with the number of places, and the buttons to go from one to another.
export function findField() {
  if (found.text) requestAnimationFrame(search);
  const n = found.ranges.length;
  return h('div', {class: 'field find'}, h('label', null, 'Find ', h('input', {name: 'find', type: 'search', placeholder: 'text', text: found.text,
    onInput: e => { found.text = e.target.value; found.at = -1; search(); changed(); },
    onKeydown: e => { if (e.key === 'Enter') { e.preventDefault(); go(e.shiftKey ? 1 : -1); } }})),
  h('button', {class: 'quiet', 'aria-label': 'Previous place', disabled: !n, onClick: () => go(-1)}, '↑'),
  h('button', {class: 'quiet', 'aria-label': 'Next place', disabled: !n, onClick: () => go(1)}, '↓'),
  h('span', {class: 'muted', role: 'status'}, found.text && (n ? `${found.at < 0 ? n : found.at + 1 + ' of ' + n}` : 'not found')));
}
