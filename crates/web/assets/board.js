// A channel while it goes on. Without this, the page is as it was when it was loaded, and its forms do what they say.
const board = document.getElementById("board");
const list = document.getElementById("messages");
const form = document.getElementById("box");
const field = form.elements.body;
const people = document.getElementById("people");
const one = (css) => board.querySelector(css);
const [scroll, lost, fresh] = [one(".scroll"), one("[data-lost]"), one("[data-new]")];
const { channel, me } = board.dataset;
const path = `/board/${channel}`;
const heading = document.title;

const SILENCE_MAX = 25000; // Longer than the server ever says nothing: it sends a heartbeat each 15 seconds.
const POLL = 5000;
const ASK_MAX = 15000;
const SHOWN_MAX = 500;
const PAUSE_MAX = 30000;

const ended = new AbortController();
const wait = (time) => new Promise((done) => setTimeout(done, time));
const ask = (url, more) => fetch(url, { ...more, signal: AbortSignal.timeout(ASK_MAX) });
const make = (html) => {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.firstElementChild;
};
const element = (tag, className, text = "") => {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
};
const tell = (text, link) => {
  lost.textContent = text;
  if (link) lost.append(" ", Object.assign(element("a", "", "Sign in"), { href: link }));
  lost.hidden = false;
};
const end = (why) => {
  if (ended.signal.aborted) return;
  ended.abort();
  tell(why, `/login?next=${path}`);
};

// What this page has of each origin, as the server's cursors say it.
const parsed = (text) => new Map(text ? text.split(",").map((entry) => entry.split(":").map(Number)) : []);
const written = () => [...cursor].map((entry) => entry.join(":")).join();
const cursor = parsed(board.dataset.cursor);
const numbers = (id) => id.split(":").map(Number);
// Something may have come meanwhile: what this page has, it keeps. Origin 0 names what is folded.
const advance = (to) => {
  for (const [origin, seq] of to) if (!origin || seq > (cursor.get(origin) ?? 0)) cursor.set(origin, seq);
};
const has = (id) => {
  const [origin, seq] = numbers(id);
  return seq <= (cursor.get(origin) ?? 0);
};

// Times as this visitor writes them, and what names or is of this visitor.
const english = navigator.languages.find((language) => language.startsWith("en")) ?? "en-GB";
const clock = new Intl.DateTimeFormat(english, { timeStyle: "short" });
const moment = new Intl.DateTimeFormat(english, { day: "numeric", month: "short", hour: "numeric", minute: "numeric" });
const dress = (item) => {
  const time = item.querySelector("time");
  const at = new Date(time.dateTime);
  time.textContent = (at.toDateString() === new Date().toDateString() ? clock : moment).format(at);
  for (const mention of item.querySelectorAll(".mention")) {
    const isMine = mention.textContent.slice(1).toLowerCase() === me;
    mention.classList.toggle("mine", isMine);
    if (isMine) item.classList.add("me");
  }
  return item;
};
const mark = (button, isMine) => {
  button.name = isMine ? "unreact" : "react";
  button.setAttribute("aria-pressed", isMine);
};

// All readers show the same order.
const key = (item) => [item.querySelector("time").dateTime, ...numbers(item.id.slice(1))];
const isBefore = (one, other) => {
  const [a, b] = [key(one), key(other)];
  const place = a.findIndex((part, index) => part !== b[index]);
  return a[place] < b[place];
};
const insert = (item) => {
  let before = [...list.children].findLast((other) => other.id && isBefore(other, item));
  while (before?.nextElementSibling && !before.nextElementSibling.id) before = before.nextElementSibling;
  if (before) before.after(item);
  else list.prepend(item);
};

