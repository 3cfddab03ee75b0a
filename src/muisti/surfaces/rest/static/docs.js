"use strict";

const search = document.getElementById("search");
const menu = document.getElementById("menu");
const none = document.getElementById("none");
const operations = [...document.querySelectorAll(".operation")];
const links = new Map(
  [...menu.querySelectorAll("li li")].map((item) => [item.firstElementChild.hash.slice(1), item]),
);

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const operation of operations) {
    const summary = operation.querySelector("summary").textContent;
    const text = `${summary} ${operation.id} ${operation.querySelector("p").textContent}`.toLowerCase();
    const matches = words.every((word) => text.includes(word));
    operation.hidden = !matches;
    links.get(operation.id).hidden = !matches;
    found += matches;
  }
  for (const group of document.querySelectorAll("main section, #menu > ul > li")) {
    const items = [...group.querySelectorAll(".operation, li")];
    group.hidden = items.length > 0 && items.every((item) => item.hidden);
    if (words.length && items.length === 0) group.hidden = true;
    else if (items.length === 0) group.hidden = false;
  }
  none.hidden = found > 0;
}

function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target === null) return;
  if (target.matches("details")) target.open = true;
  target.scrollIntoView();
}

const canCopy = navigator.clipboard !== undefined; // not over plain HTTP from another machine
for (const block of canCopy ? document.querySelectorAll(".code") : []) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.querySelector("code").textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  block.append(button);
}

const narrow = matchMedia("(max-width: 60rem)");
if (narrow.matches) menu.open = false;
menu.addEventListener("click", (event) => {
  if (narrow.matches && event.target.closest("a")) menu.open = false;
});
search.hidden = false;
search.addEventListener("input", filter);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.target.matches("input")) {
    event.preventDefault();
    search.focus();
  } else if (event.key === "Escape" && event.target === search) {
    search.value = "";
    filter();
  }
});
addEventListener("hashchange", openTarget);
openTarget();
