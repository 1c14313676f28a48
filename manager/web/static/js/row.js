// A line of a log: its time, where it is from, its level and its text, in columns.

import {bare, whenOf} from './words.js';

const ESCAPES = /\u001b\[[0-9;?]*[A-Za-z]/g, LONGEST = 24; // of a source, in characters

const NAMES = 'fatal|panic|critical|crit|error|err|warning|warn|notice|info|debug|trace';
const MARKED = new RegExp(`\\b(${NAMES.toUpperCase()})\\b`);
const FIELD = new RegExp(`(?:\\b(?:level|lvl|severity)["']?\\s*[=:]\\s*["']?|\\[)(${NAMES})\\b|^(${NAMES}):`, 'i');
const LEVELS = {fatal: 'error', panic: 'error', critical: 'error', crit: 'error', err: 'error', error: 'error', warning: 'warn', warn: 'warn', notice: 'info', info: 'info', debug: 'debug', trace: 'debug'};
const NEAR = 100; // characters from the beginning in which a level is

// levelOf returns the level that a line names: ERROR, level=error, [error] or error: at its beginning.
export function levelOf(line) {
  const begin = line.slice(0, NEAR), found = FIELD.exec(begin) || MARKED.exec(begin);
  return found ? LEVELS[(found[1] || found[2]).toLowerCase()] : '';
}

const sourceOf = (e, single) => (single ? '' : e.component + ' ') + bare(e.operation || '');

// widthOf returns how many characters wide the columns of a line are.
export function widthOf(e, single) {
  if (e.kind !== 'line') return {};
  return {time: whenOf(e.time).length, from: Math.min(LONGEST, sourceOf(e, single).length), level: levelOf(textOf(e)).length && 5};
}

// rowOf makes the element of a line, in which text is marked.
export function rowOf(e, text, single) {
  const p = document.createElement('p');
  if (e.kind !== 'line') {
    p.className = 'note';
    p.textContent = e.why || e.kind;
    return p;
  }
  const line = textOf(e).replace(ESCAPES, ''), level = levelOf(line);
  const from = made('b', sourceOf(e, single));
  from.title = `${e.component} ${bare(e.operation)} in ${e.node}, ${e.replica}`;
  p.className = e.stream;
  if (e.stream === 'stderr') p.title = 'stderr';
  const what = made('span', '');
  what.className = 'text';
  what.append(...marked(line, text));
  const mark = made('i', level);
  mark.className = 'level ' + level;
  p.append(made('time', whenOf(e.time)), ' ', from, ' ', mark, ' ', what);
  return p;
}

const made = (tag, text) => Object.assign(document.createElement(tag), {textContent: text});

// marked is a line with what was searched for marked in it.
function marked(line, text) {
  const at = text ? line.toLowerCase().indexOf(text.toLowerCase()) : -1;
  if (at < 0) return [line];
  const mark = document.createElement('mark'), end = at + text.length;
  mark.textContent = line.slice(at, end);
  return [line.slice(0, at), mark, ...marked(line.slice(end), text)];
}

const textOf = e => e.line ?? new TextDecoder().decode(Uint8Array.from(atob(e.base64), c => c.charCodeAt(0)));