// Where the reader is, and what they have not seen.
let unread = 0, seen = written(), reading;
const isAtEnd = () => scroll.scrollTop > -40;
// The first go, and are found where older ones are.
const trim = () => {
  while (list.children.length > SHOWN_MAX) list.firstElementChild.remove();
  const first = [...list.children].find((item) => item.id);
  let older = one("[rel=prev]");
  if (!older) {
    older = Object.assign(element("a", "button quiet", "Older"), { rel: "prev" });
    const nav = element("nav", "pager");
    nav.append(older);
    list.before(nav);
  }
  if (first) older.href = `${path}?before=${first.id.slice(1)}`;
};
const keepPlace = (work) => {
  const [wasAtEnd, height] = [isAtEnd(), scroll.scrollHeight];
  work();
  one("[data-empty]")?.remove();
  if (!wasAtEnd) scroll.scrollTop -= scroll.scrollHeight - height;
  else if (list.children.length > SHOWN_MAX) trim();
};
const count = (more) => {
  unread = !document.hidden && isAtEnd() ? 0 : unread + more;
  document.title = unread ? `(${unread}) ${heading}` : heading;
  fresh.hidden = !unread || isAtEnd();
  fresh.textContent = `${unread} new`;
  if (unread || seen === written()) return;
  reading ??= setTimeout(() => {
    reading = undefined;
    seen = written();
    ask(`${path}/read`, { method: "POST", body: new URLSearchParams({ cursor: seen }) }).catch(() => {});
  }, 2000);
};
const toEnd = () => {
  scroll.scrollTop = 0;
  count(0);
};
fresh.addEventListener("click", (event) => {
  event.preventDefault();
  toEnd();
});
scroll.addEventListener("scroll", () => count(0));

// What happened.
const apply = ({ id, kind, target, author, html, reaction, removed }) => {
  const [origin, seq] = numbers(id);
  cursor.set(origin, seq);
  const old = document.getElementById(`m${target ?? id}`);
  const isMine = author.username === me && !author.bot;
  if (html && (old || kind === "message")) {
    const item = dress(make(html));
    const mine = new Set([...(old?.querySelectorAll("[name=unreact]") ?? [])].map((button) => button.value));
    if (kind === "reaction" && isMine) mine[removed ? "delete" : "add"](reaction);
    for (const button of item.querySelectorAll(".signs button")) mark(button, mine.has(button.value));
    keepPlace(() => (old ? old.replaceWith(item) : insert(item)));
  }
  // What cannot be read is not read in an answer either.
  if (kind === "hide" || kind === "delete") {
    for (const quote of list.querySelectorAll(`.quote[href="#m${CSS.escape(target)}"]`)) quote.textContent = "…";
  }
  if (kind === "message") {
    confirm(id);
    count(isMine ? 0 : 1);
  } else count(0);
};
const take = (event) => {
  const [origin, seq] = numbers(event.id);
  if (has(event.id)) return;
  if (seq === (cursor.get(origin) ?? 0) + 1) apply(event);
  else {
    again = true;
    catchUp();
  }
};

// Brings what is missing; says whether the server was heard.
let catching, again;
const missing = async () => {
  for (let more = true; more; more ||= again) {
    again = false;
    const answer = await ask(`${path}/since?after=${encodeURIComponent(written())}`);
    if (answer.status === 401) return end("You are signed out.");
    if (answer.status === 403) return end("You may not be here any more.");
    if (!answer.ok) throw new Error(answer.status);
    const page = await answer.json();
    page.events.filter(({ id }) => !has(id)).forEach(apply);
    advance(parsed(page.cursor));
    more = page.more;
  }
};
const catchUp = () =>
  (catching ??= missing()
    .then(() => {
      if (!ended.signal.aborted) lost.hidden = true;
      return true;
    }, () => false)
    .finally(() => (catching = undefined)));

// Who is here.
const keyOf = ({ username, bot }) => (bot ? `bot:${username}` : username);
const faceOf = ({ nickname, picture }) => {
  if (!picture) return Object.assign(element("span", "face", [...nickname][0]?.toUpperCase()), { ariaHidden: "true" });
  return Object.assign(element("img", "face"), { src: picture, width: 36, height: 36, alt: "" });
};
const entry = (person) => {
  const item = element("li", "");
  item.dataset.by = keyOf(person);
  item.append(faceOf(person), " ", element("bdi", "", person.nickname));
  if (person.bot) item.append(" ", element("span", "bot", "BOT"));
  return item;
};
const of = (within, person) => within.querySelectorAll(`:scope > [data-by="${CSS.escape(keyOf(person))}"]`);
const sum = () => (one("[data-count]").textContent = people.children.length);
const announce = (text) => keepPlace(() => list.append(element("li", "quiet", text)));
// Several come at once where a connection was cut that many shared.
const say = (all, where) => {
  sum();
  const names = all.slice(0, 3).map((person) => person.nickname).join(", ");
  const others = all.length > 3 ? ` and ${all.length - 3} others` : "";
  const verb = all.length > 1 ? { here: "are here", gone: "have left" } : { here: "is here", gone: "has left" };
  if (all.length) announce(`${names}${others} ${verb[where]}.`);
};
const frames = {
  message: take,
  people: ({ people: all }) => (people.replaceChildren(...all.map(entry)), sum()),
  join: ({ people: all }) => {
    const come = all.filter((person) => !of(people, person).length);
    people.append(...come.map(entry));
    say(come.filter((person) => keyOf(person) !== me), "here");
  },
  leave: ({ people: all }) => {
    const gone = all.filter((person) => of(people, person).length);
    for (const person of gone) of(people, person).forEach((item) => item.remove());
    say(gone, "gone");
  },
  person: (person) => {
    for (const item of [...of(people, person), ...of(list, person)]) {
      item.querySelector(":scope > bdi, .by bdi").textContent = person.nickname;
      item.querySelector(".face").replaceWith(faceOf(person));
    }
  },
  heartbeat: () => {},
  end: () => end("You are signed out, or may not be here any more."),
};

