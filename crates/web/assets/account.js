// Checks fields while they are typed, by the rules of the server.
for (const input of document.querySelectorAll("[data-check]")) {
  const id = `${input.id}-error`;
  let pause, asked = 0;
  const say = (text) => {
    let error = document.getElementById(id);
    if (!error) {
      error = document.createElement("p");
      error.className = "error";
      error.id = id;
      error.setAttribute("role", "status");
      input.after(error);
      input.setAttribute("aria-describedby", `${id} ${input.getAttribute("aria-describedby") ?? ""}`.trim());
    }
    error.textContent = text ?? "";
    error.hidden = !text;
    if (text) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  };
  const look = async () => {
    const mine = ++asked;
    if (!input.value) return say("");
    const username = document.getElementById(input.dataset.check)?.value ?? "";
    const body = new URLSearchParams({ field: input.name, value: input.value, username });
    try {
      const answer = await fetch("/account/check", { method: "POST", body });
      if (answer.ok && mine === asked) say((await answer.json()).problem);
    } catch {
      // The server checks the form again when it is sent.
    }
  };
  input.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(look, 300);
  });
}

// Previews the chosen picture before it is sent.
for (const input of document.querySelectorAll("[data-preview]")) {
  const image = document.getElementById(input.dataset.preview);
  input.addEventListener("change", () => {
    const [file] = input.files;
    const isTooLong = file?.size > Number(input.dataset.bytesMax);
    input.setCustomValidity(isTooLong ? input.dataset.tooLong : "");
    if (isTooLong) input.reportValidity();
    if (!file || isTooLong) return;
    const reader = new FileReader();
    reader.addEventListener("load", () => {
      image.src = reader.result;
      image.hidden = false;
    });
    reader.readAsDataURL(file);
  });
}
