// How long a job takes and what it needs, over time, to look into: what the picture in the page
// shows stands in the page as data too.
"use strict";

(() => {
  const read = () => {
    const block = document.getElementById("durations");
    return block ? JSON.parse(block.textContent) : null;
  };
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const seconds = (value) => {
    if (value === 0) return "0";
    if (value < 1) return `${Math.round(value * 1000)} ms`;
    if (value < 100) return `${+value.toFixed(1)} s`;
    return value < 7200 ? `${+(value / 60).toFixed(1)} min` : `${+(value / 3600).toFixed(1)} h`;
  };
  const bytes = (value) => {
    for (const unit of ["B", "KiB", "MiB"]) {
      if (value < 1000) return `${Math.round(value)} ${unit}`;
      value /= 1024;
    }
    return `${value.toFixed(1)} GiB`;
  };
  // The zone of all times of the page, chosen at its top.
  const zone = document.getElementById("zone").dataset.zone;
  const told = (shape) => new Intl.DateTimeFormat("en-GB", { timeZone: zone, hour12: false, ...shape });
  const day = told({ day: "numeric", month: "short" }), clock = told({ hour: "2-digit", minute: "2-digit" });
  const at = (stamp) => `${day.format(stamp * 1000)} ${clock.format(stamp * 1000)}`;
  // The marks of the axis: days, and within a day hours; where a day begins it is named.
  const marks = (_, stamps, axis, space, apart) => stamps.map((stamp, place) => {
    const name = day.format(stamp * 1000);
    const same = place > 0 && day.format(stamps[place - 1] * 1000) === name;
    return apart >= 86400 ? name : same ? clock.format(stamp * 1000) : at(stamp);
  });
  const drawn = new Map();   // figure → its chart, which listens to the window until it is destroyed
  const shown = (as) => (_, value) => (value === null || value === undefined ? "" : as(value));

  const draw = (figure, found) => {
    const key = figure.dataset.chart;
    const runs = found.runs.filter((run) => run[key] !== null);
    if (runs.length < 2) return;
    const as = key === "seconds" ? seconds : bytes;
    const [median, p95] = key === "seconds" ? [found.median, found.p95] : [found.median_bytes, found.p95_bytes];
    const of = (state) => runs.map((run) => (run.state === state ? run[key] : null));
    const flat = (value) => runs.map(() => value);
    const points = (label, name) => ({
      label, stroke: colour(name), width: 0, paths: () => null, points: { show: true, size: 6, fill: colour(name) }, value: shown(as),
    });
    const steps = key === "seconds"
      ? [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400, 172800]
      : Array.from({ length: 32 }, (_, power) => 1024 * 2 ** power);
    const most = Math.max(...runs.map((run) => run[key]), p95 || 0);
    const step = steps.find((each) => most / each <= 4) || most / 4 || 1;
    const top = step * Math.max(Math.ceil(most / step), 1);   // the highest line of the grid is above all points
    const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
    const band = colour("--accent");
    drawn.get(figure)?.destroy();
    const chart = new uPlot({
      width: figure.clientWidth || 640, height: 200, tzDate: (stamp) => uPlot.tzDate(new Date(stamp * 1000), zone),
      scales: { y: { range: () => [0, top] } },
      axes: [{ ...axis, space: 90, values: marks }, { ...axis, size: 64, splits: () => Array.from({ length: Math.round(top / step) + 1 }, (_, line) => line * step), values: (_, all) => all.map(as) }],
      series: [
        { label: "When", value: shown(at) },
        points("succeeded", "--succeeded"),
        points("failed", "--failed"),
        { label: "as a rule", stroke: band, dash: [4, 3], width: 1, points: { show: false }, value: shown(as) },
        { label: "95 of 100", stroke: band, width: 0.5, fill: `${band}14`, points: { show: false }, value: shown(as) },
      ],
    }, [runs.map((run) => Date.parse(run.at) / 1000), of("succeeded"), of("failed"), flat(median), flat(p95)], figure);
    chart.over.addEventListener("dblclick", (event) => event.preventDefault());
    chart.over.addEventListener("click", () => {
      const at = chart.cursor.idx;
      if (at !== null && at !== undefined && !chart.select.width) location.assign(`/runs/${runs[at].id}`);
    });
    drawn.set(figure, chart);
    figure.classList.add("drawn");
  };
  const all = () => {
    const found = read();
    if (!found || !window.uPlot) return;
    for (const [figure, chart] of drawn) if (!figure.isConnected) { chart.destroy(); drawn.delete(figure); }
    for (const figure of document.querySelectorAll("figure[data-chart]")) draw(figure, found);
  };

  all();
  document.addEventListener("htmx:after:swap", all);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
  let waiting = 0;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(all, 200); });
})();
