// What the tables contain, from their ledgers: a bar for each partition and table, in which a hole is seen.

import { button, el, notice, section, svg, table } from "./dom.js";
import { count, counted, range, shown } from "./format.js";
import { name } from "./parts.js";

const WIDE = 1000; // units of a bar
const LEAST = 4; // units of what has to be seen, however small it is
const MOST_HOLES = 20;

/** Draw all bars. `replay`: opens the form for a range; null for those who may not. */
export function holdings({ status, held }, replay) {
  const title = "What the tables contain";
  if (!held.length) return section(title, null, el("p", { class: "quiet" }, "No table contains an offset of this connector yet, or its ledger was not looked up since."));
  const partitions = new Map((status.partitions ?? []).map((one) => [`${one.topic} ${one.partition}`, one]));
  const backlogs = new Map((status.backlog ?? []).map((one) => [`${one.table} ${one.topic} ${one.partition}`, one]));
  const problems = new Map((status.tables ?? []).filter((one) => one.problem).map((one) => [one.name, one.problem]));
  const bars = held.map((one) => barOf(one, partitions.get(`${one.topic} ${one.partition}`), backlogs.get(`${one.table} ${one.topic} ${one.partition}`)));
  const holes = bars.filter((bar) => bar.holes.length);
  const byTable = grouped(bars);
  return section(
    title,
    "Offsets in each table's ledger, as floe.status last looked it up. A hole is a range that was read and is not in the table. What was read after its last row is none, unless the table is behind.",
    el(
      "ul",
      { class: "legend", "aria-hidden": "true" },
      [["held", "in the table"], ["hole", "hole"], ["since", "read since its last row"], ["later", "read after the ledger was looked up"], ["unread", "not read yet"], ["older", "older, not shown"]].map(([kind, text]) => el("li", {}, el("span", { class: `swatch ${kind}` }), text)),
    ),
    el("p", { class: "quiet" }, found(holes, byTable, problems)),
    [...byTable].map(([own, some]) => el("div", { class: "bars" }, el("h3", {}, name(own)), doubt(problems.get(own)), el("div", { class: "bar-list", tabindex: 0, role: "group", "aria-label": `Offsets in ${shown(own, 80)}` }, some.map((bar) => draw(bar, replay))))),
  );
}

/** Say how many holes there are. A table with a problem, such as one that was rolled back, is not spoken for. */
function found(holes, byTable, problems) {
  const unsure = [...byTable.keys()].filter((own) => problems.has(own)).length;
  const rest = unsure ? ` Of ${counted(unsure, "table")} with problems the ledger may claim what is not there.` : "";
  if (holes.length) return `${counted(holes.reduce((sum, bar) => sum + bar.holes.length, 0), "hole")} in ${counted(holes.length, "partition")}.${rest}`;
  if (unsure === byTable.size) return rest.trim();
  return (unsure ? "No holes in the others." : "No holes.") + rest;
}

function doubt(problem) {
  return problem && notice("bad", el("p", {}, "The ledger of this table, shown below, may claim what is not there: ", name(problem, 600)));
}

function grouped(bars) {
  const found = new Map();
  for (const bar of bars) found.set(bar.held.table, [...(found.get(bar.held.table) ?? []), bar]);
  return found;
}

/**
 * Work out what is where. The bar begins at the first span and ends at the log's end. Behind the last span, offsets are a
 * hole only where the table is behind. Others had no row for it, up to the offset that was committed when its ledger was
 * looked up; of what was read later the ledger is not known yet.
 */
