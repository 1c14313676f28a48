// Server-sent events, which go on after a break where they were.

import {ask, Problem} from './api.js';

const QUIET = 40000; // ms: the manager says every fifteen seconds that it is still here
const FIRST = 250, LONGEST = 4000; // ms between attempts

// A browser has six connections to a host, for all its pages there: one that nobody has looked
// at for some time gives its own back, and goes on when somebody does.
const UNSEEN = 10000; // ms
const streams = new Set(), waiting = [];
let unseen = false, leaving = 0;

function look() {
  clearTimeout(leaving);
  if (document.hidden) { leaving = setTimeout(() => { unseen = true; for (const cut of streams) cut(); }, UNSEEN); return; }
  unseen = false;
  for (const goOn of waiting.splice(0)) goOn();
}
document.addEventListener('visibilitychange', look);
look();

// follow reads events until it is stopped. `event` gets those that have come together, each with
// a function that reads it: of very many, some never are. `changed` is told whether there is a connection:
// one that is there again at once was not lost.
export function follow(path, {event, changed, refused}) {
  let ended = false, attempt, last = '', pause = FIRST;
  const cut = () => attempt?.abort();
  streams.add(cut);
  const read = async () => {
    attempt = new AbortController();
    let alarm = setTimeout(cut, QUIET);
    try {
      const headers = {Accept: 'text/event-stream', ...(last ? {'Last-Event-ID': last} : {})};
      const answer = await ask(path, {headers, signal: attempt.signal});
      changed?.(true);
      pause = FIRST;
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ''; ;) {
        const {value, done} = await reader.read();
        if (done) return;
        clearTimeout(alarm);
        alarm = setTimeout(cut, QUIET);
        const blocks = (rest + value).split('\n\n');
        rest = blocks.pop();
        const all = [];
        for (const block of blocks) {
          const {id, data, kind} = parse(block);
          if (id) last = id;
          if (data) all.push({kind, read: () => ({kind, ...JSON.parse(data)})});
        }
        if (all.length) event(all);
      }
    } finally { clearTimeout(alarm); }
  };
  (async () => {
    while (!ended) {
      if (unseen) { await new Promise(goOn => waiting.push(goOn)); continue; }
      try {
        await read();
      } catch (err) {
        if (!ended && err instanceof Problem && err.ours && err.status < 500 && err.status !== 429) {
          streams.delete(cut);
          refused?.(err);
          return;
        }
      }
      if (ended) return;
      if (unseen) continue;
      if (pause > FIRST) changed?.(false);
      await new Promise(done => setTimeout(done, pause));
      pause = Math.min(pause * 2, LONGEST);
    }
  })();
  return () => { ended = true; streams.delete(cut); cut(); };
}

function parse(block) {
  const e = {id: '', kind: 'message', data: ''};
  for (const line of block.split('\n')) {
    if (line.startsWith('id: ')) e.id = line.slice(4);
    else if (line.startsWith('event: ')) e.kind = line.slice(7);
    else if (line.startsWith('data: ')) e.data += line.slice(6);
  }
  return e;
}
