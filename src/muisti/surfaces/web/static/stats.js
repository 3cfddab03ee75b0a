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
  // Whole numbers up to the highest value, in about four steps of 1, 2 or 5; the bars end at the same lines.
  function wholeSteps(highest) {
    const size = 10 ** Math.floor(Math.log10(Math.max(1, highest)));
    const step = Math.max(1, [size / 5, size / 2, size, size * 2].find((one) => highest / one <= 5));
    return Array.from({ length: Math.max(1, Math.ceil(highest / step)) + 1 }, (_, n) => n * step);
  }
  const counts = (values) => {
    const splits = wholeSteps(Math.max(0, ...values));
    return { scale: { range: [0, splits.at(-1)] }, axis: { splits: () => splits, values: () => splits.map((n) => n.toLocaleString()), size: 44 } };
  };
  const bars = (c, label) => ({ label, fill: c.bar, stroke: c.bar, width: 0, points: { show: false }, paths: uPlot.paths.bars({ size: [0.72, 64], radius: 0.15 }) });

  const padding = [8, 24, 0, 0];
  function overTime(c, days, values, series) {
    const y = counts(values);
    return { data: [days, values],
      options: { scales: { x: { time: true }, y: y.scale }, tzDate: (stamp) => uPlot.tzDate(new Date(stamp * 1000), "UTC"), padding,
        axes: [axis(c, { values: (u, splits) => splits.map(day), space: 70, size: 30 }), axis(c, y.axis)],
        series: [{ label: " ", value: (u, at) => (at == null ? "" : day(at)) }, { value: (u, n) => n ?? "", ...series }] } };
  }
  function byCategory(c, { labels, values }) {
    const y = counts(values), every = all.clientWidth < 500 ? 5 : 2;
    return { data: [labels.map((_, n) => n), values],
      options: { scales: { x: { time: false, range: [-0.6, labels.length - 0.4] }, y: y.scale }, legend: { show: false }, cursor: { show: false }, padding,
        axes: [axis(c, { grid: { show: false }, splits: () => labels.map((_, n) => n), values: (u, splits) => splits.map((n) => (n % every === 0 ? labels[n] : "")), size: 34, gap: 6, space: 1 }), axis(c, y.axis)],
        series: [{}, bars(c, "Memories")] } };
  }
  const builders = {
    growth: (c) => overTime(c, data.growth.days, data.growth.all, { label: "All", stroke: c.line, fill: c.fill, width: 2, points: { show: false } }),
    new: (c) => overTime(c, data.new.days, data.new.new, bars(c, "New")),
    salience: (c) => byCategory(c, data.salience),
    use: (c) => overTime(c, data.use.days, data.use.used, bars(c, "Memories")),
  };

  function draw() {
    plots.splice(0).forEach((item) => item.destroy());
    for (const place of all.querySelectorAll("[data-plot]")) {
      const { data: points, options } = builders[place.dataset.plot](colours());
      if (!points[0].length) continue;
      const hooks = { ready: [(plot) => { place.dataset.top = plot.scales.y.max; }] };
      plots.push(new uPlot({ width: place.clientWidth, height: 220, hooks, ...options }, points, place));
    }
    all.dataset.drawn = plots.length;
  }
  draw();
  dark.addEventListener("change", draw);
  let width = all.clientWidth;
  new ResizeObserver(() => { if (all.clientWidth !== width) width = all.clientWidth, draw(); }).observe(all);
})();
