// Lag and rows over time, as two pictures above each other and as a table.

import { el, section, svg, table } from "./dom.js";
import { NONE, count, moment } from "./format.js";

const WIDE = 1000;
const HIGH = 100;

/** Draw the history; `points`: oldest first. */
export function history(points) {
  const title = "Lag and rows over time";
  const known = points.filter((point) => !Number.isNaN(Date.parse(point.at)));
  if (known.length < 2) return section(title, null, el("p", { class: "quiet" }, "There is no history yet: each status adds a point."));
  const start = Date.parse(known[0].at);
  const whole = Math.max(1, Date.parse(known.at(-1).at) - start);
  const at = (point) => ((Date.parse(point.at) - start) / whole) * WIDE;
  const columns = [
    { title: "Time", cell: (point) => moment(point.at) },
    { title: "Lag, records", numeric: true, cell: (point) => count(point.lag) },
    { title: "Rows added", numeric: true, cell: (point) => count(point.rows) },
  ];
  return section(
    title,
    null,
    el(
      "div",
      { class: "charts" },
      chart("Lag, records", known, (point) => point.lag, at, (scale) => lagShapes(known, at, scale)),
      chart("Rows added since the point before", known, (point) => point.rows, at, (scale) => rowShapes(known, at, scale)),
    ),
    el(
      "details",
      { class: "fold", "data-key": "history" },
      el("summary", {}, "As a table"),
      table("Lag and rows over time", columns, [...known].reverse(), {}),
    ),
  );
}

function chart(title, points, value, at, shapes) {
  const values = points.map(value).filter((one) => typeof one === "number" && Number.isFinite(one));
  const most = Math.max(0, ...values);
  const scale = (one) => HIGH - 1 - (one / (most || 1)) * (HIGH - 6);
  const last = [...points].reverse().find((point) => typeof value(point) === "number");
  const from = moment(points[0].at);
  const to = moment(points.at(-1).at);
  const says = values.length
    ? `From ${from} to ${to}: least ${count(Math.min(...values))}, most ${count(most)}, last ${last ? count(value(last)) : NONE}.`
    : `From ${from} to ${to}: not known.`;
  const id = `chart-${title.replace(/\W+/g, "-").toLowerCase()}`;
  return el(
    "figure",
    { class: "chart" },
    el("figcaption", {}, el("span", {}, title), el("span", { class: "quiet" }, `most ${count(most)}, last ${last ? count(value(last)) : NONE}`)),
    svg(
      "svg",
      { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", role: "img", "aria-labelledby": `${id} ${id}-says` },
      svg("title", { id }, title),
      svg("desc", { id: `${id}-says` }, says),
      svg("line", { class: "grid", x1: 0, x2: WIDE, y1: HIGH - 1, y2: HIGH - 1 }),
      svg("line", { class: "grid faint", x1: 0, x2: WIDE, y1: 5, y2: 5 }),
      shapes(scale),
    ),
    el("div", { class: "axis" }, el("span", {}, from), el("span", {}, to)),
  );
}

/** A line with a tinted area below it; a point that is not known is a gap. */
function lagShapes(points, at, scale) {
  const runs = [];
  let run = [];
  for (const point of points) {
    if (typeof point.lag === "number") run.push([at(point), scale(point.lag)]);
    else if (run.length) runs.push(run), (run = []);
  }
  if (run.length) runs.push(run);
  return runs.map((some) => {
    const path = some.map(([x, y], index) => `${index ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
    const [from, to] = [some[0][0], some.at(-1)[0]].map((x) => x.toFixed(1));
    return [svg("path", { class: "area", d: `${path}L${to} ${HIGH - 1}L${from} ${HIGH - 1}Z` }), svg("path", { class: "line", d: path })];
  });
}

function rowShapes(points, at, scale) {
  const wide = Math.max(1, (WIDE / points.length) * 0.7);
  return points
    .filter((point) => point.rows > 0)
    .map((point) => {
      const y = scale(point.rows);
      const x = Math.min(Math.max(0, at(point) - wide / 2), WIDE - wide);
      return svg("rect", { class: "column", x: x.toFixed(1), y: y.toFixed(1), width: wide.toFixed(1), height: (HIGH - 1 - y).toFixed(1) }, svg("title", {}, `${moment(point.at)}: ${count(point.rows)}`));
    });
}
