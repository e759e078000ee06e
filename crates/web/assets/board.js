// Live updates of a channel. Without this script the page is static and its forms still work.
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

const SILENCE_MAX = 25000; // The server sends a heartbeat every 15 seconds.
const POLL = 5000;
const ASK_MAX = 15000;
const UPLOAD_MAX = 120000; // The server's deadline for the largest picture.
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
const banned = (why) => end(`${sentence(why)} Unsent messages are kept and sent if the ban is lifted.`, "");
const detail = async (answer) => (await answer.json().catch(() => {}))?.detail ?? "the server refused it";

// The last event of each origin on this page, in the format of the server's cursors.
const parsed = (text) => new Map(text ? text.split(",").map((entry) => entry.split(":").map(Number)) : []);
const written = () => [...cursor].map((entry) => entry.join(":")).join();
const cursor = parsed(board.dataset.cursor);
const numbers = (id) => id.split(":").map(Number);
// Never moves backwards: events may have arrived in the meantime. Origin 0 stands for the folded (closed) origins.
const advance = (to) => {
  for (const [origin, seq] of to) if (!origin || seq > (cursor.get(origin) ?? 0)) cursor.set(origin, seq);
};
const has = (id) => {
  const [origin, seq] = numbers(id);
  return seq <= (cursor.get(origin) ?? 0);
};

// Formats times in the reader's locale, and marks mentions of the reader.
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

// Messages only: the list also has lines about joins and leaves, and the mark of new messages.
const shown = () => [...list.children].filter((item) => item.id);

// All readers show messages in the same order: by (time, origin, seq).
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

// The scroll position, the unread count and the read cursor.
let unread = 0, read = written(), told = read, reading;
const isAtEnd = () => scroll.scrollTop > -40;
// The line above the first new message.
let since = one(".since");
const begin = (id) => {
  since ??= element("li", "since", "New messages");
  document.getElementById(`m${id}`)?.before(since);
};
// Removes the oldest messages; the link to older messages leads to them.
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
// Loads older messages when the reader scrolls to the top or follows the link.
let fetching, failedAt = -POLL;
const fetchOlder = async (link) => {
  if (fetching) return;
  const { href } = link;
  const changed = (fetching = new Set());
  try {
    const answer = await ask(href);
    if (!answer.ok) throw new Error(answer.status);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    // The list may begin elsewhere by now, or an event may have changed one of these messages.
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

// Applies one event.
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
  // A hidden or deleted message is not readable in the quotes of its replies either.
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

// Fetches the missing events; resolves to whether the server answered.
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
const LEFT = "Deleted account";
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
// Many members join or leave at once when a connection that they share is cut.
const say = (all, where) => {
  sum();
  const names = all.slice(0, 3).map((person) => whoIs({ ...person, bot: false, role: "" }).textContent).join(", ");
  const others = all.length > 3 ? ` and ${all.length - 3} others` : "";
  const verb = { here: "joined", gone: "left" };
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

// One tab per channel holds the stream and forwards its events to the others: a browser limits connections per site.
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
  if (!isHeard && !ended.signal.aborted) tell("No connection to the server. Your messages are kept and sent when it is back.");
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
    // The browser reconnects by itself, but not after an error status.
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
  // The leading tab has already received events that are newer than this page.
  catchUp();
} else lead();
// A stream starts with the list of members. If it does not arrive, a proxy may be buffering the stream.
silence = setTimeout(unheard, POLL);
document.addEventListener("visibilitychange", () => {
  if (document.hidden || ended.signal.aborted) return note();
  count(0);
  catchUp();
});

// The outbox: messages are stored until the server has them, across reloads.
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
// Pictures are too large for local storage and are kept in memory.
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
// A refused picture is not put back: the member chooses another one.
const intoBox = ({ body, reply_to, picture, problem }) => {
  field.value = [body, field.value].filter(Boolean).join("\n");
  if (picture && !problem) {
    const chosen = new DataTransfer();
    chosen.items.add(picture);
    file.files = chosen.files;
  }
  if (reply_to && !form.elements.reply_to) {
    const row = element("p", "answers", "Replying to a message. ");
    row.append(Object.assign(element("a", "", "Cancel reply"), { href: "#box" }));
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
  actions.append(button("Edit", away(intoBox)), button("Discard", away()));
  return actions;
};
const stateOf = ({ id, problem, tries, until = 0 }) => {
  const seconds = Math.ceil((until - Date.now()) / 1000);
  if (id) return "Sent";
  if (problem || ended.signal.aborted) return "Not sent";
  if (seconds > 0) return `Too soon after the last message: sent automatically in ${seconds} s`;
  return tries ? "Waiting to be sent" : "Sending";
};
// An element is rebuilt only when its actions change, so that a button stays under the pointer.
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
  const only = picture && isUnsent(letter) ? `: the picture ${picture.name}, kept only while this page is open` : "";
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
// Sends one message; returns the milliseconds to wait before a retry, if one is needed.
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
    return pause; // Outcome unknown. A retry with the same client_id is answered with the original.
  }
  if (answer.status === 401) {
    const isOnlyHere = [...pictured.values()].some(isUnsent);
    return end(`You are signed out. Your text is kept and sent after you sign in${isOnlyHere ? "; the picture is not kept and must be sent again" : ""}.`);
  }
  const asked = 1000 * (Number(answer.headers.get("Retry-After")) || 0);
  if (answer.status === 429) letter.until = Date.now() + (asked || pause);
  // The limit may be lifted earlier.
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
      // Storage is full: the stored copy stays as it was.
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
    // Waiting messages are sent in the order of `at`, even if the clock goes back.
    const at = Math.max(Date.now(), ...outbox().map((letter) => letter.at + 1));
    keep({ client_id, body: field.value, reply_to, picture: file.files[0], at, tries: 0 });
  } catch {
    return form.submit(); // Storage is full.
  }
  form.querySelector(".answers")?.remove();
  since?.remove();
  field.value = file.value = "";
  check();
  show();
  toEnd();
  send();
});
// Another tab stored a message and may be closed before it sends it.
addEventListener("storage", () => {
  show();
  send();
});

// Validates the input as it is typed, by the server's rules.
const hint = document.getElementById("body-hint");
const most = Number(hint.dataset.max);
const sends = matchMedia("(pointer: fine)").matches;
const usual = sends ? `Enter sends, Shift+Enter starts a new line. ${hint.textContent}` : hint.textContent;
const check = () => {
  const length = [...field.value.trim()].length;
  const isOdd = /(?![\n\r\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/u.test(field.value);
  const problem = length > most ? `Over the limit by ${length - most}.` : isOdd ? "Control characters are not allowed." : "";
  const [picture] = file.files;
  field.setCustomValidity(problem || (length || picture ? "" : "Write a message first."));
  file.setCustomValidity(picture?.size > Number(file.dataset.bytesMax) ? file.dataset.tooLong : "");
  field.setAttribute("aria-invalid", problem !== "");
  hint.textContent = problem || (length > most - 500 ? `Characters left: ${most - length}.` : usual);
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
