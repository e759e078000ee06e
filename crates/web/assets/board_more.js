// Message actions in place, and unread counts of other channels. Without this script, each message's own page has all
// of its actions.
const board = document.getElementById("board");
const list = document.getElementById("messages");
const box = document.getElementById("box");
const { me, signs } = board.dataset;

const ASK_MAX = 15000;
const UNREAD_EACH = 60000;
const UNREAD_MAX = 100;
const QUOTE_CHARS = 80;

const ask = (url, more) => fetch(url, { ...more, signal: AbortSignal.timeout(ASK_MAX) }).catch(() => {});
const make = (tag, more = {}) => Object.assign(document.createElement(tag), more);
const button = (text, work, more) => {
  const made = make("button", { type: "button", textContent: text, ...more });
  made.addEventListener("click", work);
  return made;
};
const message = (element) => element.closest("#messages > [id]");
const linkOf = (item) => item.querySelector(".by > a");
const isReadable = (item) => item?.querySelector(":scope > :is(.said, .picture)");

// Posts the form that the message's own page would post. The result arrives as an event on the stream.
const change = async (item, fields) => {
  const headers = { Accept: "application/json" };
  const answer = await ask(linkOf(item).href, { method: "POST", headers, body: new URLSearchParams(fields) });
  const now = document.getElementById(item.id) ?? item;
  now.querySelector(":scope > .error")?.remove();
  if (answer?.ok) return true;
  const { detail } = (await answer?.json().catch(() => {})) ?? { detail: "the server is not reachable; try again" };
  const why = make("p", { className: "error", textContent: `That did not work: ${detail}.` });
  why.role = "alert";
  now.append(why);
  return false;
};

