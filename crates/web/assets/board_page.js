// What the scripts of a channel's page share: its elements, requests, and small helpers.
export const board = document.getElementById("board");
export const list = document.getElementById("messages");
export const form = document.getElementById("box");
export const one = (css) => board.querySelector(css);
export const scroll = one(".scroll");
export const { channel, me } = board.dataset;
export const path = `/board/${channel}`;

export const POLL = 5000;
const ASK_MAX = 15000;

export const wait = (time) => new Promise((done) => setTimeout(done, time));
export const ask = (url, more, time = ASK_MAX) => fetch(url, { ...more, signal: AbortSignal.timeout(time) });
export const make = (tag, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};
export const button = (text, work, more) => {
  const made = make("button", { type: "button", className: "button quiet", textContent: text, ...more });
  made.addEventListener("click", work);
  return made;
};
export const fromHtml = (html) => {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.firstElementChild;
};
export const isPlainClick = (event) => !event.ctrlKey && !event.metaKey && !event.shiftKey;
// Enter sends except on a phone, which has no Shift+Enter.
export const entersToSend = !matchMedia("(pointer: coarse)").matches;
export const isSendKey = (event) =>
  entersToSend && event.key === "Enter" && !event.shiftKey && !event.isComposing;

export const sentence = (text) => text[0].toUpperCase() + text.slice(1).replace(/\.?$/, ".");
export const detail = async (answer) => (await answer.json().catch(() => {}))?.detail ?? "the server refused it";

// The notice about a lost connection, and the end of live updates.
const lost = one("[data-lost]");
const ended = new AbortController();
export const whenEnded = ended.signal;
export const tell = (text, link) => {
  lost.textContent = text;
  if (link) lost.append(" ", make("a", { href: link, textContent: "Sign in" }));
  lost.hidden = false;
};
export const untell = () => {
  if (!whenEnded.aborted) lost.hidden = true;
};
export const end = (why, link = `/login?next=${path}`) => {
  if (whenEnded.aborted) return;
  board.dataset.ended = "";
  tell(why, link);
  ended.abort();
};
export const banned = (why) => end(`${sentence(why)} Unsent messages are kept and sent if the ban is lifted.`, "");
