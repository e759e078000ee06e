// The box to write in: it grows with the text, checks it by the server's rules, and takes pictures from the clipboard
// and by drag and drop.
import { board, button, form, isSendKey, entersToSend, make, one } from "./board_page.js";
import { completeNames } from "./board_names.js";

const FEW_LEFT = 500;
const QUOTE_CHARS = 80;

const { body: field, picture: file } = form.elements;
const most = Number(field.dataset.max);
const note = form.querySelector("[data-note]");

// Browsers without `field-sizing` need help to grow the box.
const grow = () => {
  if (CSS.supports("field-sizing", "content")) return;
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight + 4}px`;
};
const check = () => {
  const length = [...field.value.trim()].length;
  const isOdd = /(?![\n\r\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/u.test(field.value);
  const problem = length > most ? `Over the limit by ${length - most}.` : isOdd ? "Control characters are not allowed." : "";
  const [picture] = file.files;
  field.setCustomValidity(problem || (length || picture ? "" : "Write a message first."));
  file.setCustomValidity(picture?.size > Number(file.dataset.bytesMax) ? file.dataset.tooLong : "");
  field.setAttribute("aria-invalid", problem !== "");
  note.textContent = problem || (length > most - FEW_LEFT ? `Characters left: ${most - length}.` : "");
  grow();
};
field.addEventListener("input", check);

// The chosen picture, by its name.
const showPicture = () => {
  form.querySelector(".chosen")?.remove();
  const [picture] = file.files;
  if (picture) {
    const remove = button("Remove", () => {
      file.value = "";
      showPicture();
      field.focus();
    }, { ariaLabel: `Remove the picture ${picture.name}` });
    field.after(make("p", { className: "chosen" }, make("span", { className: "wrap", textContent: picture.name }), remove));
  }
  check();
};
file.addEventListener("change", showPicture);
const attach = (files) => {
  const picture = [...files].find(({ type }) => file.accept.split(",").includes(type));
  if (!picture) {
    note.textContent = "Only JPEG, PNG, WebP and GIF pictures can be attached.";
    return;
  }
  const chosen = new DataTransfer();
  chosen.items.add(picture);
  file.files = chosen.files;
  showPicture();
};
field.addEventListener("paste", (event) => {
  // A text that is copied from a document may come with a picture of itself.
  const { files, types } = event.clipboardData;
  if (!files.length || types.includes("text/plain")) return;
  event.preventDefault();
  attach(files);
});
const isFile = (event) => event.dataTransfer?.types.includes("Files");
board.addEventListener("dragover", (event) => {
  if (!isFile(event)) return;
  event.preventDefault();
  form.classList.add("drop");
});
for (const over of ["dragleave", "drop"]) {
  board.addEventListener(over, () => form.classList.remove("drop"));
}
board.addEventListener("drop", (event) => {
  if (!isFile(event)) return;
  event.preventDefault();
  attach(event.dataTransfer.files);
  field.focus();
});

// The row above the box that says which message is answered.
const removeReply = () => form.querySelector(".answers")?.remove();
const showReply = (id, ...said) => {
  removeReply();
  const hidden = make("input", { type: "hidden", name: "reply_to", value: id });
  form.prepend(make("p", { className: "answers" }, hidden, make("span", {}, ...said), " ", make("a", { href: "#box", textContent: "Cancel reply" })));
  field.dispatchEvent(new Event("input"));
  field.focus();
};
export const reply = (item) => {
  const said = item.querySelector(":scope > .said")?.textContent ?? "a picture";
  const text = [...said.replace(/\s+/g, " ").trim()];
  const beginning = text.length > QUOTE_CHARS ? `${text.slice(0, QUOTE_CHARS).join("")}…` : text.join("");
  const names = [...item.querySelectorAll(".who bdi, .who .handle")].flatMap((name) => [" ", name.cloneNode(true)]);
  showReply(item.id.slice(1), "Replying to", ...names, `: ${beginning}`);
};
form.addEventListener("click", (event) => {
  if (!event.target.closest(".answers a")) return;
  event.preventDefault();
  removeReply();
  field.dispatchEvent(new Event("input"));
  field.focus();
});

export const reset = () => {
  removeReply();
  field.value = file.value = "";
  showPicture();
};
// Puts an unsent message back. A refused picture is not put back: the member chooses another one.
export const putBack = ({ body, reply_to, picture, problem }) => {
  field.value = [body, field.value].filter(Boolean).join("\n");
  if (picture && !problem) attach([picture]);
  if (reply_to && !form.elements.reply_to) showReply(reply_to, "Replying to a message.");
  check();
};

completeNames(field);
field.addEventListener("keydown", (event) => {
  if (!isSendKey(event)) return;
  event.preventDefault();
  form.requestSubmit();
});
const help = form.querySelector(".help");
help.addEventListener("keydown", ({ key }) => {
  if (key === "Escape") help.open = false;
});
document.addEventListener("click", ({ target }) => {
  if (!help.contains(target)) help.open = false;
});
if (entersToSend) one("[data-keys]").hidden = false;
// The key / leads to the box, unless it is typed.
document.addEventListener("keydown", (event) => {
  const isTyped = event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyped) return;
  event.preventDefault();
  field.focus();
});
showPicture();
