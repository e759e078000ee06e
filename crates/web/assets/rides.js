// The newest day while it goes on. Without this, the page is as it was when it was loaded.
const line = document.querySelector("[data-live]");
const number = new Intl.NumberFormat("en");

// What is read out changes seldom: nobody could listen to a sentence a second.
const LINE_PAUSE = 5000;
const MINUTE = 60000;
const COME_BACK = 5000;

let source, latest, said = -Infinity, due;
const seen = []; // The last minute's counts, and the one before them.

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
  const minute = Math.max(0, latest.rides - seen[0].rides);
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

const listen = () => {
  source?.close();
  source = new EventSource("/api/rides/live");
  source.addEventListener("message", ({ data }) => show(JSON.parse(data)));
  source.addEventListener("error", () => {
    // After a refusal a browser does not come back by itself.
    if (source.readyState === EventSource.CLOSED) setTimeout(follow, COME_BACK * (1 + Math.random()));
  });
};

// A browser has few connections for a site: a page that nobody looks at needs none of them.
const follow = () => {
  if (document.hidden) source?.close();
  else if (source?.readyState !== EventSource.OPEN) listen();
};
document.addEventListener("visibilitychange", follow);
follow();
