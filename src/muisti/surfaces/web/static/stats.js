// Draws the plots with uPlot.
(() => {
  "use strict";
  const all = document.querySelector(".plots");
  if (!all) return;
  const data = JSON.parse(all.dataset.figures);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const plots = [];

  function colours() {
    return dark.matches
      ? { ink: "#a0a6ae", grid: "#2d3339", line: "#83cbb2", fill: "rgba(131,203,178,.16)", bar: "#5fa78f" }
      : { ink: "#5d636b", grid: "#eae6dd", line: "#24614f", fill: "rgba(36,97,79,.10)", bar: "#4f9480" };
  }
  const axis = (c, more) => ({ stroke: c.ink, grid: { stroke: c.grid, width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif", ...more });
  const day = (stamp) => new Date(stamp * 1000).toLocaleDateString(undefined, { day: "numeric", month: "short", timeZone: "UTC" });
  const integers = (u, splits) => splits.map((n) => (Number.isInteger(n) ? n.toLocaleString() : ""));
  const bars = (c, label) => ({ label, fill: c.bar, stroke: c.bar, width: 0, points: { show: false }, paths: uPlot.paths.bars({ size: [0.72, 64], radius: 0.15 }) });

  function overTime(c, days, series, scales = {}) {
    return { data: [days, ...series.map((item) => item.values)],
      options: { scales: { x: { time: true }, y: { range: (u, low, high) => [0, Math.max(1, high * 1.08)] }, ...scales },
        tzDate: (stamp) => uPlot.tzDate(new Date(stamp * 1000), "UTC"), padding: [8, 24, 0, 0],
        axes: [axis(c, { values: (u, splits) => splits.map(day), space: 70 }), axis(c, { values: integers, size: 44 })], series: [{ label: " ", value: (u, at) => (at == null ? "" : day(at)) }, ...series.map((item) => ({ value: (u, n) => n ?? "", ...item.draw }))] } };
  }
  function byCategory(c, { labels, values }, rotated) {
    const narrow = all.clientWidth < 500;
    return { data: [labels.map((_, n) => n), values],
      options: { scales: { x: { time: false, range: [-0.6, labels.length - 0.4] }, y: { range: (u, low, high) => [0, Math.max(1, high * 1.1)] } }, legend: { show: false }, cursor: { show: false }, padding: [8, rotated ? 48 : 16, 0, 0],
        axes: [axis(c, { grid: { show: false }, splits: () => labels.map((_, n) => n), values: (u, splits) => splits.map((n) => (rotated || n % (narrow ? 5 : 2) === 0 ? labels[n] : "")), rotate: rotated ? (narrow ? -60 : -35) : 0, size: rotated ? 84 : 34, gap: 6, space: 1 }), axis(c, { values: integers, size: 44 })],
        series: [{}, bars(c, "Memories")] } };
  }
  const builders = {
    growth: (c) => overTime(c, data.growth.days, [{ values: data.growth.all, draw: { label: "All", stroke: c.line, fill: c.fill, width: 2, points: { show: false } } }, { values: data.growth.new, draw: { ...bars(c, "New"), scale: "new" } }],
      { new: { range: (u, low, high) => [0, Math.max(4, high * 4)] } }),
    kinds: (c) => byCategory(c, data.kinds, true),
    salience: (c) => byCategory(c, data.salience, false),
    use: (c) => overTime(c, data.use.days, [{ values: data.use.used, draw: bars(c, "Memories") }]),
  };

  function draw() {
    plots.splice(0).forEach((item) => item.destroy());
    for (const place of all.querySelectorAll("[data-plot]")) {
      const { data: points, options } = builders[place.dataset.plot](colours());
      if (!points[0].length) continue;
      plots.push(new uPlot({ width: place.clientWidth, height: ["kinds", "growth"].includes(place.dataset.plot) ? 255 : 205, ...options }, points, place));
    }
    all.dataset.drawn = plots.length;
  }
  draw();
  dark.addEventListener("change", draw);
  let width = all.clientWidth;
  new ResizeObserver(() => { if (all.clientWidth !== width) width = all.clientWidth, draw(); }).observe(all);
})();
