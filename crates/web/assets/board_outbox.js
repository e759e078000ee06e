// The outbox: written messages are stored in the browser until the server has them, across reloads.
import { putBack, reset } from "./board_composer.js";
import { keepPlace } from "./board_list.js";
import { ask, button, channel, detail, end, form, list, make, me, path, sentence, wait, whenEnded } from "./board_page.js";
import { endSince, has, toEnd } from "./board_reading.js";

const KEPT_MAX = 7 * 24 * 60 * 60 * 1000; // Unsent messages of other accounts, whose sessions have ended.
const PAUSE_MAX = 30000;
const UPLOAD_MAX = 120000; // The server's deadline for the largest picture.

const { body: field, picture: file } = form.elements;
const kept = (() => {
  try {
    localStorage.setItem("lodge", "");
    return localStorage;
  } catch {
    return sessionStorage;
  }
})();
const prefix = `lodge-board:${me}:${channel}:`;
const isOld = (name) => {
  try {
    return !(Date.now() - JSON.parse(kept.getItem(name)).at < KEPT_MAX);
  } catch {
    return true;
  }
};
Object.keys(kept).filter((name) => name.startsWith("lodge-board:") && !name.startsWith(`lodge-board:${me}:`))
  .filter(isOld).forEach((name) => kept.removeItem(name));
const waiting = list.parentElement.appendChild(make("ol", { className: "messages", ariaLive: "off" }));
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
// The text in the box of this tab is kept, too, so that it survives a reload and a new session.
const draft = `lodge-draft:${me}:${channel}`;
const keepDraft = () => {
  sessionStorage.removeItem(draft);
  try {
    const { body, reply_to } = form.elements;
    if (body.value) sessionStorage.setItem(draft, JSON.stringify({ body: body.value, reply_to: reply_to?.value }));
  } catch {
    // Storage is full.
  }
};
field.addEventListener("input", keepDraft);
const isKept = ({ client_id }) => pictured.has(client_id) || kept.getItem(prefix + client_id) !== null;
const isUnsent = ({ id, problem }) => !id && !problem;
addEventListener("beforeunload", (event) => {
  if ([...pictured.values()].some(isUnsent)) event.preventDefault();
});
const edit = (letter) => {
  putBack(letter);
  keepDraft();
  field.focus();
};
const actionsOf = (letter) => {
  const away = (work) => () => {
    drop(letter);
    work?.(letter);
    show();
  };
  return make("p", { className: "actions" }, button("Edit", away(edit)), button("Discard", away()));
};
const stateOf = ({ id, problem, tries, until = 0 }) => {
  const seconds = Math.ceil((until - Date.now()) / 1000);
  if (id) return "Sent";
  if (problem || whenEnded.aborted) return "Not sent";
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
    const said = make("div", { className: "said", dir: "auto", textContent: body });
    const why = problem ? [make("p", { className: "error", textContent: problem })] : [];
    const more = isStuck ? [...why, actionsOf(letter)] : [];
    item = make("li", { className: problem ? "waits failed" : "waits" }, said, make("span", { className: "edited" }), ...more);
    item.dataset.is = `${!!isStuck} ${problem}`;
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
// Drops a message whose event has arrived.
export const confirm = (id) => {
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
    const request = { method: "POST", headers: { Accept: "application/json" }, body: whole ?? said };
    answer = await (picture ? ask(path, request, UPLOAD_MAX) : ask(path, request));
    if (answer.ok) {
      const { id } = await answer.json();
      if (has(id)) drop(letter);
      else if (isKept(letter)) keep({ ...letter, id }); // Signing out elsewhere may have removed it.
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
  const problem = sentence(await detail(answer));
  if (isKept(letter)) keep({ ...letter, problem });
};
const flush = async () => {
  for (let next; (next = outbox().find(isUnsent)) && !whenEnded.aborted; ) {
    const pause = await post(next);
    try {
      if (pause && isKept(next)) keep({ ...next, tries: next.tries + 1 });
    } catch {
      // Storage is full: the stored copy stays as it was.
    }
    show();
    for (const over = Date.now() + (pause ?? 0); Date.now() < over && isKept(next) && !whenEnded.aborted; show()) {
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
    sessionStorage.removeItem(draft);
    return form.submit(); // Storage is full.
  }
  reset();
  keepDraft();
  endSince();
  show();
  toEnd();
  send();
});
// Another tab stored a message and may be closed before it sends it.
addEventListener("storage", () => {
  show();
  send();
});
whenEnded.addEventListener("abort", show);

if (!field.value) putBack(JSON.parse(sessionStorage.getItem(draft)) ?? {});
for (const letter of outbox()) if (letter.id && has(letter.id)) drop(letter);
show();
if (outbox().length) send();
