// Keyboard shortcuts, forms that submit on change, and live refresh. All pages work without it.
(() => {
  "use strict";
  document.documentElement.classList.add("scripted");

  const isInput = (element) => element.closest("input, textarea, select, [contenteditable]");

  const rows = () => [...document.querySelectorAll("[data-row] a.title")];

  const focusedRow = () => document.activeElement.closest("[data-row]");

  function move(step) {
    const all = rows();
    const row = focusedRow();
    const index = row ? all.findIndex((link) => row.contains(link)) : -1;
    const box = document.getElementById("q");
    if (index + step < 0 && box) return box.focus(); // above the first result is the search box
    const next = all[Math.max(0, Math.min(all.length - 1, index + step))];
    if (next) {
      next.focus();
      next.scrollIntoView({ block: "nearest" });
    }
  }

  const keys = {
    "/": () => {
      const box = document.getElementById("q");
      if (box) box.select(), box.focus();
      else location.assign("/");
    },
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Escape: () => document.getElementById("q")?.focus(),
    n: () => location.assign("/new"),
    e: () => document.querySelector("[data-shortcut=e]")?.click(),
    "?": () => shortcuts.showModal(),
  };

  const shortcuts = document.getElementById("keys");
  for (const button of document.querySelectorAll("[data-opens=keys]")) button.addEventListener("click", () => shortcuts.showModal());
  shortcuts.addEventListener("click", (event) => { if (event.target === shortcuts) shortcuts.close(); }); // outside of it

  // On a phone the navigation scrolls; the current page must be in view.
  const nav = document.querySelector(".side nav");
  const current = nav.querySelector("[aria-current]");
  if (current) nav.scrollLeft = current.offsetLeft - (nav.clientWidth - current.offsetWidth) / 2;

  document.addEventListener("keydown", (event) => {
    if (shortcuts.open) {
      if (event.key === "?") shortcuts.close(); // browsers close it with Escape
      return;
    }
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") event.target.closest("form.edit")?.requestSubmit();
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (isInput(event.target)) {
      if (event.key === "Escape") {
        if (event.target.type === "search") event.preventDefault(); // browsers would clear it, and with it the results
        event.target.blur();
      }
      if (event.key === "/" && event.target.id === "q" && !event.target.value) event.preventDefault(); // already focused
      if (event.key === "ArrowDown" && event.target.id === "q" && rows().length) event.preventDefault(), rows()[0].focus();
      return;
    }
    if (event.key.length > 1 && !focusedRow()) return; // outside the list, arrow keys scroll
    if (keys[event.key]) event.preventDefault(), keys[event.key]();
  });

  // Screen readers hear the number of results instead of the whole list.
  document.addEventListener("htmx:after:swap", () => {
    const status = document.getElementById("result-count");
    const count = document.querySelectorAll("#results [data-row]").length;
    if (status) status.textContent = count ? `${count} ${count === 1 ? "result" : "results"}` : "No results";
  });

  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-autosubmit]");
    const isIncomplete = event.target.type === "date" && event.target.value && event.target.value < "1000"; // the year is being typed
    if (form && !isIncomplete) form.requestSubmit();
  });

  // The revision changes with the vault. Only a visible page polls it.
  const revisionUrl = document.body.dataset.revisionUrl;
  let last = null;
  async function poll() {
    if (document.visibilityState !== "visible") return;
    try {
      const response = await fetch(revisionUrl, { cache: "no-store" });
      const revision = response.ok ? await response.text() : last;
      if (last !== null && revision !== last) refresh();
      last = revision;
      document.body.dataset.revision = revision;
    } catch { /* the server is down; try again at the next poll */ }
  }
  function refresh() {
    document.body.dispatchEvent(new CustomEvent("vault-changed"));
    const part = document.querySelector("[data-refresh]");
    if (part && !part.contains(document.activeElement)) {
      htmx.ajax("GET", location.href, { target: "[data-refresh]", select: "[data-refresh]", swap: "outerHTML" });
    }
  }
  if (revisionUrl) poll(), setInterval(poll, 1000);
})();
