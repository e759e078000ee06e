// The members in the channel, and the lines about joins and leaves.
import { keepPlace } from "./board_list.js";
import { list, make, me, one } from "./board_page.js";

const QUIET_MAX = 20;
const LEFT = "Deleted account";
const people = document.getElementById("people");
const FOREIGN = /[^\p{scx=Latin}\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}\p{scx=Common}\p{scx=Inherited}]/u;
const marks = { moderator: "MOD", admin: "ADMIN" };

const keyOf = ({ username, bot }) => (bot ? `bot ${username}` : username);
const faceOf = ({ nickname, picture, letter = [...nickname][0]?.toUpperCase() }) => {
  if (!picture) return make("span", { className: "face", textContent: letter, ariaHidden: "true" });
  return make("img", { className: "face", loading: "lazy", src: picture, width: 36, height: 36, alt: "" });
};
// Letters of a script that no writing system mixes with Latin, in a name with Latin letters.
const mixes = (name) => /\p{Script=Latin}/u.test(name) && FOREIGN.test(name);
const whoIs = ({ username, nickname, bot, role }) => {
  const who = make("span", { className: "who" }, make("bdi", { textContent: nickname }));
  const mark = bot ? "BOT" : marks[role];
  if (username !== nickname || mixes(username)) who.append(" ", make("span", { className: "handle", textContent: `@${username}` }));
  if (mark) who.append(" ", make("span", { className: "mark", textContent: mark }));
  return who;
};
const entry = (person) => {
  const item = make("li", {}, faceOf(person), " ", whoIs(person));
  item.dataset.by = keyOf(person);
  return item;
};
const of = (within, person) => within.querySelectorAll(`:scope > [data-by="${CSS.escape(keyOf(person))}"]`);
const sum = () => (one("[data-count]").textContent = people.children.length);
const announce = (text) => keepPlace(() => {
  list.append(make("li", { className: "quiet", textContent: text }));
  [...list.querySelectorAll(":scope > .quiet")].slice(0, -QUIET_MAX).forEach((line) => line.remove());
});
const call = (person, as = person) => {
  for (const item of [...of(people, person), ...of(list, person)]) {
    item.querySelector(".who").replaceWith(whoIs(as));
    item.querySelector(".face").replaceWith(faceOf(as));
  }
};
// Many members join or leave at once when a connection that they share is cut.
const say = (all, verb) => {
  sum();
  const names = all.slice(0, 3).map((person) => whoIs({ ...person, bot: false, role: "" }).textContent).join(", ");
  const others = all.length > 3 ? ` and ${all.length - 3} others` : "";
  if (all.length) announce(`${names}${others} ${verb}.`);
};

// The frames of the stream about members.
export const frames = {
  people: ({ people: all }) => {
    people.replaceChildren(...all.map(entry));
    one("[data-people] .fine")?.remove();
    sum();
  },
  join: ({ people: all }) => {
    const come = all.filter((person) => !of(people, person).length);
    people.append(...come.map(entry));
    say(come.filter((person) => keyOf(person) !== me), "joined");
  },
  leave: ({ people: all }) => {
    const gone = all.filter((person) => of(people, person).length);
    for (const person of gone) of(people, person).forEach((item) => item.remove());
    say(gone, "left");
  },
  person: (person) => call(person),
  gone: (person) => call(person, { username: LEFT, nickname: LEFT, letter: "?" }),
};
