// Completes the name behind an @: by the members on the page, then by those whom the server knows.
import { ask, board, form, make, me } from "./board_page.js";

const SHOWN_MAX = 8;
const PAUSE = 150;

// The name that is being typed before the caret; undefined without one.
const typedIn = ({ value, selectionStart, selectionEnd }) =>
  selectionStart === selectionEnd
    ? /(?:^|[^\p{L}\p{N}._@/-])@([\p{L}\p{N}._-]{0,30})$/u.exec(value.slice(0, selectionStart))?.[1]
    : undefined;
// The members in the channel and the authors of its messages: usernames with nicknames.
const onPage = () => {
  const known = new Map();
  for (const item of board.querySelectorAll("#people > li, #messages > [data-by]")) {
    const { by } = item.dataset;
    if (by && by !== me && !by.startsWith("bot ")) known.set(by, item.querySelector(".who bdi").textContent);
  }
  return known;
};
const onServer = async (typed) => {
  const answer = await ask(`/board/-/names?q=${encodeURIComponent(typed)}`).catch(() => {});
  const { people } = answer?.ok ? await answer.json().catch(() => ({ people: [] })) : { people: [] };
  return people.map(({ username, nickname }) => [username, nickname]);
};

export const completeNames = (field) => {
  const box = make("ul", { id: "names", className: "names", role: "listbox", ariaLabel: "Members" });
  let active = 0, timer;
  const close = () => {
    clearTimeout(timer);
    box.remove();
    field.removeAttribute("aria-controls");
    field.removeAttribute("aria-activedescendant");
  };
  const activate = (index) => {
    const options = [...box.children];
    active = (index + options.length) % options.length;
    options.forEach((option, place) => (option.ariaSelected = String(place === active)));
    field.setAttribute("aria-activedescendant", options[active].id);
  };
  const choose = ({ dataset }) => {
    const caret = field.selectionStart;
    field.setRangeText(`@${dataset.name} `, caret - typedIn(field).length - 1, caret, "end");
    close();
    field.dispatchEvent(new Event("input"));
  };
  const toOption = ([username, nickname], place) => {
    const option = make("li", { id: `name-${place}`, role: "option" }, make("bdi", { textContent: nickname }));
    option.append(" ", make("span", { className: "handle", textContent: `@${username}` }));
    option.dataset.name = username;
    option.addEventListener("pointerdown", (event) => {
      event.preventDefault(); // The box keeps the focus.
      choose(option);
    });
    return option;
  };
  const show = (members, typed) => {
    const matches = [...members].filter((names) => names.some((name) => name.toLowerCase().startsWith(typed.toLowerCase())));
    const isDone = matches.length === 1 && matches[0][0] === typed;
    if (!matches.length || isDone) return close();
    box.replaceChildren(...matches.slice(0, SHOWN_MAX).map(toOption));
    form.append(box);
    field.setAttribute("aria-controls", box.id);
    activate(0);
  };
  const complete = () => {
    clearTimeout(timer);
    const typed = typedIn(field);
    if (typed === undefined) return close();
    show(onPage(), typed);
    if (typed) {
      timer = setTimeout(async () => {
        const known = await onServer(typed);
        if (typedIn(field) === typed && document.activeElement === field) show(new Map([...onPage(), ...known]), typed);
      }, PAUSE);
    }
  };
  const keys = {
    ArrowDown: () => activate(active + 1),
    ArrowUp: () => activate(active - 1),
    Enter: () => choose(box.children[active]),
    Tab: () => choose(box.children[active]),
    Escape: close,
  };
  field.setAttribute("aria-autocomplete", "list");
  field.addEventListener("input", complete);
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    if (!box.isConnected || event.isComposing || event.shiftKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    keys[event.key]();
  }, true);
};
