// What changes, said to those who listen to the page: politely, together, and no number that
// only counts.

import {state, watch} from './store.js';
import {toneOf} from './tone.js';
import {stateName} from './words.js';
import {called} from './goal.js';

const MOST = 3; // are said by name
const known = new Map();
let waiting = 0, goal;

watch(() => {
  if (!known.size && state.components.size) tell(); // as it is when somebody comes
  waiting ||= setTimeout(tell, 700);
});

function tell() {
  clearTimeout(waiting);
  waiting = 0;
  if (!state.session || !state.components.size) { known.clear(); goal = undefined; return; }
  const first = !known.size, news = [];
  for (const c of state.components.values()) {
    const now = (c.task ? c.task.phase : stateName(c.state)) + (toneOf(c) === 'bad' ? ', in trouble' : '');
    if (known.get(c.name) !== now && !first) news.push([c.name, now]);
    known.set(c.name, now);
  }
  const text = news.length > MOST ? [`${news.length} components have changed.`] : news.map(([name, now]) => `${name} is ${now}.`);
  const reached = state.goal ? called(state.goal) + (state.goal.done ? ' is reached.' : ' is on its way.') : undefined;
  if (goal !== undefined && reached !== goal && called(state.goal) !== 'none') text.push('The goal ' + reached);
  goal = reached;
  if (text.length) document.getElementById('heard').textContent = text.join(' ');
}
