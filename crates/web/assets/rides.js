// Updates the counts of the newest day, and after them the charts and tables. Without this script, the page keeps the
// numbers of its load.
const totals = document.querySelector("[data-live]");
const resort = totals.dataset.of; // The resort of the page; a page of all resorts has none.
const number = new Intl.NumberFormat("en");

// A screen reader reads this line aloud: update it less often than once a second.
const LINE_PAUSE = 5000;
const MINUTE = 60000;
const COME_BACK = 5000;

// Longer than the server's heartbeat interval of 15 seconds.
const SILENCE_MAX = 25000;

// Charts and tables are loaded again at most this often, and at a random time, because all pages hear of a ride at once.
const FRESH_PAUSE = 10000;
const SPREAD = 2000;

const FOCUSABLE = "a, summary";
const lost = document.querySelector("[data-lost]");
const connected = document.querySelector("[data-connected]");
const line = document.querySelector("[data-minute]");
let source, failing, silence, due, freshening, latest;
let said = -Infinity, freshened = -Infinity;
let seen = []; // The counts of the last minute, and the count before them.

const put = (element, value) => {
  const text = number.format(value);
  if (element && element.textContent !== text) element.textContent = text;
};
const counts = (within, now) => {
  for (const element of within.querySelectorAll("[data-count]")) put(element, now?.[element.dataset.count] ?? 0);
};
const at = (now, id) => now.resorts.find((one) => String(one.resortID) === id);
const own = (now) => (resort ? at(now, resort) : now);
const fill = () => {
  counts(totals, own(latest));
  for (const row of document.querySelectorAll("[data-resort]")) counts(row, at(latest, row.dataset.resort));
};

const say = () => {
  clearTimeout(due);
  due = setTimeout(say, LINE_PAUSE);
  said = Date.now();
  while (seen.length > 1 && seen[1].at <= said - MINUTE) seen.shift();
  const minute = seen.length ? Math.max(0, seen.at(-1).rides - seen[0].rides) : 0;
  counts(line, { minute });
  line.hidden = !minute;
};

// Replaces the charts and tables by those of the page as it is now. One with the keyboard focus stays as it is.
const freshen = async () => {
  freshening = undefined;
  freshened = Date.now();
  const answer = await fetch(location.href).catch(() => undefined);
  if (!answer?.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (page.querySelector("[data-live]")?.dataset.live !== totals.dataset.live) return;
  for (const part of document.querySelectorAll("[data-fresh]")) {
    const fresh = page.getElementById(part.id);
    if (!fresh || part.querySelector(":focus-visible")) continue;
    const open = [...part.querySelectorAll("details")].map((details) => details.open);
    const clicked = [...part.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement);
    part.replaceChildren(...fresh.childNodes);
    part.querySelectorAll("details").forEach((details, place) => (details.open = open[place] ?? false));
    part.querySelectorAll(FOCUSABLE)[clicked]?.focus({ preventScroll: true });
  }
  fill(); // The page may be older than the last event.
};
const freshenSoon = () => {
  const pause = Math.max(0, freshened + FRESH_PAUSE - Date.now());
  freshening ??= setTimeout(freshen, pause + Math.random() * SPREAD);
};

// Whether this other day is the one to show. For a resort, only a later day with rides there is.
const isNewer = (now) => {
  if (!resort) return true;
  const [season, day] = totals.dataset.live.split("-").map(Number);
  return own(now)?.rides > 0 && (now.seasonID - season || now.dayID - day) > 0;
};

const show = (now) => {
  if (`${now.seasonID}-${now.dayID}` !== totals.dataset.live) {
    if (isNewer(now)) document.querySelector("[data-newer]").hidden = false;
    return;
  }
  const rides = own(now)?.rides ?? 0;
  if (totals.querySelector("[data-count=rides]").textContent !== number.format(rides)) freshenSoon();
  latest = now;
  fill();
  seen.push({ at: Date.now(), rides });
  if (line.hidden || Date.now() - said >= LINE_PAUSE) say();
};

// Shows whether the page is connected.
const showLost = (isLost) => {
  lost.hidden = !isLost;
  if (connected) connected.hidden = isLost;
};

// Shows that the connection is lost and reconnects, unless an event arrives within this time.
const expect = (time) => {
  clearTimeout(silence);
  silence = setTimeout(() => {
    showLost(true);
    listen();
  }, time);
};
const heard = () => {
  showLost(false);
  failing = false;
  expect(SILENCE_MAX);
};

const listen = () => {
  source?.close();
  failing = false;
  expect(SILENCE_MAX);
  source = new EventSource("/api/rides/live");
  source.addEventListener("open", () => {
    // Rides that arrived while disconnected do not count for the last minute.
    [seen, said] = [[], -Infinity];
    heard();
  });
  source.addEventListener("message", ({ data }) => {
    heard();
    show(JSON.parse(data));
  });
  source.addEventListener("heartbeat", heard);
  source.addEventListener("error", () => {
    // A browser may reconnect by itself, but not after an error status.
    if (!failing) expect(COME_BACK * (1 + Math.random()));
    failing = true;
  });
};

// A browser has few connections per site: a hidden page gives up its own.
const follow = () => {
  if (!document.hidden) return listen();
  source?.close();
  clearTimeout(silence);
  clearTimeout(freshening);
  freshening = undefined;
};
document.addEventListener("visibilitychange", follow);
follow();
