// How things are said.

import {now} from './clock.js';

export const ROLES = {viewer: 0, operator: 1, admin: 2};

const clock = new Intl.DateTimeFormat([], {hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23'});
const day = new Intl.DateTimeFormat([], {weekday: 'long', day: 'numeric', month: 'long'});

const date = new Intl.DateTimeFormat([], {day: 'numeric', month: 'short'});
const TODAY = 'Today';

export const timeOf = text => clock.format(new Date(text));

export function dayOf(text) {
  const at = new Date(text);
  return at.toDateString() === new Date(now()).toDateString() ? TODAY : day.format(at);
}

// whenOf is a time, with its day where that is another.
export function whenOf(text) {
  const time = timeOf(text);
  return dayOf(text) === TODAY ? time : date.format(new Date(text)) + ', ' + time;
}

// spent says how long something took, in the unit that suits it.
export function spent(ms) {
  if (ms < 1000) return Math.max(0, Math.round(ms)) + ' ms';
  if (ms < 60000) return (ms / 1000).toFixed(1) + ' s';
  const minutes = Math.floor(ms / 60000);
  if (minutes < 60) return minutes + ' min ' + Math.floor(ms % 60000 / 1000) + ' s';
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? hours + ' h ' + minutes % 60 + ' min' : Math.floor(hours / 24) + ' days';
}

export function bytes(n) {
  if (n < 1e6) return Math.round(n / 1e3) + ' kB';
  if (n < 1e9) return (n / 1e6).toFixed(n < 1e7 ? 1 : 0) + ' MB';
  return (n / 1e9).toFixed(1) + ' GB';
}

export const percent = p => (p < 10 ? p.toFixed(1) : Math.round(p)) + ' %';

// bare leaves out the interfaces that all components have, or all programs.
export const bare = operation => operation.replace(/^(Standard|Program)\./, '');

export const SIGNS = {ok: '●', idle: '○', busy: '◐', warn: '▲', bad: '✕'};
const MEANINGS = {ok: 'up', idle: 'not up', busy: 'working', warn: 'needs a look', bad: 'in trouble'};
export const meaning = (tone, n = 1) => tone === 'warn' && n > 1 ? 'need a look' : MEANINGS[tone];

// lackTexts say what a component misses: in one sentence what is missed for the same reason.
export function lackTexts(lacks) {
  const all = new Map();
  for (const l of lacks) {
    const rest = (l.provider ? ' of ' + l.provider : '') + (l.why ? ': ' + l.why : '');
    all.set(l.component + rest, {...l, rest, what: [...all.get(l.component + rest)?.what || [], l.requirement]});
  }
  return [...all.values()].map(l => l.component + ' lacks ' + [...new Set(l.what)].join(' and ') + l.rest);
}

// lasted is for how long something has been so, in whole seconds: it is told anew all the time.
export function lasted(since) {
  const ms = now() - new Date(since);
  return ms < 1000 ? 'just now' : 'for ' + (ms < 60000 ? Math.floor(ms / 1000) + ' s' : spent(ms));
}

// plain is a sentence of the manager's without the interface that all components have.
export const plain = text => text.replace(/\b(Standard|Program)\./g, '');

// obstacleText is what is in the way, with the time as clocks here have it.
export const obstacleText = o => plain(o.reason).replace(/; (it is tried again|next try) at \S+( UTC)?$/, '') + (o.until || o.next ? ', tried again at ' + whenOf(o.until || o.next) : '');

export const OUTCOMES = {succeeded: 'ok', running: 'busy', cancelled: 'idle', failed: 'bad', timeout: 'bad', lost: 'bad', refused: 'warn', unreachable: 'bad'};

// PHASES are those of tasks and of their indexes.
export const PHASES = {waiting: 'idle', running: 'busy', retrying: 'warn', completed: 'ok', failed: 'bad'};

// sharePart says how much of a task is completed; standing, in which state a component is.
export const sharePart = t => t.completed + ' of ' + t.completions;
export const standing = c => stateName(c.state) + (c.task ? ', ' + sharePart(c.task) : '');

// stateName is what people call a state.
export const stateName = name => name === 'deleted' ? 'not created' : name;

// partOf is the index of a task that an execution is of.
export const partOf = x => x.part ? '[' + x.part.index + ']' : '';

// named is the full name of an operation, and linkTo where a component is shown.
export const named = o => o.interface + '.' + o.operation;
export const linkTo = c => '#/component/' + encodeURIComponent(c.node) + '/' + encodeURIComponent(c.name);
