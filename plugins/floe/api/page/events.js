// The last events of the control topic, down to the files that they announce.

import { el, section, table } from "./dom.js";
import { count, counted, moment, shown, size } from "./format.js";
import { name, when } from "./parts.js";

const WORDS = {
  START_COMMIT: "A run began",
  DATA_WRITTEN: "Data files were written",
  DATA_COMPLETE: "A slice is complete",
  COMMIT_TO_TABLE: "A table was committed",
  COMMIT_COMPLETE: "A run's commit is complete",
};

export function controlEvents(events) {
  const title = "Control topic";
  if (!events.length) return section(title, null, el("p", { class: "quiet" }, "No event of this connector is known yet."));
  const newest = [...events].sort((a, b) => b.partition - a.partition || b.offset - a.offset);
  return section(
    title,
    "The connector's write-ahead log: its last events, the newest first.",
    el("div", { class: "event-list", tabindex: 0, role: "group", "aria-label": "Events of the control topic" }, newest.map(oneEvent)),
  );
}

function oneEvent(event) {
  const files = event.files.length + event.more_files;
  const rows = event.files.reduce((sum, file) => sum + file.rows, 0);
  const says = [
    WORDS[event.kind] && el("span", {}, WORDS[event.kind]),
    files > 0 && el("span", { class: "quiet" }, ` ${counted(files, "file")}${event.more_files ? "" : `, ${counted(rows, "row")}`}`),
  ];
  const columns = [
    { title: "File", cell: (file) => el("code", { title: shown(file.path, 2000) }, name(short(file.path), 120)) },
    { title: "Table", cell: (file) => name(file.table, 120) },
    { title: "Rows", numeric: true, cell: (file) => count(file.rows) },
    { title: "Size", numeric: true, cell: (file) => size(file.size) },
  ];
  return el(
    "details",
    { class: "fold", "data-key": `event ${event.partition} ${event.offset}` },
    el("summary", {}, el("code", {}, name(event.kind, 60)), says, el("span", { class: "end" }, when(event.at))),
    el(
      "dl",
      { class: "pairs" },
      pair("Time", moment(event.at)),
      pair("Place", `partition ${event.partition}, offset ${count(event.offset)}`),
      pair("Commit", event.commit_id),
      pair("Slice", event.slice_id ?? "none: not an event of floe's"),
    ),
    event.files.length > 0 && table(`Files of the event at offset ${event.offset}`, columns, event.files, { class: "cards" }),
    event.more_files > 0 && el("p", { class: "quiet" }, `${counted(event.more_files, "more file")} not shown.`),
  );
}

const short = (path) => String(path).split("/").slice(-2).join("/");

function pair(title, value) {
  return value !== null && [el("dt", {}, title), el("dd", {}, name(value, 200))];
}
