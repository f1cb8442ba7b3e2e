// The last replays of a connector, also those that wait and those that failed.

import { el, section, table } from "./dom.js";
import { count, counted, moment, shown } from "./format.js";
import { link, name, when } from "./parts.js";

const SUFFIX = ".replay";
const STATES = { queued: "waits", running: "at work", success: "ended", failed: "failed" };

/** List them, the newest first; nothing for those who may not read the replay DAG. */
export function replays({ name: own, replays: found }) {
  const title = "Replays";
  if (!found) return null;
  if (!found.runs.length) return section(title, null, el("p", { class: "quiet" }, "There was none yet."));
  const columns = [
    { title: "Replay", cell: (run) => link(moment(run.run_after), own + SUFFIX, run.run_id) },
    { title: "What", cell: what },
    { title: "State", cell: (run) => state(run, found) },
    { title: "Since", numeric: true, cell: (run) => when(run.ended ?? run.started ?? run.run_after) },
    { title: "Error", cell: (run) => (run.failure ? el("span", { class: "bad-text" }, name(run.failure, 600)) : run.state === "failed" ? "see its log" : el("span", { class: "quiet" }, "none")) },
  ];
  return section(title, "The last runs of the replay DAG: previews are dry runs.", table("Replays", columns, found.runs, { class: "cards" }));
}

function what({ asked }) {
  const kind = asked.dead_letters ? "dead letters" : asked.all ? "everything" : asked.partitions ? `offsets of ${counted(asked.partitions, "partition")}` : asked.from_time || asked.to_time ? [asked.from_time && `from ${moment(asked.from_time)}`, asked.to_time && `to ${moment(asked.to_time)}`].filter(Boolean).join(" ") : "what everything would do";
  const overlap = asked.overlap && !asked.dead_letters ? `, ${shown(asked.overlap, 20)}` : "";
  return [asked.dry_run && "Preview: ", asked.topic && [name(asked.topic, 120), ": "], kind, overlap];
}

function state(run, { paused, most }) {
  const text = STATES[run.state] ?? shown(run.state, 40);
  if (run.state !== "queued") return el("span", { class: run.state === "failed" && "bad-text" }, text);
  return [text, el("span", { class: "quiet" }, paused ? ": the replay DAG is paused" : ` for the scheduler, or a free place: ${count(most)} run at once`)];
}
