// Draws the links with cytoscape. The list on the page says the same.
(async () => {
  "use strict";
  const place = document.getElementById("graph");
  if (!place) return;
  const HUES = { "hue-0": 160, "hue-1": 25, "hue-2": 265, "hue-3": 205, "hue-4": 340, "hue-5": 45,
    "hue-6": 95, "hue-7": 185, "hue-8": 300, "hue-9": 230, "hue-10": 8, "hue-11": 70 };
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const { nodes, edges } = await (await fetch(place.dataset.source)).json();
  const colour = (node) => `hsl(${HUES[node.data("hue")] ?? 0}, 38%, ${dark.matches ? 62 : 46}%)`;

  const look = () => {
    const ink = dark.matches ? "#e8e6e1" : "#22262b", muted = dark.matches ? "#8b929a" : "#767c84", back = dark.matches ? "#1b1f23" : "#ffffff";
    return [
      { selector: "node", style: { "background-color": colour, label: "data(label)", color: ink, "font-size": 13, "font-family": "system-ui, sans-serif",
        "text-valign": "bottom", "text-margin-y": 5, "text-wrap": "wrap", "text-max-width": 130, width: 20, height: 20, "min-zoomed-font-size": 6,
        "text-background-color": back, "text-background-opacity": 0.75, "text-background-padding": 2 } },
      { selector: "node[?here]", style: { width: 32, height: 32, "border-width": 3, "border-color": ink } },
      { selector: "edge", style: { width: 1.4, "line-color": muted, "target-arrow-color": muted, "target-arrow-shape": "triangle", "arrow-scale": 0.8,
        "curve-style": "bezier", label: "data(label)", "font-size": 11, color: muted, "text-rotation": "autorotate", "min-zoomed-font-size": 7,
        "text-background-color": back, "text-background-opacity": 1, "text-background-padding": 2 } },
      { selector: "edge[?proposed]", style: { "line-style": "dashed" } },
    ];
  };

  const drawing = cytoscape({
    container: place,
    elements: [...nodes.map((data) => ({ data })), ...edges.map((data) => ({ data }))],
    style: look(),
    layout: { name: "circle", fit: true },
    maxZoom: 2, minZoom: 0.1,
  });
  // From a circle, the same picture comes every time.
  drawing.layout({ name: "cose", animate: false, randomize: false, fit: true, padding: 36, nodeRepulsion: () => 160000, idealEdgeLength: () => 90,
    nodeOverlap: 40, gravity: 0.6, componentSpacing: 60, numIter: 1500, nodeDimensionsIncludeLabels: true }).run();
  drawing.on("tap", "node", (event) => location.assign(event.target.data("href")));
  drawing.on("mouseover", "node", () => { place.style.cursor = "pointer"; });
  drawing.on("mouseout", "node", () => { place.style.cursor = ""; });
  dark.addEventListener("change", () => drawing.style(look()));
  place.dataset.drawn = nodes.length;
})();
