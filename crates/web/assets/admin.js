// A form that creates something is sent once, also by a double click.
for (const form of document.querySelectorAll("form[data-once]")) {
  form.addEventListener("submit", (event) => {
    if ("sent" in form.dataset) event.preventDefault();
    form.dataset.sent = "";
  });
  addEventListener("pageshow", () => delete form.dataset.sent);
}
