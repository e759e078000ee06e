// A channel while it goes on. Without this, the page is as it was when it was loaded, and its forms do what they say.
const board = document.getElementById("board");
const list = document.getElementById("messages");
const form = document.getElementById("box");
const { body: field, picture: file } = form.elements;
const people = document.getElementById("people");
const one = (css) => board.querySelector(css);
const [scroll, lost, fresh] = [one(".scroll"), one("[data-lost]"), one("[data-new]")];
const { channel, me } = board.dataset;
const path = `/board/${channel}`;
const heading = document.title;

const SILENCE_MAX = 25000; // Longer than the server ever says nothing: it sends a heartbeat each 15 seconds.
const POLL = 5000;
const ASK_MAX = 15000;
const UPLOAD_MAX = 120000; // As long as the server waits for the longest picture.
const SHOWN_MAX = 500;
const QUIET_MAX = 20;
const PAUSE_MAX = 30000;

const ended = new AbortController();
const wait = (time) => new Promise((done) => setTimeout(done, time));
const ask = (url, more, time = ASK_MAX) => fetch(url, { ...more, signal: AbortSignal.timeout(time) });
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
const end = (why, link = `/login?next=${path}`) => {
  if (ended.signal.aborted) return;
  ended.abort();
  board.dataset.ended = "";
  tell(why, link);
  show();
};
const sentence = (text) => text[0].toUpperCase() + text.slice(1).replace(/\.?$/, ".");
const banned = (why) => end(`${sentence(why)} What was not sent is kept, and sent if you are let in again.`, "");
const detail = async (answer) => (await answer.json().catch(() => {}))?.detail ?? "it was refused";

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

// Beside messages the list says who came and went, and where the new begins.
const shown = () => [...list.children].filter((item) => item.id);

// All readers show the same order.
const key = (item) => [item.querySelector("time").dateTime, ...numbers(item.id.slice(1))];
const isBefore = (one, other) => {
  const [a, b] = [key(one), key(other)];
  const place = a.findIndex((part, index) => part !== b[index]);
  return a[place] < b[place];
};
const insert = (item) => {
  const messages = shown();
  let before = messages.findLast((other) => isBefore(other, item));
  while (before?.nextElementSibling && !before.nextElementSibling.id) before = before.nextElementSibling;
  if (before) before.after(item);
  else list[messages.length ? "prepend" : "append"](item);
};

