"use strict";

const REFRESH = 4000; // milliseconds between two looks at the API

const $ = (id) => document.getElementById(id);
let shown = ""; // the list on the page, to leave it alone when nothing changed

async function api(method, path, body) {
  const answer = await fetch("api" + path, {
    method,
    headers: body ? { "Content-Type": "application/json" } : {},
    body: body ? JSON.stringify(body) : undefined,
  });
  const data = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(data.error || `the API answered ${answer.status}`);
  return data;
}

function ago(at) {
  const seconds = Math.round((Date.now() - new Date(at)) / 1000);
  const format = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  if (seconds < 10) return "just now";
  if (seconds < 60) return format.format(-seconds, "second");
  if (seconds < 3600) return format.format(-Math.round(seconds / 60), "minute");
  if (seconds < 86400) return format.format(-Math.round(seconds / 3600), "hour");
  return format.format(-Math.round(seconds / 86400), "day");
}

function show(thoughts) {
  const key = JSON.stringify(thoughts);
  if (key !== shown) {
    shown = key;
    // What people wrote goes into the page as text, never as HTML.
    $("thoughts").replaceChildren(...thoughts.map((thought) => {
      const item = $("thought").content.cloneNode(true);
      item.querySelector(".text").textContent = thought.text;
      item.querySelector(".author").textContent = thought.author;
      const time = item.querySelector("time");
      time.dateTime = thought.at;
      time.title = new Date(thought.at).toLocaleString();
      return item;
    }));
    $("count").textContent = thoughts.length ? `(${thoughts.length})` : "";
    $("empty").hidden = thoughts.length > 0;
  }
  for (const time of document.querySelectorAll("time")) time.textContent = ago(time.dateTime);
}

function say(state, text) {
  $("status").dataset.state = state;
  if ($("status").textContent !== text) $("status").textContent = text;
}

async function refresh() {
  try {
    show((await api("GET", "/thoughts")).thoughts);
    say("up", "the API answers");
  } catch (err) {
    say("down", "the API is away");
    $("status").title = err.message;
  }
}

async function share(event) {
  event.preventDefault();
  const form = event.target;
  const button = form.querySelector("button");
  button.disabled = true;
  $("error").hidden = true;
  try {
    await api("POST", "/thoughts", { text: form.text.value, author: form.author.value });
    form.text.value = "";
    count();
    await refresh();
  } catch (err) {
    $("error").textContent = `Your thought is not shared: ${err.message}. It is still here; try again.`;
    $("error").hidden = false;
  } finally {
    button.disabled = false;
    form.text.focus();
  }
}

function count() {
  $("left").textContent = 500 - $("text").value.length;
}

$("share").addEventListener("submit", share);
$("text").addEventListener("input", count);
$("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) $("share").requestSubmit();
});
document.addEventListener("visibilitychange", () => document.hidden || refresh());
setInterval(() => document.hidden || refresh(), REFRESH);
refresh();
