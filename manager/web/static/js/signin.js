import {h} from './dom.js';
import {signIn, Problem} from './api.js';
import {state, begin, changed, tellOtherPages} from './store.js';

let refused = '', asking = false, byToken = false;

// signInForm asks for what the API takes: a user and password, or a token.
export function signInForm() {
  const mode = byToken ? 'token' : 'password';
  return h('main', {class: 'alone'}, h('form', {class: 'signin', key: mode, onSubmit: submit, 'aria-label': byToken ? 'Sign in with a token' : 'Sign in'},
    h('h1', null, 'Toskose'),
    state.ended && !refused && h('p', {class: 'ended', role: 'status'}, 'You were signed out: the session has expired, or the user was changed.'),
    byToken ?
      h('label', null, 'Token', h('input', {name: 'token', type: 'password', autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false', required: true, placeholder: 'toskose1.…', made: focus})) :
      [h('label', null, 'User', h('input', {name: 'user', autocomplete: 'username', text: 'admin', required: true, autocapitalize: 'none', spellcheck: 'false'})),
        h('label', null, 'Password', h('input', {name: 'password', type: 'password', autocomplete: 'current-password', required: true, made: focus}))],
    h('p', {class: 'refused', role: 'alert'}, refused),
    h('button', {class: 'main', disabled: asking}, asking ? 'Signing in …' : 'Sign in'),
    h('button', {class: 'quiet', type: 'button', onClick: turn}, byToken ? 'Use a password instead' : 'Use a token instead'),
    h('p', {class: 'hint'}, byToken ?
      ['A token is what ', h('code', null, 'POST /api/v1/tokens'), ' answers. You stay signed in until it ends.'] :
      ['The password of admin is in ', h('code', null, 'secrets/netrc'), ', in the folder that packaging wrote. You stay signed in for an hour.'])));
}

const focus = field => field.focus();

function turn() {
  byToken = !byToken;
  refused = '';
  changed();
}

async function submit(e) {
  e.preventDefault();
  const form = e.target, secret = byToken ? form.token : form.password;
  const given = byToken ? {token: secret.value.trim()} : {user: form.user.value, password: secret.value};
  asking = true;
  changed();
  try {
    await signIn(given);
    refused = '';
    secret.value = '';
    tellOtherPages();
    await begin();
  } catch (err) {
    secret.value = '';
    secret.focus();
    refused = !(err instanceof Problem) || err.status !== 401 ? err.message :
      byToken ? 'This token is not valid. Tokens expire after an hour.' : 'Wrong user or password.';
  }
  asking = false;
  changed();
}