// One page of a channel hears the server and passes on what it hears; a browser has few connections for a site.
const wire = "BroadcastChannel" in window && navigator.locks && new BroadcastChannel(`lodge-board:${me}:${channel}`);
let silence, polling, source;
const heard = () => {
  lost.hidden = true;
  clearInterval(polling);
  polling = undefined;
  clearTimeout(silence);
  silence = setTimeout(unheard, SILENCE_MAX);
};
const poll = async () => {
  const isHeard = await catchUp();
  if (!isHeard && !ended.signal.aborted) tell("The server cannot be heard. What you write is kept, and sent when it can.");
};
const unheard = () => {
  if (source) listen();
  silence = setTimeout(unheard, SILENCE_MAX);
  polling ??= setInterval(poll, POLL);
  poll();
};
const receive = (kind, data) => {
  if (ended.signal.aborted) return;
  heard();
  frames[kind](data);
};
const listen = () => {
  source?.close();
  const mine = (source = new EventSource(`${path}/live?after=${encodeURIComponent(written())}`));
  for (const kind of Object.keys(frames)) {
    mine.addEventListener(kind, ({ data }) => {
      const told = JSON.parse(data);
      wire?.postMessage?.({ kind, told });
      receive(kind, told);
    });
  }
  mine.addEventListener("error", async () => {
    await poll();
    // A browser tries again by itself, but not after a refusal.
    if (mine.readyState !== EventSource.CLOSED || mine !== source || ended.signal.aborted) return;
    await wait(POLL * (1 + Math.random()));
    if (mine === source && !ended.signal.aborted) listen();
  });
};
ended.signal.addEventListener("abort", () => {
  source?.close();
  clearTimeout(silence);
  clearInterval(polling);
});
const lead = () => new Promise((done) => {
  if (ended.signal.aborted) return done();
  ended.signal.addEventListener("abort", done);
  listen();
});
if (wire) {
  wire.addEventListener("message", ({ data: { kind, told } }) => receive(kind, told));
  navigator.locks.request(`lodge-board:${me}:${channel}`, lead);
  // Whoever leads heard what has come since this page was written.
  catchUp();
} else lead();
silence = setTimeout(unheard, SILENCE_MAX);
document.addEventListener("visibilitychange", () => {
  if (document.hidden || ended.signal.aborted) return;
  count(0);
  catchUp();
});

// What is written is kept until the server has it, also when this page is loaded again.
const kept = (() => {
  try {
    localStorage.setItem("lodge", "");
    return localStorage;
  } catch {
    return sessionStorage;
  }
})();
const prefix = `lodge-board:${me}:${channel}:`;
const waiting = list.parentElement.appendChild(element("ol", "messages"));
const outbox = () =>
  Object.keys(kept).filter((name) => name.startsWith(prefix)).map((name) => JSON.parse(kept.getItem(name)))
    .sort((one, other) => one.at - other.at);
