// Updates the counts of the newest day. Without this script, the page keeps the counts of its load.
const line = document.querySelector("[data-live]");
const number = new Intl.NumberFormat("en");

// A screen reader reads this line aloud: update it less often than once a second.
const LINE_PAUSE = 5000;
const MINUTE = 60000;
const COME_BACK = 5000;

// Longer than the server's heartbeat interval of 15 seconds.
const SILENCE_MAX = 25000;

const lost = document.querySelector("[data-lost]");
let source, failing, silence, latest, said = -Infinity, due;
let seen = []; // The counts of the last minute, and the count before them.

const put = (element, value) => {
  const text = number.format(value);
  if (element && element.textContent !== text) element.textContent = text;
};
const counts = (within, now) => {
  for (const element of within.querySelectorAll("[data-count]")) put(element, now?.[element.dataset.count] ?? 0);
};

const say = () => {
  clearTimeout(due);
  due = setTimeout(say, LINE_PAUSE);
  said = Date.now();
  while (seen.length > 1 && seen[1].at <= said - MINUTE) seen.shift();
  const minute = seen.length ? Math.max(0, latest.rides - seen[0].rides) : 0;
  counts(line, { ...latest, minute });
  line.querySelector("[data-minute]").hidden = !minute;
};

const show = (now) => {
  if (`${now.seasonID}-${now.dayID}` !== line.dataset.live) {
    document.querySelector("[data-newer]").hidden = false;
    return;
  }
  latest = now;
  seen.push({ at: Date.now(), rides: now.rides });
  for (const row of document.querySelectorAll("[data-resort]")) {
    counts(row, now.resorts.find((resort) => String(resort.resortID) === row.dataset.resort));
  }
  if (Date.now() - said >= LINE_PAUSE) say();
};

// Shows that the connection is lost and reconnects, unless an event arrives within this time.
const expect = (time) => {
  clearTimeout(silence);
  silence = setTimeout(() => {
    lost.hidden = false;
    listen();
  }, time);
};
const heard = () => {
  lost.hidden = true;
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
};
document.addEventListener("visibilitychange", follow);
follow();
