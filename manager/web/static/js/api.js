// The manager's API, as it is documented at /docs.

const BASE = '/api/v1';
const FROM_PAGE = {'Toskose-Page': '1'};

// Problem is an answer that is none of success.
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || body.title || 'The manager answered with status ' + status + '.');
    this.status = status;
    this.body = body;
  }
}

// Unreachable is the lack of an answer.
export class Unreachable extends Error {}

export async function call(method, path, {body, headers, signal} = {}) {
  let answer;
  try {
    answer = await fetch(BASE + path, {
      method, signal, credentials: 'same-origin', cache: 'no-store',
      headers: {...FROM_PAGE, ...(body ? {'Content-Type': 'application/json'} : {}), ...headers},
      body: body && JSON.stringify(body),
    });
  } catch (err) {
    if (err.name === 'AbortError') throw err;
    throw new Unreachable('The manager does not answer.');
  }
  const text = await answer.text();
  let parsed = {};
  try { parsed = JSON.parse(text); } catch { /* an answer of something between us */ }
  if (!answer.ok) throw new Problem(answer.status, parsed);
  return parsed;
}

export const get = (path, options) => call('GET', path, options);

// signIn sends a password or a token once; from then on there is a cookie that no script reads.
export function signIn({user, password, token}) {
  const bytes = new TextEncoder().encode(token ?? user + ':' + password);
  const text = String.fromCharCode(...bytes);
  return call('POST', '/session', {headers: {Authorization: token === undefined ? 'Basic ' + btoa(text) : 'Bearer ' + text}});
}

// run asks for an operation. The key makes a repeated request the same one.
export function run(node, component, operation, {inputs, replica, force} = {}) {
  const query = new URLSearchParams();
  if (replica) query.set('replica', replica);
  if (force) query.set('force', 'true');
  const path = '/node/' + [node, component, operation].map(encodeURIComponent).join('/') + (query.size ? '?' + query : '');
  const key = crypto.getRandomValues(new Uint32Array(4)).join('-');
  return call('POST', path, {body: inputs && {inputs}, headers: {Prefer: 'respond-async', 'Idempotency-Key': key}});
}

// follow reads server-sent events until it is stopped, and goes on after a break where
// it was. `changed` is told whether there is a connection.
export function follow(path, {event, changed, refused}) {
  const stop = new AbortController();
  let last = '', pause = 250;
  const once = async () => {
    const headers = {...FROM_PAGE, Accept: 'text/event-stream'};
    if (last) headers['Last-Event-ID'] = last;
    const answer = await fetch(BASE + path, {headers, signal: stop.signal, credentials: 'same-origin', cache: 'no-store'});
    if (!answer.ok) {
      let body = {};
      try { body = await answer.json(); } catch { /* not the manager's */ }
      throw new Problem(answer.status, body);
    }
    changed?.(true);
    pause = 250;
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const {value, done} = await reader.read();
      if (done) return;
      const blocks = (rest + value).split('\n\n');
      rest = blocks.pop();
      const all = [];
      for (const block of blocks) {
        const e = {kind: 'message', data: ''};
        for (const line of block.split('\n')) {
          if (line.startsWith('id: ')) last = line.slice(4);
          else if (line.startsWith('event: ')) e.kind = line.slice(7);
          else if (line.startsWith('data: ')) e.data += line.slice(6);
        }
        if (e.data) all.push({kind: e.kind, ...JSON.parse(e.data)});
      }
      if (all.length) event(all);
    }
  };
  (async () => {
    while (!stop.signal.aborted) {
      try {
        await once();
      } catch (err) {
        if (stop.signal.aborted) return;
        if (err instanceof Problem && err.status < 500 && err.status !== 429) { refused?.(err); return; }
      }
      if (stop.signal.aborted) return;
      changed?.(false);
      await new Promise(done => setTimeout(done, pause));
      pause = Math.min(pause * 2, 4000);
    }
  })();
  return () => stop.abort();
}