const keep = (letter) => kept.setItem(prefix + letter.client_id, JSON.stringify(letter));
const drop = ({ client_id }) => kept.removeItem(prefix + client_id);
const button = (text, work) => {
  const made = Object.assign(element("button", "button quiet", text), { type: "button" });
  made.addEventListener("click", work);
  return made;
};
const wrong = (letter) => {
  const actions = element("p", "actions");
  const away = (work) => () => {
    drop(letter);
    work?.();
    show();
  };
  const again = () => {
    field.value = letter.body;
    check();
    field.focus();
  };
  actions.append(button("Change", away(again)), button("Discard", away()));
  return [element("p", "error", letter.problem), actions];
};
const show = () => keepPlace(() => {
  waiting.replaceChildren(...outbox().map((letter) => {
    const item = element("li", letter.problem ? "waits failed" : "waits");
    const said = element("div", "said", letter.body);
    const state = letter.id ? "Sent" : letter.problem ? "Not sent" : letter.tries ? "Waiting to be sent" : "Sending";
    said.dir = "auto";
    item.append(said, element("span", "edited", state), ...(letter.problem ? wrong(letter) : []));
    return item;
  }));
});
const confirm = (id) => {
  const letters = outbox().filter((letter) => letter.id === id);
  letters.forEach(drop);
  if (letters.length) show();
};
// Sends one; says in how many milliseconds to try again, if it must be.
const post = async (letter) => {
  const pause = Math.min(PAUSE_MAX, 1000 * 2 ** Math.min(letter.tries, 5));
  const { client_id, body, reply_to } = letter;
  let answer;
  try {
    answer = await ask(path, {
      method: "POST", headers: { Accept: "application/json" }, body: new URLSearchParams({ client_id, body, reply_to, author: me }),
    });
    if (answer.ok) {
      const { id } = await answer.json();
      if (has(id)) drop(letter);
      else keep({ ...letter, id });
      return;
    }
  } catch {
    return pause; // What has come of it is not known; the same again is answered with the first.
  }
  if (answer.status === 401) return end("You are signed out. What you wrote is kept, and sent when you are back.");
  if (answer.status === 429 || answer.status >= 500 || answer.status === 408) {
    return Math.max(pause, 1000 * (Number(answer.headers.get("Retry-After")) || 0));
  }
  const { detail } = await answer.json().catch(() => ({ detail: "It was refused." }));
  keep({ ...letter, problem: detail });
};
const flush = async () => {
  for (let next; (next = outbox().find((letter) => !letter.id && !letter.problem)) && !ended.signal.aborted; ) {
    const pause = await post(next);
    if (pause) keep({ ...next, tries: next.tries + 1 });
    show();
    if (pause) await wait(pause);
  }
};
let flushing;
const send = () => {
  const locked = () => navigator.locks ? navigator.locks.request(`${prefix}send`, flush) : flush();
  flushing = (flushing ?? Promise.resolve()).then(locked, locked);
};
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const id = crypto.getRandomValues(new Uint8Array(16));
  const client_id = [...id].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const reply_to = form.elements.reply_to?.value ?? "";
  try {
    keep({ client_id, body: field.value, reply_to, at: Date.now(), tries: 0 });
  } catch {
    return form.submit(); // There is no room to keep it.
  }
  form.querySelector(".answers")?.remove();
  field.value = "";
  check();
  show();
  toEnd();
  send();
});
addEventListener("storage", show);

// Checked as one types, by the rules of the server.
const hint = document.getElementById("body-hint");
const most = Number(hint.dataset.max);
const usual = hint.textContent;
const check = () => {
  const length = [...field.value.trim()].length;
  const isOdd = /(?![\n\r\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/u.test(field.value);
  const problem = length > most ? `That is ${length - most} too many.` : isOdd ? "A control character is in it." : "";
  field.setCustomValidity(problem || (length ? "" : "Write something first."));
  field.setAttribute("aria-invalid", problem !== "");
  hint.textContent = problem || (length > most - 500 ? `${most - length} characters are left.` : usual);
};
field.addEventListener("input", check);
field.addEventListener("keydown", (event) => {
  const isPlain = event.key === "Enter" && !event.shiftKey && !event.isComposing;
  if (!isPlain || !matchMedia("(pointer: fine)").matches) return;
  event.preventDefault();
  form.requestSubmit();
});

// A sign is put there without leaving the page.
list.addEventListener("submit", async (event) => {
  const [signs, { name, value }] = [event.target, event.submitter];
  event.preventDefault();
  const headers = { Accept: "application/json" };
  const answer = await ask(signs.action, { method: "POST", headers, body: new URLSearchParams({ [name]: value }) }).catch(() => {});
  if (!answer?.ok) location.href = signs.action;
});

for (const item of list.children) dress(item);
for (const letter of outbox()) if (letter.id && has(letter.id)) drop(letter);
check();
show();
if (outbox().length) send();
count(0);
