// What makes pages nicer. All of them work without it.

const status = document.createElement("p");
status.className = "visually-hidden";
status.setAttribute("role", "status");
document.body.append(status);

for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) break; // Only secure origins have one; the text can be selected.
  button.hidden = false;
  const label = button.textContent;
  button.addEventListener("click", async () => {
    let said = "Copied";
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
    } catch {
      said = "Could not copy";
    }
    button.textContent = status.textContent = said;
    setTimeout(() => {
      button.textContent = label;
      status.textContent = "";
    }, 2000);
  });
}

for (const button of document.querySelectorAll("[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => print());
}

// The visitor's own way of writing times, as far as it is English like the page.
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
    hint.textContent = isNaN(at) ? usual : `That is ${moment.format(at)} where you are.`;
  };
  input.addEventListener("input", say);
  say();
}
