// A dry run of a connector or of a replay: started, waited for, and shown as a table, or with the error that it ended with.

import { airflow } from "./calls.js";
import { el, notice, say, table } from "./dom.js";
import { count, counted, range, shown } from "./format.js";
import { done, name } from "./parts.js";

const EVERY = 1500; // milliseconds
const AT_MOST = 300_000;
const LINES = 12;
const HELD = { skip: "In the table, left out", append: "In the table, written again", replace: "In the table, replaced" }; // by overlap

const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));

/** Run the preview into `place`. Returns whether it was good. */
export async function preview(dagId, conf, place, isOpen) {
  const show = (...some) => place.replaceChildren(...some.flat());
  show(el("p", { class: "loading" }, "The dry run is queued…"));
  let runId = null;
  try {
    runId = (await airflow.trigger(dagId, conf)).dag_run_id;
    const state = await ended(dagId, runId, show, isOpen);
    if (state === "success") {
      show(...result(await resultOf(dagId, runId)));
      say("The preview is there.");
      return true;
    }
    show(...(state === null ? late(dagId, runId) : await failure(dagId, runId)));
  } catch (problem) {
    show(notice("bad", el("p", {}, `There is no preview. ${problem?.message ?? problem}`), runId && done("", dagId, runId)));
  }
  return false;
}

/** Wait for the end of a run, here the dry run. Returns its state; null if it takes too long, or the dialog is closed. */
export async function ended(dagId, runId, show, isOpen, what = "dry run") {
  const until = Date.now() + AT_MOST;
  while (Date.now() < until && isOpen()) {
    const { state } = await airflow.run(dagId, runId);
    if (["success", "failed"].includes(state)) return state;
    show(el("p", { class: "loading" }, state === "running" ? `The ${what} is at work…` : `The ${what} is queued…`));
    await pause(EVERY);
  }
  return null;
}

/** What the plan task of a run left. */
export async function resultOf(dagId, runId) {
  const { value } = await airflow.result(dagId, runId);
  return typeof value === "string" ? JSON.parse(value) : value;
}

function result(plan) {
  if (plan.partitions) return liveResult(plan);
  const letters = plan.letters;
  const rows = letters ?? plan.tables ?? [];
  const place = { title: "Range", cell: (one) => [`${shown(one.partition)} `, range(one.range)] };
  const columns = letters
    ? [
        { title: "Table", cell: (one) => name(one.table || "(routed again)", 120) },
        { ...place, title: "Partition and range" },
        { title: "Open", numeric: true, cell: (one) => count(one.letters) },
        { title: "Rows already", numeric: true, cell: (one) => count(one.revived) },
        { title: "Left out", cell: (one) => (one.left_out ? name(one.left_out, 200) : "no") },
      ]
    : [
        { title: "Table", cell: (one) => name(one.table, 120) },
        { title: "Partition and range", cell: place.cell },
        { title: "To read", numeric: true, cell: (one) => count(one.read) },
        { title: HELD[plan.overlap] ?? "In the table", numeric: true, cell: (one) => (Number.isFinite(one.held) ? count(one.held) : "not known") },
        { title: "To write", numeric: true, cell: (one) => count(one.write) },
      ];
  const sum = (key) => rows.reduce((total, one) => total + (Number(one[key]) || 0), 0);
  const says = letters
    ? `${counted(rows.reduce((total, one) => total + (Number(one.letters) || 0), 0), "dead letter")} would be read again.`
    : `${counted(sum("read"), "offset")} would be read, ${count(sum("write"))} written, in ${counted(plan.slices ?? 0, "slice")}.`;
  const removes = (plan.removes ?? []).map((one) => el("li", {}, name(one.table, 120), `: ${one.exact ? "" : "at most "}${counted(one.rows, "row")}`));
  return [
    el("p", {}, el("strong", {}, says)),
    removes.length > 0 && notice("warn", el("p", {}, "Rows are removed from tables first:"), el("ul", {}, removes)),
    rows.length > 0 && table("Preview", columns, rows, { class: "cards" }),
  ].filter(Boolean);
}

/** What a run of the connector would read: new records, and those that tables lack. */
function liveResult(plan) {
  const columns = [
    { title: "Partition and range", cell: (one) => [`${shown(one.partition)} `, range(one.range)] },
    { title: "Offsets", numeric: true, cell: (one) => count(one.read) },
    { title: "Why", cell: (one) => (one.kind === "live" ? "new" : shown(one.kind, 40)) },
    { title: "Into", cell: (one) => name(one.tables, 300) },
  ];
  return [
    el("p", {}, el("strong", {}, plan.read ? `${counted(plan.read, "offset")} would be read, in ${counted(plan.slices, "slice")}.` : "Nothing is unread: a run would end at once.")),
    plan.partitions.length > 0 && table("Preview", columns, plan.partitions, { class: "cards" }),
    plan.more > 0 && el("p", { class: "quiet" }, `${counted(plan.more, "more range")} not shown.`),
  ].filter(Boolean);
}

export function late(dagId, runId, what = "dry run") {
  return [notice("warn", el("p", {}, `The ${what} has not ended within five minutes. Is the DAG paused, or no worker free?`), done("", dagId, runId))];
}

/** The end of the log of the task that failed. */
export async function failure(dagId, runId, what = "dry run") {
  const { task_instances: tasks } = await airflow.tasks(dagId, runId);
  const failed = tasks.find((task) => task.state === "failed");
  const lines = failed ? await lastLines(dagId, runId, failed) : [];
  return [
    notice(
      "bad",
      el("p", {}, el("strong", {}, `The ${what} failed. Nothing was read or written.`)),
      lines.length > 0 && el("pre", { tabindex: 0, role: "group", "aria-label": "End of the log" }, lines.map((line) => shown(line, 2000)).join("\n")),
      done("", dagId, runId),
    ),
  ];
}

async function lastLines(dagId, runId, task) {
  const { content } = await airflow.log(dagId, runId, task);
  const entries = typeof content === "string" ? content.split("\n") : content ?? [];
  const errors = entries.filter((one) => ["error", "critical"].includes(String(one?.level ?? "").toLowerCase()));
  const texts = (errors.length ? errors : entries).flatMap((one) => [typeof one === "string" ? one : one.event, ...(one.error_detail ?? []).map((detail) => `${detail.exc_type}: ${detail.exc_value}`)]);
  return texts.filter(Boolean).slice(-LINES);
}
