// The list of messages: order, times, days, groups of one author, and the loading of older and newer messages.
import { POLL, ask, board, form, isPlainClick, list, make, me, one, path, scroll } from "./board_page.js";

const SHOWN_MAX = 500;
const JOINED_MAX = 5 * 60 * 1000;
const NEAR = 300;

// Times and days in the reader's time zone and locale.
const english = navigator.languages.find((language) => language.startsWith("en")) ?? "en-GB";
const clock = new Intl.DateTimeFormat(english, { timeStyle: "short" });
const moment = new Intl.DateTimeFormat(english, { dateStyle: "full", timeStyle: "short" });
const day = { weekday: "long", day: "numeric", month: "long" };
const ofThisYear = new Intl.DateTimeFormat(english, day);
const ofOtherYear = new Intl.DateTimeFormat(english, { ...day, year: "numeric" });
const timeOf = (item) => new Date(item.querySelector("time").dateTime);
const nameOfDay = (at) => {
  const now = new Date();
  const yesterday = new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1);
  if (at.toDateString() === now.toDateString()) return "Today";
  if (at.toDateString() === yesterday.toDateString()) return "Yesterday";
  return (at.getFullYear() === now.getFullYear() ? ofThisYear : ofOtherYear).format(at);
};
// Formats the time of a message, and marks mentions of the reader.
export const dress = (item) => {
  const time = item.querySelector("time");
  time.textContent = clock.format(timeOf(item));
  time.title = moment.format(timeOf(item));
  for (const mention of item.querySelectorAll(".mention")) {
    const isMine = mention.textContent.slice(1).toLowerCase() === me;
    mention.classList.toggle("mine", isMine);
    if (isMine) item.classList.add("me");
  }
  return item;
};

// Messages only: the list also has days, lines about joins and leaves, and the mark of new messages.
const shown = () => [...list.children].filter((item) => item.id);
const beside = (item, side) => {
  do item = item[`${side}ElementSibling`];
  while (item && !item.id);
  return item;
};
// Sets what depends on the message before: the line of the day, and whether the name and picture are repeated.
const arrange = (item) => {
  const before = beside(item, "previous");
  const at = timeOf(item);
  const isSameDay = before && timeOf(before).toDateString() === at.toDateString();
  const { by } = item.dataset;
  const isSameAuthor = isSameDay && by && before.dataset.by === by && at - timeOf(before) <= JOINED_MAX;
  item.classList.toggle("joined", !!isSameAuthor && !item.querySelector(":scope > .quote"));
  let line, first = item;
  for (let other = item.previousElementSibling; other && !other.id; other = other.previousElementSibling) {
    if (other.matches(".day")) line = other;
    if (other.matches(".since")) first = other;
  }
  if (isSameDay) return line?.remove();
  line ??= make("li", { className: "day" });
  line.textContent = nameOfDay(at);
  if (!line.isConnected) first.before(line);
};
const arrangeAll = () => shown().forEach(arrange);
const arrangeAt = (item) => [item, beside(item, "next")].forEach((at) => at && arrange(at));

// All readers show messages in the same order: by (time, origin, seq).
export const numbers = (id) => id.split(":").map(Number);
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
// Shows a message, in the place of its former state if there is one.
export const place = (item, old) => {
  if (old) old.replaceWith(dress(item));
  else insert(dress(item));
  arrangeAt(item);
};

// Keeps the scroll position while the list changes, and removes the oldest messages of a long one: the link to older
// messages leads to them.
export const isAtEnd = () => scroll.scrollTop > -40;
const trim = () => {
  const messages = shown();
  const [first] = messages.slice(-SHOWN_MAX);
  if (first === messages[0]) return;
  while (list.firstElementChild !== first) list.firstElementChild.remove();
  arrange(first);
  let older = one("[rel=prev]");
  if (!older) {
    older = make("a", { className: "button quiet", textContent: "Older", rel: "prev" });
    list.before(make("nav", { className: "pager" }, older));
  }
  older.href = `${path}?before=${first.id.slice(1)}`;
};
export const keepPlace = (work) => {
  const [wasAtEnd, height] = [isAtEnd(), scroll.scrollHeight];
  work();
  if (scroll.querySelector(".messages > [id], .waits")) one("[data-empty]")?.remove();
  if (!wasAtEnd) scroll.scrollTop -= scroll.scrollHeight - height;
  if (wasAtEnd || (document.hidden && list.children.length > 4 * SHOWN_MAX)) trim();
};

// Loads older or newer messages when the reader scrolls near them or follows their link.
let loading, failedAt = -POLL;
// An event may change a message while it is loaded.
export const noteChange = (id) => loading?.add(`m${id}`);
const load = async (link) => {
  if (loading) return;
  const { href, rel } = link;
  const changed = (loading = new Set());
  try {
    const answer = await ask(href);
    if (!answer.ok) throw new Error(answer.status);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    // The list may begin elsewhere by now.
    if (link.href !== href || [...changed].some((id) => page.getElementById(id))) return;
    const items = [...page.querySelectorAll("#messages > [id]")].filter(({ id }) => !document.getElementById(id));
    const height = scroll.scrollHeight;
    const added = items.map((item) => dress(document.importNode(item, true)));
    list[rel === "prev" ? "prepend" : "append"](...added);
    arrangeAll();
    if (rel === "next") scroll.scrollTop -= scroll.scrollHeight - height;
    const next = page.querySelector(`[rel=${rel}]`);
    if (next) link.href = next.getAttribute("href");
    else link.closest("nav").remove();
    // Events since this page was opened are applied from now on.
    if (rel === "next" && !next && form) import(board.dataset.live);
  } catch (error) {
    failedAt = performance.now();
    throw error;
  } finally {
    loading = undefined;
  }
};
scroll.addEventListener("scroll", () => {
  const [older, newer] = [one("[rel=prev]"), one("[rel=next]")];
  const above = scroll.scrollHeight - scroll.clientHeight + scroll.scrollTop;
  const link = above < NEAR ? older : -scroll.scrollTop < NEAR ? newer : undefined;
  if (link && performance.now() - failedAt > POLL) load(link).catch(() => {});
});
scroll.addEventListener("click", (event) => {
  const link = event.target.closest("[rel=prev], [rel=next]");
  const quoted = event.target.closest(".quote");
  if (!isPlainClick(event)) return;
  if (link) {
    event.preventDefault();
    load(link).catch(() => (location.href = link.href));
  } else if (quoted && !document.getElementById(quoted.hash.slice(1))) {
    event.preventDefault();
    location.href = `${path}?around=${quoted.hash.slice(2)}${quoted.hash}`;
  }
});

for (const line of list.querySelectorAll(".day")) line.remove();
shown().forEach(dress);
arrangeAll();
document.querySelector(".messages > :target")?.scrollIntoView({ block: "center" });
const atMidnight = () => {
  const now = new Date();
  setTimeout(() => {
    arrangeAll();
    atMidnight();
  }, new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1, 0, 0, 1) - now);
};
atMidnight();
