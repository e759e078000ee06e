// A form that creates something is sent once, also by a double click. After this time it can be sent again: the
// browser may have given up the request.
const PAUSE = 5000;

for (const form of document.querySelectorAll("form[data-once]")) {
  form.addEventListener("submit", (event) => {
    if ("sent" in form.dataset) event.preventDefault();
    form.dataset.sent = "";
    setTimeout(() => delete form.dataset.sent, PAUSE);
  });
  addEventListener("pageshow", () => delete form.dataset.sent);
}
