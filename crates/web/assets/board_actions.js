// Message actions in place. Without this script, each message's own page has all of its actions.
import { keepPlace } from "./board_list.js";
import { reply } from "./board_composer.js";
import { ask, board, button, isPlainClick, isSendKey, list, make, me } from "./board_page.js";

const signs = board.dataset.signs.split(" ");
const message = (element) => element.closest("#messages > [id]");
const linkOf = (item) => item.querySelector(".by > a");
const isReadable = (item) => item?.querySelector(":scope > :is(.said, .picture)");
const isOwn = (item) => item.dataset.by === me;

// Posts the form that the message's own page would post. The result arrives as an event on the stream.
const change = async (item, fields) => {
  const headers = { Accept: "application/json" };
  const request = { method: "POST", headers, body: new URLSearchParams(fields) };
  const answer = await ask(linkOf(item).href, request).catch(() => {});
  const now = document.getElementById(item.id) ?? item;
  now.querySelector(":scope > .error")?.remove();
  if (answer?.ok) return true;
  const { detail } = (await answer?.json().catch(() => {})) ?? { detail: "the server is not reachable; try again" };
  now.append(make("p", { className: "error", role: "alert", textContent: `Request failed: ${detail}.` }));
  return false;
};

// One toolbar for all messages. It opens below its message, where it covers nothing.
const bar = make("div", { className: "acts", role: "toolbar", ariaLabel: "Message actions" });
const isOpen = () => bar.classList.contains("pinned");
const setOpen = (is) => keepPlace(() => {
  bar.classList.toggle("pinned", is);
  const item = message(bar);
  if (item) linkOf(item).ariaExpanded = String(is);
});
const leave = () => {
  setOpen(false);
  linkOf(message(bar)).focus({ preventScroll: true });
};
// Tab stops once in the toolbar; the arrow keys move within it.
const stops = () => [...bar.querySelectorAll("button, a")];
const stopAt = (stop) => stops().forEach((other) => (other.tabIndex = other === stop ? 0 : -1));
const fillWith = (...parts) => {
  bar.replaceChildren(...parts);
  stopAt(stops()[0]);
};
const fill = (item) => {
  const mine = new Set([...item.querySelectorAll("[name=unreact]")].map(({ value }) => value));
  const toSign = (sign) => {
    const made = button(sign, () => {
      const isMine = made.ariaPressed === "true";
      leave();
      change(message(bar), { [isMine ? "unreact" : "react"]: sign });
    }, { ariaPressed: String(mine.has(sign)), className: "choice" });
    return made;
  };
  const act = (text, work) => button(text, () => work(message(bar)), { className: "" });
  const lead = (textContent, anchor) => make("a", { href: linkOf(item).href + anchor, textContent });
  const more = isOwn(item) ? [act("Edit", edit), act("Delete", confirmDelete)] : [lead("Report", "#report")];
  fillWith(...signs.map(toSign), act("Reply", (of) => {
    setOpen(false);
    reply(of);
  }), ...more, lead("More", ""));
};
const open = (item) => {
  if (isOpen()) setOpen(false);
  item.append(bar);
  fill(item);
  setOpen(true);
  stops()[0].focus({ preventScroll: true });
  bar.scrollIntoView({ block: "nearest" });
};
const confirmDelete = (item) => {
  const no = button("No", () => {
    fill(message(bar));
    stops()[0].focus();
  });
  const yes = button("Yes, delete it", () => change(item, { action: "delete" }), { className: "button bad" });
  fillWith(make("span", { textContent: "This removes its text for all readers." }), yes, no);
  no.focus();
};
bar.addEventListener("keydown", (event) => {
  if (event.key === "Escape") return leave();
  const all = stops();
  const at = all.indexOf(document.activeElement);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
  if (to === undefined || at < 0) return;
  event.preventDefault();
  all.at(to % all.length).focus();
});
bar.addEventListener("focusin", ({ target }) => stopAt(target));
// The link to a message's page opens the toolbar.
const prepare = (item) => {
  if (isReadable(item)) Object.assign(linkOf(item), { role: "button", ariaExpanded: String(item.contains(bar) && isOpen()) });
};
const toggle = (item) => (item.contains(bar) && isOpen() ? leave() : open(item));
list.addEventListener("click", (event) => {
  const item = event.target.closest(".by > a") && message(event.target);
  if (!isReadable(item) || !isPlainClick(event)) return;
  event.preventDefault();
  toggle(item);
});
list.addEventListener("keydown", (event) => {
  if (event.key !== " " || !event.target.matches(".by > a[role=button]")) return;
  event.preventDefault();
  toggle(message(event.target));
});
list.addEventListener("submit", (event) => {
  if (!event.submitter?.name) return;
  event.preventDefault();
  const { name, value } = event.submitter;
  change(message(event.target), { [name]: value });
});