function barOf(held, partition, backlog) {
  const spans = held.spans;
  const first = spans[0]?.[0] ?? partition?.log_start ?? 0;
  const last = spans.at(-1)?.[1] ?? first;
  const then = Math.max(last, held.committed ?? last);
  const read = Math.max(then, partition?.committed ?? then);
  const end = Math.max(read, partition?.end ?? read);
  const holes = [];
  let at = first;
  for (const [start, stop] of spans) {
    if (start > at) holes.push([at, start]);
    at = Math.max(at, stop);
  }
  const behind = backlog ? Math.min(Math.max(at, backlog.start), read) : read;
  if (read > behind) holes.push([behind, read]);
  const known = Math.min(behind, then);
  const since = known > at ? [at, known] : null;
  const later = behind > Math.max(known, at) ? [Math.max(known, at), behind] : null;
  return { held, spans, holes, since, later, unread: end > read ? [read, end] : null, first, end };
}

function describe({ held, spans, holes, since, later, unread }) {
  const parts = [`${counted(spans.reduce((sum, [start, stop]) => sum + stop - start, 0), "offset")} in ${counted(spans.length, "range")}`];
  parts.push(holes.length ? `${counted(holes.length, "hole")}: ${holes.slice(0, MOST_HOLES).map(range).join(" ")}` : "no holes");
  if (since) parts.push(`read since its last row: ${range(since)}`);
  if (later) parts.push(`read after the ledger was looked up: ${range(later)}`);
  if (unread) parts.push(`not read yet: ${range(unread)}`);
  if (held.more) parts.push(`${counted(held.more, "older range")} not shown`);
  return parts.join("; ");
}

function draw(bar, replay) {
  const { held, first, end } = bar;
  const whole = Math.max(1, end - first);
  const part = (kind, [start, stop]) => {
    const width = Math.max(((stop - start) / whole) * WIDE, kind === "hole" ? LEAST : 1);
    const x = Math.min(((start - first) / whole) * WIDE, WIDE - width);
    return svg("rect", { class: kind, x: x.toFixed(2), y: 0, width: width.toFixed(2), height: 16 }, svg("title", {}, `${range([start, stop])} ${WORDS[kind]}`));
  };
  const text = describe(bar);
  return el(
    "div",
    { class: "bar" },
    el("div", { class: "bar-name" }, name(`${held.topic}-${held.partition}`, 60)),
    el(
      "div",
      { class: "bar-line" },
      held.more > 0 && el("span", { class: "swatch older", title: `${counted(held.more, "older range")} not shown` }),
      svg(
        "svg",
        { viewBox: `0 0 ${WIDE} 16`, preserveAspectRatio: "none", role: "img", "aria-label": `${shown(held.topic, 80)}-${held.partition}: ${text}` },
        bar.spans.map((span) => part("held", span)),
        bar.since && part("since", bar.since),
        bar.later && part("later", bar.later),
        bar.unread && part("unread", bar.unread),
        bar.holes.map((hole) => part("hole", hole)),
      ),
    ),
    el("div", { class: "bar-text" }, el("span", {}, count(first)), el("span", {}, count(end))),
    bar.holes.length > 0 && holeList(bar, replay),
  );
}

const WORDS = { held: "in the table", hole: "hole: read, and not in the table", since: "read since its last row", later: "read after the ledger was looked up", unread: "not read yet" };

function holeList({ held, holes }, replay) {
  const columns = [
    { title: "Hole", cell: (hole) => range(hole) },
    { title: "Offsets", numeric: true, cell: ([start, end]) => count(end - start) },
  ];
  if (replay) {
    const ranges = ([start, end]) => JSON.stringify({ [held.partition]: [start, end] });
    const open = (hole) => () => replay(new URLSearchParams({ topic: held.topic, ranges: ranges(hole), tables: held.table }));
    columns.push({ title: "Repair", cell: (hole) => button("Replay…", open(hole), { class: "small", "aria-label": `Replay ${range(hole)}` }) });
  }
  const some = holes.slice(-MOST_HOLES).reverse();
  const key = `holes ${held.table} ${held.topic} ${held.partition}`;
  return el(
    "details",
    { class: "fold inner", "data-key": key },
    el("summary", {}, counted(holes.length, "hole"), holes.length > some.length ? `, the newest ${some.length} are listed` : ""),
    table(`Holes of ${shown(held.topic, 80)}-${held.partition}`, columns, some, {}),
  );
}
