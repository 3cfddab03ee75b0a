// Keys, forms that send themselves, and pages that show by themselves what changed. All pages work without it.
(() => {
  "use strict";
  document.documentElement.classList.add("scripted");

  const typing = (element) => element.closest("input, textarea, select, [contenteditable]");

  const rows = () => [...document.querySelectorAll("[data-row] a.title")];

  const rowHere = () => document.activeElement.closest("[data-row]");

  function move(step) {
    const all = rows();
    const here = rowHere();
    const at = here ? all.findIndex((link) => here.contains(link)) : -1;
    const box = document.getElementById("q");
    if (at + step < 0 && box) return box.focus(); // above the first result is the question
    const next = all[Math.max(0, Math.min(all.length - 1, at + step))];
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
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing(event.target)) {
      if (event.key === "Escape") {
        if (event.target.type === "search") event.preventDefault(); // browsers would empty it, and what was found would be gone
        event.target.blur();
      }
      if (event.key === "/" && event.target.id === "q" && !event.target.value) event.preventDefault(); // already here
      if (event.key === "ArrowDown" && event.target.id === "q" && rows().length) event.preventDefault(), rows()[0].focus();
      return;
    }
    if (event.key.length > 1 && !rowHere()) return; // arrows scroll as ever, but from row to row
    if (keys[event.key]) event.preventDefault(), keys[event.key]();
  });

  // What was found, in few words, for those who hear the page: the list itself would be read out whole.
  document.addEventListener("htmx:after:swap", () => {
    const heard = document.getElementById("heard"), found = document.querySelectorAll("#results [data-row]").length;
    if (heard) heard.textContent = found ? `${found} found` : "Nothing found";
  });

  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-autosubmit]");
    const half = event.target.type === "date" && event.target.value && event.target.value < "1000"; // a year that is being typed
    if (form && !half) form.requestSubmit();
  });

  // What the server answers changes when the vault did. The page asks only while somebody looks at it.
  const pulse = document.body.dataset.live;
  let last = null;
  async function look() {
    if (document.visibilityState !== "visible") return;
    try {
      const answer = await fetch(pulse, { cache: "no-store" });
      const now = answer.ok ? await answer.text() : last;
      if (last !== null && now !== last) refresh();
      last = now;
      document.body.dataset.heard = now;
    } catch { /* the server is gone; the next look tells */ }
  }
  function refresh() {
    document.body.dispatchEvent(new CustomEvent("vault-changed"));
    const part = document.querySelector("[data-refresh]");
    if (part && !part.contains(document.activeElement)) {
      htmx.ajax("GET", location.href, { target: "[data-refresh]", select: "[data-refresh]", swap: "outerHTML" });
    }
  }
  if (pulse) look(), setInterval(look, 1000);
})();