// Two shortcuts for a mouse beside the message under it; the toolbar has both.
const quick = make("span", { className: "quick", ariaHidden: "true" },
  button("☺", () => open(message(quick)), { className: "", title: "React", tabIndex: -1 }),
  button("↩", () => reply(message(quick)), { className: "", title: "Reply", tabIndex: -1 }));
list.addEventListener("pointerover", ({ target, pointerType }) => {
  const item = message(target);
  if (pointerType === "mouse" && isReadable(item) && quick.parentElement !== item) item.append(quick);
});

// Editing. The source text, as typed, is read from the message's own page.
const source = async (item) => {
  const answer = await ask(linkOf(item).href).catch(() => {});
  const page = answer?.ok ? await answer.text().catch(() => {}) : undefined;
  if (page) return new DOMParser().parseFromString(page, "text/html").getElementById("body")?.value;
};
const edit = async (item) => {
  setOpen(false);
  if (item.querySelector(":scope > .change")) return;
  const value = await source(item);
  if (value === undefined) return (location.href = linkOf(item).href);
  const field = make("textarea", { value, rows: 3, required: true, dir: "auto", ariaLabel: "Edit message" });
  const done = () => {
    const now = message(form);
    form.remove();
    linkOf(now).focus({ preventScroll: true });
  };
  const save = make("button", { className: "button", textContent: "Save" });
  const form = make("form", { className: "change" }, field, make("p", { className: "actions" }, save, button("Cancel", done)));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (await change(message(form), { action: "edit", body: field.value })) done();
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") done();
    if (!isSendKey(event)) return;
    event.preventDefault();
    form.requestSubmit();
  });
  keepPlace(() => document.getElementById(item.id).append(form));
  field.focus();
};

// An event replaces a message's element. The toolbar, an open edit form and the focus move to the new element.
let last;
list.addEventListener("focusin", ({ target }) => (last = target));
const goOn = (gone) => {
  const item = gone.id ? document.getElementById(gone.id) : undefined;
  if (!isReadable(item)) return;
  const kept = [...gone.querySelectorAll(":scope > :is(.acts, .change)")];
  item.append(...kept);
  prepare(item);
  const mine = new Set([...item.querySelectorAll("[name=unreact]")].map(({ value }) => value));
  if (item.contains(bar)) bar.querySelectorAll(".choice").forEach((sign) => (sign.ariaPressed = String(mine.has(sign.textContent))));
  if (document.activeElement !== document.body) return;
  if (kept.some((one) => one.contains(last))) last.focus();
  else if (gone.contains(last)) linkOf(item).focus({ preventScroll: true });
};
new MutationObserver((records) => {
  for (const { removedNodes, addedNodes } of records) {
    removedNodes.forEach(goOn);
    addedNodes.forEach((added) => added.id && prepare(added));
  }
}).observe(list, { childList: true });
[...list.children].filter(({ id }) => id).forEach(prepare);
