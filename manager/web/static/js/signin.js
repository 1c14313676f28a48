import {h} from './dom.js';
import {signIn, Problem} from './api.js';
import {begin, changed} from './store.js';

let refused = '', asking = false;

// signInForm asks for the user and password of the API.
export function signInForm() {
  return h('main', {class: 'alone'}, h('form', {class: 'signin', onSubmit: submit, 'aria-label': 'Sign in'},
    h('h1', null, 'Toskose'),
    h('label', null, 'User', h('input', {name: 'user', autocomplete: 'username', text: 'admin', required: true, autocapitalize: 'none', spellcheck: 'false'})),
    h('label', null, 'Password', h('input', {name: 'password', type: 'password', autocomplete: 'current-password', required: true, made: e => e.focus()})),
    h('p', {class: 'refused', role: 'alert'}, refused),
    h('button', {class: 'main', disabled: asking}, 'Sign in'),
    h('p', {class: 'hint'}, 'The password of admin is in secrets/netrc, in the folder that packaging wrote. You stay signed in for an hour.')));
}

async function submit(e) {
  e.preventDefault();
  const form = e.target;
  asking = true;
  changed();
  try {
    await signIn(form.user.value, form.password.value);
    refused = '';
    form.password.value = '';
    await begin();
  } catch (err) {
    form.password.value = '';
    form.password.focus();
    refused = err instanceof Problem && err.status === 401 ? 'This user and password do not fit.' : err.message;
  }
  asking = false;
  changed();
}