// Where the reader is, and what they have not seen.
let unread = 0, read = written(), told = read, reading;
const isAtEnd = () => scroll.scrollTop > -40;
// Marks where the new begins.
let since = one(".since");
const begin = (id) => {
  since ??= element("li", "since", "New since you were here");
  document.getElementById(`m${id}`)?.before(since);
};
// The first go, and are found where older ones are.
const trim = () => {
  const messages = shown();
  const [first] = messages.slice(-SHOWN_MAX);
  if (first === messages[0]) return;
  while (list.firstElementChild !== first) list.firstElementChild.remove();
  let older = one("[rel=prev]");
  if (!older) {
    older = Object.assign(element("a", "button quiet", "Older"), { rel: "prev" });
    const nav = element("nav", "pager");
    nav.append(older);
    list.before(nav);
  }
  older.href = `${path}?before=${first.id.slice(1)}`;
};
// Older ones come by themselves where somebody scrolls to them, and by the link.
let fetching, failedAt = -POLL;
const fetchOlder = async (link) => {
  if (fetching) return;
  const { href } = link;
  const changed = (fetching = new Set());
  try {
    const answer = await ask(href);
    if (!answer.ok) throw new Error(answer.status);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    // The list may begin elsewhere by now, or something have become of them.
    if (link.href !== href || [...changed].some((id) => page.getElementById(id))) return;
    const items = [...page.querySelectorAll("#messages > [id]")].filter(({ id }) => !document.getElementById(id));
    list.prepend(...items.map((item) => dress(document.importNode(item, true))));
    const next = page.querySelector("[rel=prev]");
    if (next) link.href = next.getAttribute("href");
    else link.parentElement.remove();
  } catch (error) {
    failedAt = performance.now();
    throw error;
  } finally {
    fetching = undefined;
  }
};
const keepPlace = (work) => {
  const [wasAtEnd, height] = [isAtEnd(), scroll.scrollHeight];
  work();
  if (list.querySelector("[id]") || waiting.children.length) one("[data-empty]")?.remove();
  if (!wasAtEnd) scroll.scrollTop -= scroll.scrollHeight - height;
  if (wasAtEnd || (document.hidden && list.children.length > 4 * SHOWN_MAX)) trim();
};
const count = (more) => {
  unread = !document.hidden && isAtEnd() ? 0 : unread + more;
  document.title = unread ? `(${unread}) ${heading}` : heading;
  fresh.hidden = !unread || isAtEnd();
  fresh.textContent = `${unread} new`;
  if (unread) return;
  if ((read = written()) !== told) reading ??= setTimeout(note, PAUSE_MAX);
};
const note = () => {
  reading = clearTimeout(reading);
  if (read === told) return;
  told = read;
  ask(`${path}/read`, { method: "POST", keepalive: true, body: new URLSearchParams({ cursor: read }) }).catch(() => {});
};
board.onclick = note;
const toEnd = () => {
  scroll.scrollTop = 0;
  count(0);
};
fresh.addEventListener("click", (event) => {
  event.preventDefault();
  toEnd();
});
scroll.addEventListener("scroll", () => {
  count(0);
  const link = one("[rel=prev]");
  const above = scroll.scrollHeight - scroll.clientHeight + scroll.scrollTop;
  if (link && above < 300 && performance.now() - failedAt > POLL) fetchOlder(link).catch(() => {});
});
scroll.addEventListener("click", (event) => {
  const link = event.target.closest("[rel=prev]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  fetchOlder(link).catch(() => (location.href = link.href));
});

// What happened.
const apply = ({ id, kind, target, author, html, reaction, removed }) => {
  const [origin, seq] = numbers(id);
  cursor.set(origin, seq);
  const old = document.getElementById(`m${target ?? id}`);
  const isMine = author.username === me && !author.bot;
  if (target && !old) fetching?.add(`m${target}`);
  if (html && (old || kind === "message")) {
    const item = dress(make(html));
    const mine = new Set([...(old?.querySelectorAll("[name=unreact]") ?? [])].map((button) => button.value));
    if (kind === "reaction" && isMine) mine[removed ? "delete" : "add"](reaction);
    for (const button of item.querySelectorAll(".signs button")) mark(button, mine.has(button.value));
    const isFirstNew = kind === "message" && !isMine && !unread && (document.hidden || !isAtEnd());
    keepPlace(() => {
      if (old) old.replaceWith(item);
      else insert(item);
      if (isFirstNew) begin(id);
    });
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
let catching, again, retrying;
const missing = async () => {
  for (let more = true; more; more ||= again) {
    again = false;
    const answer = await ask(`${path}/since?after=${encodeURIComponent(written())}`);
    if (answer.status === 401) return end("You are signed out.");
    if (answer.status === 403) return banned(await detail(answer));
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
    }, () => {
      retrying ??= setTimeout(() => {
        retrying = undefined;
        if (!ended.signal.aborted) catchUp();
      }, POLL * (1 + Math.random()));
      return false;
    })
    .finally(() => (catching = undefined)));

// Who is here.
const keyOf = ({ username, bot }) => (bot ? `bot:${username}` : username);
const faceOf = ({ nickname, picture, letter = [...nickname][0]?.toUpperCase() }) => {
  if (!picture) return Object.assign(element("span", "face", letter), { ariaHidden: "true" });
  return Object.assign(element("img", "face"), { loading: "lazy", src: picture, width: 36, height: 36, alt: "" });
};
const LEFT = "somebody who left";
const marks = { moderator: "MOD", admin: "ADMIN" };
const whoIs = ({ username, nickname, bot, role }) => {
  const who = element("span", "who");
  const mark = bot ? "BOT" : marks[role];
  who.append(element("bdi", "", nickname));
  if (username !== nickname) who.append(" ", element("span", "handle", `@${username}`));
  if (mark) who.append(" ", element("span", "mark", mark));
  return who;
};
const entry = (person) => {
  const item = element("li", "");
  item.dataset.by = keyOf(person);
  item.append(faceOf(person), " ", whoIs(person));
  return item;
};
const of = (within, person) => within.querySelectorAll(`:scope > [data-by="${CSS.escape(keyOf(person))}"]`);
const sum = () => (one("[data-count]").textContent = people.children.length);
const announce = (text) => keepPlace(() => {
  list.append(element("li", "quiet", text));
  [...list.querySelectorAll(":scope > .quiet")].slice(0, -QUIET_MAX).forEach((line) => line.remove());
});
const call = (person, as = person) => {
  for (const item of [...of(people, person), ...of(list, person)]) {
    item.querySelector(".who").replaceWith(whoIs(as));
    item.querySelector(".face").replaceWith(faceOf(as));
  }
};
// Several come at once where a connection was cut that many shared.
const say = (all, where) => {
  sum();
  const names = all.slice(0, 3).map((person) => whoIs({ ...person, bot: false, role: "" }).textContent).join(", ");
  const others = all.length > 3 ? ` and ${all.length - 3} others` : "";
  const verb = all.length > 1 ? { here: "are here", gone: "have left" } : { here: "is here", gone: "has left" };
  if (all.length) announce(`${names}${others} ${verb[where]}.`);
};
const frames = {
  message: take,
  people: ({ people: all }) => (people.replaceChildren(...all.map(entry)), one("[data-people] .fine")?.remove(), sum()),
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
  person: (person) => call(person),
  gone: (person) => call(person, { username: LEFT, nickname: LEFT, letter: "?" }),
  heartbeat: () => {},
  end: ({ why }) => (why.includes("signed out") ? end(sentence(why)) : banned(why)),
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
// A stream says at once who is here: where it does not, somebody may hold it back.
silence = setTimeout(unheard, POLL);
document.addEventListener("visibilitychange", () => {
  if (document.hidden || ended.signal.aborted) return note();
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
waiting.ariaLive = "off";
// For pictures there is no room but in this page.
const pictured = new Map();
const outbox = () =>
  Object.keys(kept).filter((name) => name.startsWith(prefix)).map((name) => JSON.parse(kept.getItem(name)))
    .concat([...pictured.values()]).sort((one, other) => one.at - other.at);
const keep = (letter) => {
  if (letter.picture) pictured.set(letter.client_id, letter);
  else kept.setItem(prefix + letter.client_id, JSON.stringify(letter));
};
const drop = ({ client_id }) => {
  pictured.delete(client_id);
  kept.removeItem(prefix + client_id);
};
const isKept = ({ client_id }) => pictured.has(client_id) || kept.getItem(prefix + client_id) !== null;
const isUnsent = ({ id, problem }) => !id && !problem;
addEventListener("beforeunload", (event) => {
  if ([...pictured.values()].some(isUnsent)) event.preventDefault();
});
const button = (text, work) => {
  const made = Object.assign(element("button", "button quiet", text), { type: "button" });
  made.addEventListener("click", work);
  return made;
};
// A picture that was refused is chosen anew.
const intoBox = ({ body, reply_to, picture, problem }) => {
  field.value = [body, field.value].filter(Boolean).join("\n");
  if (picture && !problem) {
    const chosen = new DataTransfer();
    chosen.items.add(picture);
    file.files = chosen.files;
  }
  if (reply_to && !form.elements.reply_to) {
    const row = element("p", "answers", "You answer a message. ");
    row.append(Object.assign(element("a", "", "Not an answer"), { href: "#box" }));
    row.append(Object.assign(element("input", ""), { type: "hidden", name: "reply_to", value: reply_to }));
    form.prepend(row);
  }
  check();
  field.focus();
};
const actionsOf = (letter) => {
  const actions = element("p", "actions");
  const away = (work) => () => {
    drop(letter);
    work?.(letter);
    show();
  };
  actions.append(button("Change", away(intoBox)), button("Discard", away()));
  return actions;
};
const stateOf = ({ id, problem, tries, until = 0 }) => {
  const seconds = Math.ceil((until - Date.now()) / 1000);
  if (id) return "Sent";
  if (problem || ended.signal.aborted) return "Not sent";
  if (seconds > 0) return `Too soon after the last one: sent by itself in ${seconds} s`;
  return tries ? "Waiting to be sent" : "Sending";
};
// Each is made anew only when something else can be done with it, so that a button stays where it is.
const items = new Map();
const itemOf = (letter) => {
  const { client_id, body, picture, problem = "", id, tries } = letter;
  const isStuck = problem || (!id && tries);
  let item = items.get(client_id);
  if (item?.dataset.is !== `${!!isStuck} ${problem}`) {
    item = element("li", problem ? "waits failed" : "waits");
    item.dataset.is = `${!!isStuck} ${problem}`;
    const said = Object.assign(element("div", "said", body), { dir: "auto" });
    const why = problem ? [element("p", "error", problem)] : [];
    const more = isStuck ? [...why, actionsOf(letter)] : [];
    item.append(said, element("span", "edited"), ...more);
    items.set(client_id, item);
  }
  const only = picture && isUnsent(letter) ? `: the picture ${picture.name}, which is kept while this page is open` : "";
  item.querySelector(".edited").textContent = stateOf(letter) + only;
  return item;
};
const show = () => keepPlace(() => {
  const letters = outbox();
  const now = letters.map(itemOf);
  for (const id of items.keys()) if (!letters.some(({ client_id }) => client_id === id)) items.delete(id);
  if (now.length === waiting.children.length && now.every((item, place) => item === waiting.children[place])) return;
  waiting.replaceChildren(...now);
});
const confirm = (id) => {
  const letters = outbox().filter((letter) => letter.id === id);
  letters.forEach(drop);
  if (letters.length) show();
};
// Sends one; says in how many milliseconds to try again, if it must be.
const post = async (letter) => {
  const pause = Math.min(PAUSE_MAX, 1000 * 2 ** Math.min(letter.tries, 5));
  const { client_id, body, reply_to, picture } = letter;
  const said = new URLSearchParams({ client_id, body, reply_to, author: me });
  const whole = picture && new FormData();
  if (picture) for (const [name, value] of [...said, ["picture", picture]]) whole.append(name, value);
  let answer;
  try {
    answer = await ask(path, { method: "POST", headers: { Accept: "application/json" }, body: whole ?? said }, picture ? UPLOAD_MAX : ASK_MAX);
    if (answer.ok) {
      const { id } = await answer.json();
      if (has(id)) drop(letter);
      else keep({ ...letter, id });
      return;
    }
  } catch {
    return pause; // What has come of it is not known; the same again is answered with the first.
  }
  if (answer.status === 401) {
    const isOnlyHere = [...pictured.values()].some(isUnsent);
    return end(`You are signed out. Words are kept, and sent when you are back${isOnlyHere ? "; the picture is only here, and must be sent again" : ""}.`);
  }
  const asked = 1000 * (Number(answer.headers.get("Retry-After")) || 0);
  if (answer.status === 429) letter.until = Date.now() + (asked || pause);
  // It may be lifted before.
  if (answer.status === 429) return Math.min(asked || pause, 2 * PAUSE_MAX);
  if (answer.status >= 500 || answer.status === 408) return Math.max(pause, asked);
  keep({ ...letter, problem: sentence(await detail(answer)) });
};
const flush = async () => {
  for (let next; (next = outbox().find(isUnsent)) && !ended.signal.aborted; ) {
    const pause = await post(next);
    try {
      if (pause && isKept(next)) keep({ ...next, tries: next.tries + 1 });
    } catch {
      // There is no room for more than it is kept with.
    }
    show();
    for (const over = Date.now() + (pause ?? 0); Date.now() < over && isKept(next) && !ended.signal.aborted; show()) {
      await wait(Math.min(1000, over - Date.now()));
    }
  }
};
let flushing, isQueued;
const send = () => {
  if (isQueued) return;
  isQueued = true;
  const begin = () => {
    isQueued = false;
    return flush();
  };
  const locked = () => navigator.locks ? navigator.locks.request(`${prefix}send`, begin) : begin();
  flushing = (flushing ?? Promise.resolve()).then(locked, locked);
};
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const id = crypto.getRandomValues(new Uint8Array(16));
  const client_id = [...id].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const reply_to = form.elements.reply_to?.value ?? "";
  try {
    // Those that wait go out in this order, whatever the clock says.
    const at = Math.max(Date.now(), ...outbox().map((letter) => letter.at + 1));
    keep({ client_id, body: field.value, reply_to, picture: file.files[0], at, tries: 0 });
  } catch {
    return form.submit(); // There is no room to keep it.
  }
  form.querySelector(".answers")?.remove();
  since?.remove();
  field.value = file.value = "";
  check();
  show();
  toEnd();
  send();
});
// The page that wrote it may be gone before it is sent.
addEventListener("storage", () => {
  show();
  send();
});

// Checked as one types, by the rules of the server.
const hint = document.getElementById("body-hint");
const most = Number(hint.dataset.max);
const sends = matchMedia("(pointer: fine)").matches;
const usual = sends ? `Enter sends, Shift and Enter begin a new line. ${hint.textContent}` : hint.textContent;
const check = () => {
  const length = [...field.value.trim()].length;
  const isOdd = /(?![\n\r\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/u.test(field.value);
  const problem = length > most ? `That is ${length - most} too many.` : isOdd ? "A control character is in it." : "";
  const [picture] = file.files;
  field.setCustomValidity(problem || (length || picture ? "" : "Write something first."));
  file.setCustomValidity(picture?.size > Number(file.dataset.bytesMax) ? file.dataset.tooLong : "");
  field.setAttribute("aria-invalid", problem !== "");
  hint.textContent = problem || (length > most - 500 ? `${most - length} characters are left.` : usual);
};
field.addEventListener("input", check);
file.addEventListener("change", check);
field.addEventListener("keydown", (event) => {
  const isPlain = event.key === "Enter" && !event.shiftKey && !event.isComposing;
  if (!isPlain || !sends) return;
  event.preventDefault();
  form.requestSubmit();
});

for (const item of list.querySelectorAll(":scope > [id]")) dress(item);
for (const letter of outbox()) if (letter.id && has(letter.id)) drop(letter);
check();
show();
if (outbox().length) send();
count(0);
