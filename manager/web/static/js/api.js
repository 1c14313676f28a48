// The manager's API, as it is documented at /docs.

import {hear} from './clock.js';

const BASE = '/api/v1';
const PATIENCE = 75000; // ms; the longest that a request asks to wait is a minute

// Problem is an answer that is none of success. What stands between us and the manager may
// have given it: that has no body of the manager's.
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || body.title || 'The manager answered with status ' + status + '.');
    this.status = status;
    this.ours = body.status === status;
  }
}

// The key of the session: the cookie alone is not enough, as browsers send it to every port of
// this host. Only pages of this origin read it here.
const KEY = 'toskose-session-key';
export const sessionKey = {
  get: () => sessionStorage.getItem(KEY) || '',
  set: key => key ? sessionStorage.setItem(KEY, key) : sessionStorage.removeItem(KEY),
};

// ask sends a request, and returns an answer of success.
export async function ask(path, {headers, ...rest}) {
  let answer;
  try {
    answer = await fetch(BASE + path, {...rest, credentials: 'same-origin', cache: 'no-store', headers: {'Toskose-Page': '1', ...(sessionKey.get() ? {'Toskose-Session-Key': sessionKey.get()} : {}), ...headers}});
  } catch (err) {
    throw new Error('The manager does not answer.', {cause: err});
  }
  hear(answer.headers.get('Date'));
  if (answer.ok) return answer;
  let body = {};
  try { body = await answer.json(); } catch { /* an answer of something between us */ }
  throw new Problem(answer.status, body);
}

export async function call(method, path, {body, headers} = {}) {
  const answer = await ask(path, {
    method, signal: AbortSignal.timeout(PATIENCE), body: body && JSON.stringify(body),
    headers: {...(body ? {'Content-Type': 'application/json'} : {}), ...headers},
  });
  try { return await answer.json(); } catch (err) { throw new Error('The manager\'s answer is not whole.', {cause: err}); }
}

export const get = (path, options) => call('GET', path, options);

// signIn sends a password or a token once; from then on there is a cookie that no script reads,
// and its key.
export async function signIn({user, password, token}) {
  const bytes = new TextEncoder().encode(token ?? user + ':' + password);
  const text = String.fromCharCode(...bytes);
  const session = await call('POST', '/session', {headers: {Authorization: token === undefined ? 'Basic ' + btoa(text) : 'Bearer ' + text}});
  sessionKey.set(session.key);
  return session;
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
