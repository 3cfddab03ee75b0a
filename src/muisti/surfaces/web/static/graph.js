// Draws the graph with cytoscape: find, select with the pointer or the keyboard, zoom. The list on the page has the same content.
(async () => {
  "use strict";
  document.documentElement.classList.add("scripted"); // app.js does it too, but may come later
  const container = document.getElementById("graph");
  if (!container) return;
  const [tip, card, find, status] = ["graph-tip", "graph-card", "find", "find-status"].map((id) => document.getElementById(id));
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const { nodes, edges } = await (await fetch(container.dataset.source)).json();
  const shorten = (text, length) => ([...text].length > length ? `${[...text].slice(0, length - 1).join("").trimEnd()}…` : text);
  const drawing = cytoscape({
    container,
    elements: [...nodes.map((data) => ({ data: { ...data, short: shorten(data.label, 34) } })), ...edges.map((data) => ({ data }))],
    layout: { name: "preset" }, maxZoom: 4, minZoom: 0.02, autounselectify: true, boxSelectionEnabled: false,
  });
  const byLinks = drawing.nodes().toArray().sort((a, b) => b.data("links") - a.data("links") || (a.id() < b.id() ? -1 : 1));

  // The legend has the colours, for both colour schemes.
  const colourOf = (element, name = "color") => getComputedStyle(element)[name];
  function readColours() {
    const read = (name) => Object.fromEntries([...document.querySelectorAll(`.legend [data-${name}]`)].map((one) => [one.dataset[name], colourOf(one)]));
    return { ink: colourOf(document.body), back: colourOf(container, "backgroundColor"), accent: colourOf(document.querySelector(".side [aria-current]")), hues: read("hue"), links: read("link") };
  }
  let colours = readColours();
  let fitted = 1; // the zoom at which everything is in view

  // Sizes on the screen: labels and lines keep theirs at every zoom, dots grow a little.
  function makeStyle() {
    const zoom = drawing.zoom(), grown = Math.max(1, zoom / fitted) ** 0.35 / zoom;
    const smallest = nodes.length > 100 ? 5 : nodes.length > 25 ? 8 : 12;
    const size = (node) => Math.min(24, smallest + 2.2 * Math.sqrt(node.data("links"))) * grown;
    const text = { color: colours.ink, "font-family": "system-ui, sans-serif", "text-background-color": colours.back, "text-background-opacity": 0.82, "text-background-shape": "roundrectangle", "text-background-padding": 2 / zoom };
    return [
      { selector: "node", style: { width: size, height: size, "background-color": (node) => colours.hues[node.data("hue")], "border-width": 1 / zoom, "border-color": colours.back } },
      { selector: "node[!matches]", style: { "background-color": colours.back, "border-color": (node) => colours.hues[node.data("hue")], "border-width": 1.5 / zoom } },
      { selector: "node.named", style: { label: "data(short)", "font-size": 12 / zoom, "text-valign": "bottom", "text-margin-y": 3 / zoom, "z-index": 5, ...text } },
      { selector: "node.above", style: { "text-valign": "top", "text-margin-y": -3 / zoom } },
      { selector: "edge", style: { width: 1.1 / zoom, opacity: 0.65, "line-color": (edge) => colours.links[edge.data("type")], "target-arrow-color": (edge) => colours.links[edge.data("type")], "target-arrow-shape": "triangle", "arrow-scale": Math.min(1, 0.55 / zoom), "curve-style": "bezier" } },
      { selector: "edge[?proposed]", style: { "line-style": "dashed", "line-dash-pattern": [5 / zoom, 3 / zoom] } },
      { selector: ".faded", style: { opacity: 0.13 } },
      { selector: "edge.near", style: { width: 2 / zoom, opacity: 1, "z-index": 3 } },
      { selector: edges.length <= 12 && container.clientWidth > 600 ? "edge" : "edge.near.named", style: { label: "data(label)", "font-size": 10.5 / zoom, "text-rotation": "autorotate", ...text } },
      { selector: "node[?centre], node.chosen", style: { "border-width": 3 / zoom, "border-color": colours.ink, "z-index": 6 } },
      { selector: "node.chosen", style: { "font-weight": 700 } },
    ];
  }

  // The width beside the card; on a phone the card is below the drawing.
  const getFreeWidth = () => container.clientWidth - (!card.hidden && getComputedStyle(card).position === "absolute" ? card.offsetWidth + 12 : 0);

  // Labels for the selected memory and its neighbours first, then for the best-linked: as many as are readable,
  // more when zoomed in. None covers another or one of the largest dots.
  const measure = document.createElement("canvas").getContext("2d");
  measure.font = "12px system-ui, sans-serif";
  function placeLabels() {
    const width = getFreeWidth(), height = container.clientHeight;
    const most = Math.ceil(((width * height) / 36000) * Math.max(1, drawing.zoom() / fitted) ** 2);
    const taken = byLinks.slice(0, 12).map((node) => ({ node, ...node.renderedBoundingBox({ includeLabels: false, includeOverlays: false }) }));
    const controls = document.querySelector(".zoom");
    taken.push({ x1: controls.offsetLeft, x2: controls.offsetLeft + controls.offsetWidth, y1: controls.offsetTop, y2: controls.offsetTop + controls.offsetHeight });
    let left = most;
    const rank = (node) => (node.hasClass("chosen") ? 0 : node.hasClass("near") ? 1 : 2);
    drawing.nodes().removeClass("named above");
    for (const node of [...byLinks].sort((a, b) => rank(a) - rank(b))) {
      if (node.hasClass("faded")) continue;
      if (rank(node) === 2 && left <= 0) break;
      const at = node.renderedPosition(), half = measure.measureText(node.data("short")).width / 2 + 4, away = node.renderedHeight() / 2 + 1;
      const isFree = (box) => box.x1 >= 0 && box.x2 <= width && box.y1 >= 0 && box.y2 <= height
        && !taken.some((other) => other.node !== node && box.x1 < other.x2 && box.x2 > other.x1 && box.y1 < other.y2 && box.y2 > other.y1);
      const [below, above] = [at.y + away, at.y - away - 19].map((top) => ({ x1: at.x - half, x2: at.x + half, y1: top, y2: top + 19 }));
      const box = isFree(below) ? below : isFree(above) ? above : node.hasClass("chosen") ? below : null;
      if (!box) continue;
      taken.push(box);
      left -= 1;
      node.addClass(box === above ? "named above" : "named");
    }
  }
  let isWaiting = false;
  function redraw() {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      drawing.style(makeStyle());
      placeLabels();
    });
  }

  // Moves memories out of crowds, and those far outside towards the rest: half way to an even distribution.
  function spread(group) {
    for (const axis of ["x", "y"]) {
      const sorted = group.toArray().sort((a, b) => a.position(axis) - b.position(axis));
      const low = sorted[0].position(axis), length = sorted.at(-1).position(axis) - low;
      const targets = sorted.map((node, n) => (node.position(axis) + low + (length * n) / (sorted.length - 1)) / 2);
      sorted.forEach((node, n) => node.position(axis, targets[n]));
    }
  }

  // Each connected component is laid out by itself, starting from a circle so that the result is always the same.
  // The components are then placed in rows, the tallest first, to fill the shape of the page.
  function arrange() {
    const shape = container.clientWidth / container.clientHeight;
    const groups = drawing.elements().components();
    for (const group of groups) {
      const side = 60 * Math.sqrt(group.nodes().length);
      group.layout({ name: "circle", fit: false, boundingBox: { x1: 0, y1: 0, w: side, h: side }, animate: false }).run();
      group.layout({ name: "cose", fit: false, animate: false, randomize: false, nodeRepulsion: () => 20000, idealEdgeLength: () => 60,
        nodeOverlap: 24, gravity: 0.4, numIter: 1500, nodeDimensionsIncludeLabels: false }).run();
      if (group.nodes().length > 30) spread(group.nodes());
      const box = group.nodes().boundingBox({ includeLabels: false });
      const wide = Math.sqrt(Math.min(3, Math.max(1 / 3, (shape * 1.1 * (box.h || 1)) / (box.w || 1))));
      group.nodes().positions((node) => ({ x: node.position("x") * wide, y: node.position("y") / wide }));
    }
    const boxes = groups.map((group) => ({ group, box: group.nodes().boundingBox({ includeLabels: false }) })).sort((a, b) => b.box.h - a.box.h);
    const gap = 60;
    const area = boxes.reduce((sum, { box }) => sum + (box.w + gap) * (box.h + gap), 0);
    const room = groups.some((group) => group.nodes().length > nodes.length / 2) ? 1 : 1.25; // rows of components of one size leave gaps
    const width = Math.max(Math.sqrt(area * shape) * room, ...boxes.map(({ box }) => box.w));
    let x = 0, y = 0, tallest = 0;
    for (const { group, box } of boxes) {
      if (x > 0 && x + box.w > width) x = 0, y += tallest + gap, tallest = 0;
      group.nodes().shift({ x: x - box.x1, y: y - box.y1 });
      x += box.w + gap;
      tallest = Math.max(tallest, box.h);
    }
    fit();
  }
  function fit() {
    drawing.fit(drawing.nodes(), 34);
    if (drawing.zoom() > 1.6) drawing.zoom(1.6), drawing.center();
    fitted = drawing.zoom();
    redraw();
  }

  function element(tag, text, options = {}) {
    const made = Object.assign(document.createElement(tag), options);
    if (text !== undefined) made.textContent = text;
    return made;
  }
  function showCard(node) {
    const title = element("a", node.data("label"), { href: node.data("href"), className: "title", dir: "auto" });
    const meta = element("p", undefined, { className: "meta" });
    const links = node.data("links");
    meta.append(element("span", node.data("kind"), { className: `kind ${node.data("hue")}` }), element("span", node.data("project")), element("span", `${links} ${links === 1 ? "link" : "links"}`));
    const list = element("ul");
    for (const edge of node.connectedEdges().toArray()) {
      const isSource = edge.source().id() === node.id(), other = isSource ? edge.target() : edge.source();
      const item = element("li", `${isSource ? "" : "← "}${edge.data("label")}${isSource ? " →" : ""} `);
      const button = element("button", shorten(other.data("label"), 90), { type: "button", dir: "auto" });
      button.addEventListener("click", () => select(other));
      item.append(button);
      list.append(item);
    }
    card.replaceChildren(title, meta, ...(links ? [list] : []));
    card.hidden = false;
    card.scrollTop = 0;
  }
  function clear() {
    drawing.elements().removeClass("faded near chosen named above");
    card.hidden = true;
    delete container.dataset.selected;
    redraw();
  }
  function select(node) {
    drawing.elements().removeClass("faded near chosen named above");
    const near = node.closedNeighborhood();
    drawing.elements().not(near).addClass("faded");
    near.addClass("near");
    node.addClass("chosen");
    if (node.connectedEdges().length <= 12) node.connectedEdges().addClass("named");
    container.dataset.selected = node.id();
    tip.hidden = true;
    showCard(node);
    const box = near.nodes().boundingBox({ includeLabels: false }), width = getFreeWidth(), height = container.clientHeight;
    const zoom = Math.min(1.6, fitted * 3, Math.max(fitted, Math.min((width - 160) / box.w, (height - 120) / box.h)));
    const view = { zoom, pan: { x: width / 2 - node.position("x") * zoom, y: height / 2 - node.position("y") * zoom } };
    if (still.matches) drawing.viewport(view);
    else drawing.stop().animate(view, { duration: 200 });
    redraw();
  }

  // Finding: the best match is selected while typing, Enter goes to the next one.
  const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  let matches = [], current = 0;
  function showMatch() {
    status.textContent = matches.length ? `Match ${current + 1} of ${matches.length}` : "No match";
    if (matches.length) select(matches[current]);
    else clear();
  }
  find.addEventListener("input", () => {
    const words = fold(find.value).split(/\s+/).filter(Boolean);
    current = 0;
    const hasPhrase = (node) => fold(node.data("label")).includes(words.join(" "));
    const found = byLinks.filter((node) => words.every((word) => fold(node.data("label")).includes(word)));
    matches = [...found.filter(hasPhrase), ...found.filter((node) => !hasPhrase(node))];
    if (words.length) return showMatch();
    status.textContent = "";
    clear();
  });
  find.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    find.value = status.textContent = "";
    clear();
  });
  document.getElementById("find-form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!find.value.trim() || !matches.length) return;
    current = (current + 1) % matches.length;
    showMatch();
  });

  // Arrow keys go to the nearest memory in that direction.
  const DIRECTIONS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
  function step([dx, dy]) {
    const from = drawing.$(".chosen")[0];
    if (!from) return select(drawing.$("node[?centre]")[0] ?? byLinks[0]);
    let best = null, least = Infinity;
    for (const node of byLinks) {
      const x = node.position("x") - from.position("x"), y = node.position("y") - from.position("y");
      const ahead = x * dx + y * dy, aside = Math.abs(x * dy) + Math.abs(y * dx), cost = ahead + 2 * aside;
      if (node !== from && ahead > 0 && aside <= ahead && cost < least) best = node, least = cost;
    }
    if (best) select(best);
  }
  const zoomBy = (factor) => drawing.zoom({ level: drawing.zoom() * factor, renderedPosition: { x: container.clientWidth / 2, y: container.clientHeight / 2 } });
  container.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = { "+": () => zoomBy(1.3), "-": () => zoomBy(1 / 1.3), 0: fit, Escape: clear,
      Enter: () => { const chosen = drawing.$(".chosen")[0]; if (chosen) location.assign(chosen.data("href")); } };
    const action = DIRECTIONS[event.key] ? () => step(DIRECTIONS[event.key]) : actions[event.key];
    if (action) event.preventDefault(), action();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "f" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
    event.preventDefault();
    find.focus();
  });
  for (const button of document.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => ({ in: () => zoomBy(1.3), out: () => zoomBy(1 / 1.3), fit })[button.dataset.zoom]());
  }

  function showTip(node) {
    const at = node.renderedPosition();
    tip.textContent = `${node.data("label")} (${node.data("kind")}${node.data("project") ? `, ${node.data("project")}` : ""})`;
    tip.hidden = false;
    tip.style.left = `${Math.max(4, Math.min(at.x - tip.offsetWidth / 2, container.clientWidth - tip.offsetWidth - 4))}px`;
    const above = at.y - node.renderedHeight() / 2 - tip.offsetHeight - 6;
    tip.style.top = `${above > 0 ? above : at.y + node.renderedHeight() / 2 + 8}px`;
  }
  drawing.on("tap", (event) => (event.target === drawing ? clear() : event.target.isNode() && select(event.target)));
  drawing.on("dbltap", "node", (event) => location.assign(event.target.data("href")));
  drawing.on("mouseover", "node", (event) => {
    container.style.cursor = "pointer";
    showTip(event.target);
    event.target.connectedEdges().addClass("near");
  });
  drawing.on("mouseout", "node", (event) => {
    container.style.cursor = "";
    tip.hidden = true;
    if (!drawing.$(".chosen").length) event.target.connectedEdges().removeClass("near");
  });
  drawing.on("zoom pan", () => { tip.hidden = true; redraw(); });
  dark.addEventListener("change", () => { colours = readColours(); redraw(); });
  drawing.style(makeStyle());
  arrange();
  requestAnimationFrame(() => requestAnimationFrame(() => { container.dataset.drawn = nodes.length; }));
})();
