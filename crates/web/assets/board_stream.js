// The events of the channel: by a stream that the tabs of one browser share, and by polling where a proxy delays it.
import { isAtEnd, keepPlace, noteChange, place } from "./board_list.js";
import { confirm } from "./board_outbox.js";
import { POLL, ask, banned, channel, detail, end, fromHtml, list, me, path, sentence, tell, untell, wait, whenEnded } from "./board_page.js";
import { frames as presence } from "./board_people.js";
import { advance, begin, count, has, hasUnread, isNext, note, parsed, take, written } from "./board_reading.js";
import { lookElsewhere } from "./board_unread.js";

const SILENCE_MAX = 25000; // The server sends a heartbeat every 15 seconds.

const mark = (button, isMine) => {
  button.name = isMine ? "unreact" : "react";
  button.setAttribute("aria-pressed", isMine);
};
// Applies one event.
const apply = ({ id, kind, target, author, html, reaction, removed }) => {
  take(id);
  const old = document.getElementById(`m${target ?? id}`);
  const isMine = author.username === me && !author.bot;
  const isNew = kind === "message" && !old;
  if (target && !old) noteChange(target);
  if (html && (old || isNew)) {
    const item = fromHtml(html);
    const mine = new Set([...(old?.querySelectorAll("[name=unreact]") ?? [])].map((button) => button.value));
    if (kind === "reaction" && isMine) mine[removed ? "delete" : "add"](reaction);
    for (const button of item.querySelectorAll(".signs button")) mark(button, mine.has(button.value));
    const isFirstNew = isNew && !isMine && !hasUnread() && (document.hidden || !isAtEnd());
    keepPlace(() => {
      place(item, old);
      if (isFirstNew) begin(id);
    });
  }
  // A hidden or deleted message is not readable in the quotes of its replies either.
  if (kind === "hide" || kind === "delete") {
    for (const quote of list.querySelectorAll(`.quote[href="#m${CSS.escape(target)}"]`)) quote.textContent = "…";
  }
  if (kind === "message") confirm(id);
  count(isNew && !isMine ? 1 : 0);
};
const receiveEvent = (event) => {
  if (has(event.id)) return;
  if (isNext(event.id)) apply(event);
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
      untell();
      return true;
    }, () => {
      retrying ??= setTimeout(() => {
        retrying = undefined;
        if (!whenEnded.aborted) catchUp();
      }, POLL * (1 + Math.random()));
      return false;
    })
    .finally(() => (catching = undefined)));

const frames = {
  ...presence,
  message: receiveEvent,
  mention: lookElsewhere,
  heartbeat: () => {},
  end: ({ why }) => (why.includes("signed out") ? end(sentence(why)) : banned(why)),
};

// One tab per channel holds the stream and forwards its events to the others: a browser limits connections per site.
const wire = "BroadcastChannel" in window && navigator.locks && new BroadcastChannel(`lodge-board:${me}:${channel}`);
let silence, polling, source;
const heard = () => {
  untell();
  clearInterval(polling);
  polling = undefined;
  clearTimeout(silence);
  silence = setTimeout(unheard, SILENCE_MAX);
};
const poll = async () => {
  const isHeard = await catchUp();
  if (!isHeard && !whenEnded.aborted) tell("No connection to the server. Your messages are kept and sent when it is back.");
};
const unheard = () => {
  if (source) listen();
  silence = setTimeout(unheard, SILENCE_MAX);
  polling ??= setInterval(poll, POLL);
  poll();
};
const receive = (kind, data) => {
  if (whenEnded.aborted) return;
  heard();
  frames[kind]?.(data);
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
    if (mine.readyState !== EventSource.CLOSED || mine !== source || whenEnded.aborted) return;
    await wait(POLL * (1 + Math.random()));
    if (mine === source && !whenEnded.aborted) listen();
  });
};
whenEnded.addEventListener("abort", () => {
  source?.close();
  clearTimeout(silence);
  clearInterval(polling);
});
const lead = () => new Promise((done) => {
  if (whenEnded.aborted) return done();
  whenEnded.addEventListener("abort", done);
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
  if (document.hidden || whenEnded.aborted) return note();
  count(0);
  catchUp();
});
count(0);
