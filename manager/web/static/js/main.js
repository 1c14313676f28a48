// The page: its head, and the view that the address names.

import {h, memo, render, say} from './dom.js';
import {call, sessionKey} from './api.js';
import {state, watch, changed, begin, end, tellOtherPages} from './store.js';
import {signInForm} from './signin.js';
import {topology} from './topology.js';
import {arrowheads} from './boxes.js';
import {list} from './list.js';
import {component} from './component.js';
import {goal, goalChip} from './goal.js';
import {activity, execution, latest} from './activity.js';
import {logs} from './logs.js';
import {openSearch} from './search.js';
import {lastHour} from './series.js';
import {troubleBar} from './trouble.js';
import './announce.js';

const VIEWS = [
  {at: '', name: 'Topology', show: topology},
  {at: 'components', name: 'Components', show: list},
  {at: 'goal', name: 'Goal', show: goal},
  {at: 'activity', name: 'Activity', show: activity},
  {at: 'logs', name: 'Logs', show: logs},
];

// place reads the address: #/component/backend/api, #/logs?of=backend/api.
function place() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  const parts = path.split('/').map(decoded);
  return {view: parts[0], parts: parts.slice(1), query: new URLSearchParams(query)};
}

// decoded takes what is not encoded as it should be as it is.
function decoded(part) {
  try { return decodeURIComponent(part); } catch { return part; }
}

const wide = matchMedia('(min-width: 1200px)'); // for a column beside the topology
wide.onchange = changed;

function draw() {
  const page = document.getElementById('page');
  if (state.session === null) { document.title = 'Sign in · Toskose'; render(page, signInForm()); return; }
  if (!state.drawing) { render(page, notYet()); return; }
  const at = place();
  const opened = at.view === 'component';
  const shown = VIEWS.find(v => v.at === at.view) || (opened ? VIEWS[0] : null);
  const side = shown === VIEWS[0] && !opened && wide.matches;
  document.title = (opened ? at.parts[1] : at.view === 'execution' ? 'Execution' : shown ? shown.name : 'Nothing') + ' · ' + state.drawing.name;
  render(page,
    h('a', {class: 'skip', href: '#main', onClick: e => { e.preventDefault(); document.getElementById('main').focus(); }}, 'Skip to the content'),
    arrowheads(),
    head(at, shown),
    state.connected ? null : h('p', {class: 'offline', role: 'alert', key: 'offline'}, 'No connection to the manager. The page shows the last known state, and reconnects by itself.'),
    troubleBar(),
    h('div', {class: opened ? 'views with-panel' : side ? 'views with-side' : 'views'},
      h('main', {id: 'main', tabindex: '-1', key: 'main-' + (opened ? '' : at.view)}, body(at, shown)),
      opened && h('aside', {class: 'panel', key: 'panel-' + at.parts.join('/'), 'aria-label': 'Component ' + at.parts[1]}, component(at.parts[0], at.parts[1], at.query.get('operation'))),
      side && h('aside', {class: 'side', key: 'side', 'aria-label': 'Last hour and activity'}, h('section', null, h('h2', null, 'Last hour'), lastHour()), latest(15))));
}

function notYet() {
  const why = state.problem ? [h('p', {role: 'alert'}, state.problem), h('p', null, 'The page tries again every two seconds. If this message remains, check whether the container of the manager is running.')] : h('p', null, 'Reading the application …');
  return h('main', {class: 'alone'}, h('div', {class: 'empty'}, h('h1', null, 'Toskose'), why));
}

function body(at, shown) {
  if (at.view === 'execution') return execution(at.parts[0]);
  if (shown) return shown.show(at);
  return h('div', {class: 'empty'}, h('h1', null, 'There is no such view'), h('p', null, h('a', {href: '#/'}, 'To the topology')));
}

function head(at, shown) {
  const {name, version} = state.drawing;
  return h('header', null,
    h('a', {class: 'brand', href: '#/'}, h('strong', null, name), version && h('span', null, version)),
    h('nav', {'aria-label': 'Views'}, VIEWS.map(v => h('a', {href: '#/' + v.at, 'aria-current': v === shown ? 'page' : null}, v.name))),
    h('button', {class: 'search', title: 'Search: / or Ctrl-K', 'aria-label': 'Search', onClick: find}, h('span', {class: 'word'}, 'Search '), h('kbd', null, '/'), h('svg', {viewBox: '0 0 16 16', 'aria-hidden': 'true'}, h('path', {d: 'M7,2 a5,5 0 1 0 .01,0 M10.6,10.6 L14.5,14.5'}))),
    goalChip(),
    h('div', {class: 'user'},
      memo('who', [state.session.user, state.session.role], () => h('span', null, state.session.user, ' ', h('small', null, state.session.role))),
      h('button', {class: 'quiet', onClick: signOut}, 'Sign out')));
}

async function signOut() {
  try { await call('DELETE', '/session'); } catch (err) { say(err.message, 'bad'); return; }
  sessionKey.set('');
  end();
  tellOtherPages();
  location.hash = '#/';
}

// What drawing costs is on the browser's own time line.
watch(() => {
  const start = performance.now();
  draw();
  performance.measure('draw', {start});
  performance.clearMeasures('draw');
  if (toFocus && state.drawing) { const at = document.querySelector(toFocus); (at?.closest('a') || at)?.focus({preventScroll: true}); toFocus = ''; }
});

// Who opens a component goes on in it, and who closes it is where they were.
let toFocus = '', before = place();
addEventListener('hashchange', () => {
  const now = place(), opened = now.view === 'component';
  if (opened) toFocus = '.panel h1';
  else if (before.view === 'component') toFocus = `[data-box="${CSS.escape(before.parts[1])}"]`;
  before = now;
  scrollTo(0, 0);
  changed();
});
addEventListener('keydown', e => { if (e.key === 'Escape' && !document.querySelector('dialog[open]') && place().view === 'component' && !e.target.closest?.('input')) location.hash = '#/'; });
const find = () => openSearch([...VIEWS.map(v => ({kind: 'view', name: v.name, act: () => { location.hash = '#/' + v.at; }})), {kind: 'action', name: 'Sign out', act: signOut}]);
addEventListener('keydown', e => {
  const typing = e.target.closest?.('input, select, textarea, dialog');
  if (e.key === '/' && !typing && !e.ctrlKey && !e.metaKey && !e.altKey || e.key === 'k' && (e.ctrlKey || e.metaKey)) { e.preventDefault(); find(); }
});
setInterval(changed, 1000); // ages
begin();