// One toolbar for all messages, moved to the message with the pointer or the focus.
const bar = make("div", { className: "acts", role: "toolbar", ariaLabel: "Message actions" });
const close = () => bar.classList.remove("pinned");
const leave = () => {
  close();
  linkOf(message(bar)).focus({ preventScroll: true });
};
const fill = (item) => {
  const mine = new Set([...item.querySelectorAll("[name=unreact]")].map(({ value }) => value));
  const toSign = (sign) => {
    const made = button(sign, () => {
      const isMine = made.ariaPressed === "true";
      leave();
      change(message(bar), { [isMine ? "unreact" : "react"]: sign });
    }, { ariaPressed: mine.has(sign), className: "choice" });
    return made;
  };
  const own = [button("Edit", () => edit(message(bar))), button("Delete", () => confirmDelete(message(bar)))];
  const more = make("a", { href: linkOf(item).href, textContent: "More" });
  const answer = button("Reply", () => reply(message(bar)));
  bar.replaceChildren(...signs.split(" ").map(toSign), answer, ...(item.dataset.by === me ? own : []), more);
};
const attach = (item) => {
  if (!isReadable(item) || bar.parentElement === item || bar.querySelector(":focus-visible")) return;
  close();
  item.append(bar);
  fill(item);
};
const confirmDelete = (item) => {
  const no = button("No", () => {
    fill(message(bar));
    bar.querySelector("button").focus();
  });
  const yes = button("Yes, delete it", () => change(item, { action: "delete" }));
  bar.replaceChildren(make("span", { textContent: "This removes its text for all readers." }), yes, no);
  no.focus();
};
for (const looks of ["mouseover", "focusin"]) {
  list.addEventListener(looks, ({ target }) => attach(message(target)));
}
list.addEventListener("click", (event) => {
  const item = event.target.closest(".by > a") && message(event.target);
  if (!isReadable(item) || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  attach(item);
  if (bar.classList.toggle("pinned")) bar.querySelector("button").focus();
});
bar.addEventListener("keydown", ({ key }) => {
  if (key === "Escape") leave();
});
list.addEventListener("submit", async (event) => {
  if (!event.submitter?.name) return;
  event.preventDefault();
  const { name, value } = event.submitter;
  change(message(event.target), { [name]: value });
});

// Replying: a quote of the message is shown above the box.
const reply = (item) => {
  close();
  box.querySelector(".answers")?.remove();
  const said = item.querySelector(":scope > .said")?.textContent ?? "a picture";
  const text = [...said.replace(/\s+/g, " ").trim()];
  const beginning = text.length > QUOTE_CHARS ? `${text.slice(0, QUOTE_CHARS).join("")}…` : text.join("");
  const row = make("p", { className: "answers" });
  const words = make("span");
  words.append("Replying to ", item.querySelector(".who bdi").cloneNode(true), `: ${beginning}`);
  const id = make("input", { type: "hidden", name: "reply_to", value: item.id.slice(1) });
  row.append(id, words, " ", make("a", { href: "#box", textContent: "Cancel reply" }));
  box.prepend(row);
  box.elements.body.focus();
};
box.addEventListener("click", (event) => {
  if (!event.target.closest(".answers a")) return;
  event.preventDefault();
  box.querySelector(".answers").remove();
  box.elements.body.focus();
});

// Editing. The source text, as typed, is read from the message's own page.
const source = async (item) => {
  const answer = await ask(linkOf(item).href);
  const page = answer?.ok ? await answer.text().catch(() => {}) : undefined;
  if (page) return new DOMParser().parseFromString(page, "text/html").getElementById("body")?.value;
};
const edit = async (item) => {
  close();
  if (item.querySelector(":scope > .change")) return;
  const value = await source(item);
  if (value === undefined) return (location.href = linkOf(item).href);
  const form = make("form", { className: "change" });
  const field = make("textarea", { value, rows: 3, required: true, dir: "auto", ariaLabel: "Edit message" });
  const done = () => {
    const now = message(form);
    form.remove();
    linkOf(now).focus({ preventScroll: true });
  };
  const actions = make("p", { className: "actions" });
  actions.append(make("button", { className: "button", textContent: "Save" }), button("Cancel", done, { className: "button quiet" }));
  form.append(field, actions);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (await change(message(form), { action: "edit", body: field.value })) done();
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") done();
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || !matchMedia("(pointer: fine)").matches) return;
    event.preventDefault();
    form.requestSubmit();
  });
  document.getElementById(item.id).append(form);
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
  const mine = new Set([...item.querySelectorAll("[name=unreact]")].map(({ value }) => value));
  if (item.contains(bar)) bar.querySelectorAll(".choice").forEach((sign) => (sign.ariaPressed = mine.has(sign.textContent)));
  if (document.activeElement !== document.body) return;
  if (kept.some((one) => one.contains(last))) last.focus();
  else if (gone.contains(last)) linkOf(item).focus({ preventScroll: true });
};
new MutationObserver((records) => records.forEach(({ removedNodes }) => removedNodes.forEach(goOn)))
  .observe(list, { childList: true });

// Unread counts of other channels, polled once a minute and only while the page is visible.
const counted = (number) => (number >= UNREAD_MAX ? "99+" : String(number));
const badge = (number, className, title, before = "") =>
  number ? [" ", make("span", { className, title, textContent: before + counted(number) })] : [];
const lookElsewhere = async () => {
  if (document.hidden || "ended" in board.dataset) return;
  const answer = await ask("/board/-/unread");
  const told = answer?.ok ? await answer.json().catch(() => {}) : undefined;
  if (!told) return;
  const unread = new Map(told.channels.map((one) => [one.channel, one]));
  let total = 0;
  for (const link of board.querySelectorAll(".channels a:not([aria-current])")) {
    const { messages = 0, mentions = 0 } = unread.get(link.pathname.split("/").pop()) ?? {};
    total += messages;
    link.replaceChildren(link.firstChild.textContent.trim(), ...badge(messages, "unread", "unread"), ...badge(mentions, "unread me", "mentions", "@"));
  }
  const heading = board.querySelector("[data-channels]");
  heading.replaceChildren("Channels", ...badge(total, "unread", "unread"));
};
setInterval(lookElsewhere, UNREAD_EACH);
document.addEventListener("visibilitychange", lookElsewhere);
