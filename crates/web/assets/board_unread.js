// Unread messages and mentions in other channels: read after a mention, once a minute, and when the page is shown.
import { ask, board, make, one, whenEnded } from "./board_page.js";
import { countElsewhere } from "./board_reading.js";

const EACH = 60000;
const PAUSE = 1000;
const COUNTED_MAX = 100;

const counted = (number) => (number >= COUNTED_MAX ? "99+" : String(number));
const badges = (messages, mentions) => {
  const badge = (className, title, textContent) => [" ", make("span", { className, title, textContent })];
  return [
    ...(messages ? badge("unread", "unread", counted(messages)) : []),
    ...(mentions ? badge("unread me", "mentions", `@${counted(mentions)}`) : []),
  ];
};
const read = async () => {
  const answer = await ask("/board/-/unread").catch(() => {});
  const told = answer?.ok ? await answer.json().catch(() => {}) : undefined;
  if (!told) return;
  const unread = new Map(told.channels.map((one) => [one.channel, one]));
  let [allMessages, allMentions] = [0, 0];
  for (const link of board.querySelectorAll(".channels a:not([aria-current])")) {
    const { messages = 0, mentions = 0 } = unread.get(link.pathname.split("/").pop()) ?? {};
    allMessages += messages;
    allMentions += mentions;
    link.replaceChildren(link.firstChild.textContent.trim(), ...badges(messages, mentions));
  }
  one("[data-channels]").replaceChildren("Channels", ...badges(allMessages, allMentions));
  countElsewhere(allMentions);
};
// Many mentions at once are read once.
let reading, again;
export const lookElsewhere = () => {
  if (whenEnded.aborted) return;
  if (reading) {
    again = true;
    return;
  }
  again = false;
  reading = read().then(() => {
    setTimeout(() => {
      reading = undefined;
      if (again) lookElsewhere();
    }, PAUSE);
  });
};
const lookIfShown = () => {
  if (!document.hidden) lookElsewhere();
};
setInterval(lookIfShown, EACH);
document.addEventListener("visibilitychange", lookIfShown);
countElsewhere(Number(board.dataset.mentions));
