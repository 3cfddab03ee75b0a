// One key each on the review page. Every key presses a button that is on the page.
(() => {
  "use strict";

  // Only one form is open, and it has the focus.
  function open(form) {
    for (const other of document.querySelectorAll("details.add[open]")) if (other !== form) other.open = false;
    form.open = true;
    const text = form.querySelector("textarea");
    if (text === document.activeElement) return;
    text.focus();
    text.setSelectionRange(text.value.length, text.value.length);
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const form = event.target.closest("details.add");
    if (form && event.key === "Escape") {
      form.open = false;
      form.closest("[data-row]").querySelector("a.title").focus();
      return;
    }
    if (event.target.closest("input, textarea, select")) return;
    if (event.key.length > 1 || document.querySelector("dialog[open]")) return;
    const row = document.activeElement.closest("[data-row]");
    const key = CSS.escape(event.key);
    const button = row?.querySelector(`[data-key="${key}"]`) ?? document.querySelector(`.notice [data-key="${key}"]`);
    if (!button) return;
    event.preventDefault();
    if (button.matches("summary")) open(button.parentElement); // at once: the toggle event comes after the next key
    else button.click();
  });

  document.addEventListener("toggle", (event) => {
    if (event.target.matches("details.add") && event.target.open) open(event.target);
  }, true);
})();
