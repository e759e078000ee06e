// The API documentation: a filter, copy buttons, and operations that open by their address.

const operations = [...document.querySelectorAll(".op")];
const sections = document.querySelectorAll("main section, main .group");
const links = document.querySelectorAll("#contents a");
const filter = document.getElementById("filter");
const shown = document.getElementById("shown");
const expand = document.getElementById("expand");
const visible = () => operations.filter((operation) => !operation.hidden);

function apply() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const operation of operations) {
    const text = operation.firstElementChild.textContent.toLowerCase();
    operation.hidden = !words.every((word) => text.includes(word));
  }
  for (const section of sections) {
    section.hidden = words.length > 0 && !section.querySelector(".op:not([hidden])");
  }
  for (const link of links) {
    link.hidden = document.getElementById(link.hash.slice(1)).closest(".group, section").hidden;
  }
  const count = visible().length;
  shown.textContent = words.length ? `${count} of ${operations.length} operations` : `${operations.length} operations`;
  expand.hidden = count === 0;
  label();
}

function label() {
  expand.textContent = visible().some((operation) => !operation.open) ? "Expand all" : "Collapse all";
}

// Opens what the address names.
function reveal() {
  const target = document.getElementById(location.hash.slice(1));
  if (!target) return;
  if (target.closest("[hidden]")) {
    filter.value = "";
    apply();
  }
  for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  target.scrollIntoView();
}

filter.addEventListener("input", apply);
expand.addEventListener("click", () => {
  const open = expand.textContent === "Expand all";
  for (const operation of visible()) operation.open = open;
  label();
});
for (const operation of operations) {
  operation.addEventListener("toggle", label);
  // The address of an operation that the reader opens can be shared.
  operation.firstElementChild.addEventListener("click", () => {
    if (!operation.open) history.replaceState(null, "", `#${operation.lastElementChild.id}`);
  });
}
for (const link of links) {
  link.addEventListener("click", () => link.closest("nav").hidePopover?.());
}
if (navigator.clipboard) {
  for (const pre of document.querySelectorAll(".op pre")) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "button quiet copy", textContent: "Copy" });
    button.dataset.copy = pre.textContent;
    pre.before(button);
  }
}

document.getElementById("find").hidden = false;
addEventListener("hashchange", reveal);
apply();
reveal();
