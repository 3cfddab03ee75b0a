// Draws the graph with cytoscape. The list on the page has the same content.
(async () => {
  "use strict";
  const container = document.getElementById("graph");
  if (!container) return;
  const HUES = { "hue-0": 160, "hue-1": 25, "hue-2": 265, "hue-3": 205, "hue-4": 340, "hue-5": 45,
    "hue-6": 95, "hue-7": 185, "hue-8": 300, "hue-9": 230, "hue-10": 8, "hue-11": 70 };
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const { nodes, edges } = await (await fetch(container.dataset.source)).json();
  const colour = (node) => `hsl(${HUES[node.data("hue")] ?? 0}, 38%, ${dark.matches ? 62 : 46}%)`;

  const makeStyle = () => {
    const ink = dark.matches ? "#e8e6e1" : "#22262b", muted = dark.matches ? "#8b929a" : "#767c84", back = dark.matches ? "#1b1f23" : "#ffffff";
    return [
      { selector: "node", style: { "background-color": colour, label: "data(label)", color: ink, "font-size": 12.5, "font-family": "system-ui, sans-serif",
        "text-valign": "bottom", "text-margin-y": 4, "text-wrap": "wrap", "text-max-width": 120, width: 16, height: 16, "min-zoomed-font-size": 6,
        "text-background-color": back, "text-background-opacity": 0.75, "text-background-padding": 2 } },
      { selector: "node[?centre]", style: { width: 26, height: 26, "border-width": 3, "border-color": ink } },
      { selector: "edge", style: { width: 1.3, "line-color": muted, "target-arrow-color": muted, "target-arrow-shape": "triangle", "arrow-scale": 0.8,
        "curve-style": "bezier", label: edges.length > 12 ? "" : "data(label)", "font-size": 10.5, color: muted, "text-rotation": "autorotate", "min-zoomed-font-size": 7,
        "text-background-color": back, "text-background-opacity": 1, "text-background-padding": 2 } },
      { selector: "edge.labelled", style: { label: "data(label)", color: ink, "line-color": ink, "target-arrow-color": ink } },
      { selector: "edge[?proposed]", style: { "line-style": "dashed" } },
    ];
  };

  // Each connected component is laid out by itself, starting from a circle so that the result is always the same.
  // The components are then placed in rows, the tallest first, to fill the shape of the page.
  function arrange() {
    const groups = drawing.elements().components();
    for (const group of groups) {
      const side = 60 * Math.sqrt(group.nodes().length);
      group.layout({ name: "circle", fit: false, boundingBox: { x1: 0, y1: 0, w: side, h: side }, animate: false }).run();
      group.layout({ name: "cose", fit: false, animate: false, randomize: false, nodeRepulsion: () => 12000, idealEdgeLength: () => 50,
        nodeOverlap: 24, gravity: 0.5, numIter: 1500, nodeDimensionsIncludeLabels: true }).run();
      group.nodes().positions((node) => ({ x: node.position("x") * 1.3, y: node.position("y") * 0.6 })); // labels are wide and low
    }
    const boxes = groups.map((group) => ({ group, box: group.boundingBox() })).sort((a, b) => b.box.h - a.box.h);
    const area = boxes.reduce((sum, { box }) => sum + (box.w + 40) * (box.h + 30), 0);
    const width = Math.max(Math.sqrt((area * container.clientWidth) / container.clientHeight) * 1.1, ...boxes.map(({ box }) => box.w));
    let x = 0, y = 0, tallest = 0;
    for (const { group, box } of boxes) {
      if (x > 0 && x + box.w > width) x = 0, y += tallest + 30, tallest = 0;
      group.nodes().shift({ x: x - box.x1, y: y - box.y1 });
      x += box.w + 40;
      tallest = Math.max(tallest, box.h);
    }
    drawing.fit(undefined, 24);
  }

  const drawing = cytoscape({
    container,
    elements: [...nodes.map((data) => ({ data })), ...edges.map((data) => ({ data }))],
    style: makeStyle(),
    layout: { name: "preset" },
    maxZoom: 2, minZoom: 0.05,
  });
  arrange();
  drawing.on("tap", "node", (event) => location.assign(event.target.data("href")));
  drawing.on("mouseover", "node", () => { container.style.cursor = "pointer"; });
  drawing.on("mouseout", "node", () => { container.style.cursor = ""; });
  drawing.on("mouseover", "node", (event) => event.target.connectedEdges().addClass("labelled")); // in a large graph, only these edges have labels
  drawing.on("mouseout", "node", () => drawing.edges().removeClass("labelled"));
  drawing.on("mouseover", "edge", (event) => event.target.addClass("labelled"));
  drawing.on("mouseout", "edge", (event) => event.target.removeClass("labelled"));
  dark.addEventListener("change", () => drawing.style(makeStyle()));
  container.dataset.drawn = nodes.length;
})();
