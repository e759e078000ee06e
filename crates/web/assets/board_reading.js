// How far the reader has read: the cursor of this page, the read position, and the unread counts in the title.
import { isAtEnd, numbers } from "./board_list.js";
import { ask, board, make, one, path, scroll } from "./board_page.js";

const PAUSE_MAX = 30000;

// The last event of each origin on this page, in the format of the server's cursors.
export const parsed = (text) => new Map(text ? text.split(",").map((entry) => entry.split(":").map(Number)) : []);
export const written = () => [...cursor].map((entry) => entry.join(":")).join();
const cursor = parsed(board.dataset.cursor);
// Never moves backwards: events may have arrived in the meantime. Origin 0 stands for the folded (closed) origins.
export const advance = (to) => {
  for (const [origin, seq] of to) if (!origin || seq > (cursor.get(origin) ?? 0)) cursor.set(origin, seq);
};
export const has = (id) => {
  const [origin, seq] = numbers(id);
  return seq <= (cursor.get(origin) ?? 0);
};
export const isNext = (id) => {
  const [origin, seq] = numbers(id);
  return seq === (cursor.get(origin) ?? 0) + 1;
};
export const take = (id) => cursor.set(...numbers(id));

const heading = document.title;
const fresh = one("[data-new]");
let unread = 0, elsewhere = 0, read = written(), told = read, reading;
export const hasUnread = () => unread > 0;
const entitle = () => {
  const total = unread + elsewhere;
  document.title = total ? `(${total}) ${heading}` : heading;
};
// Mentions in other channels.
export const countElsewhere = (mentions) => {
  elsewhere = mentions;
  entitle();
};
export const count = (more) => {
  unread = !document.hidden && isAtEnd() ? 0 : unread + more;
  entitle();
  fresh.hidden = !unread || isAtEnd();
  fresh.textContent = `${unread} new`;
  if (unread) return;
  if ((read = written()) !== told) reading ??= setTimeout(note, PAUSE_MAX);
};
export const note = () => {
  reading = clearTimeout(reading);
  if (read === told) return;
  told = read;
  ask(`${path}/read`, { method: "POST", keepalive: true, body: new URLSearchParams({ cursor: read }) }).catch(() => {});
};
export const toEnd = () => {
  scroll.scrollTop = 0;
  count(0);
};
board.addEventListener("click", note);
scroll.addEventListener("scroll", () => count(0));
fresh.addEventListener("click", (event) => {
  event.preventDefault();
  toEnd();
});

// The line above the first new message.
let since = one(".since");
export const begin = (id) => {
  since ??= make("li", { className: "since", textContent: "New messages" });
  document.getElementById(`m${id}`)?.before(since);
};
export const endSince = () => since?.remove();
