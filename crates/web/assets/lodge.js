// Progressive enhancement: every page works without this script.

const status = document.createElement("p");
status.className = "visually-hidden";
status.setAttribute("role", "status");
document.body.append(status);

if (navigator.clipboard) { // Only in secure contexts; the text can be selected.
  for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
}
document.addEventListener("click", async ({ target }) => {
  const button = target.closest("[data-copy]");
  if (!button) return;
  const label = button.querySelector("span") ?? button; // Beside an icon, only the text changes.
  button.dataset.usual ??= label.textContent;
  let said = "Copied";
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
  } catch {
    said = "Copying failed";
  }
  label.textContent = status.textContent = said;
  setTimeout(() => {
    label.textContent = button.dataset.usual;
    status.textContent = "";
  }, 2000);
});

// The answer clears all storage (Clear-Site-Data), but there may be none. Not before the page is left: the browser
// may ask whether to stay.
const clear = () => {
  try {
    localStorage.clear();
    sessionStorage.clear();
  } catch {
    // The browser allows no storage.
  }
};
for (const form of document.querySelectorAll("form[action='/logout']")) {
  form.addEventListener("submit", () => addEventListener("pagehide", clear));
}

for (const button of document.querySelectorAll("[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => print());
}

// The visitor's date format, if it is an English one; the pages are English.
const english = navigator.languages.find((language) => language.startsWith("en")) ?? "en-GB";
const moment = new Intl.DateTimeFormat(english, { dateStyle: "long", timeStyle: "short" });
const day = new Intl.DateTimeFormat(english, { dateStyle: "medium" });

for (const time of document.querySelectorAll("time[datetime]")) {
  const at = new Date(time.dateTime);
  time.title = time.textContent;
  time.textContent = ("day" in time.dataset ? day : moment).format(at);
}

for (const input of document.querySelectorAll("[data-local-hint]")) {
  const hint = document.getElementById(`${input.name}-hint`);
  const usual = hint.textContent;
  const say = () => {
    const at = new Date(`${input.value}Z`);
    hint.textContent = isNaN(at) ? usual : `That is ${moment.format(at)} in your time zone.`;
  };
  input.addEventListener("input", say);
  say();
}
