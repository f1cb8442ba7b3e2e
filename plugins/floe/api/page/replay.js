// The replay form: what to read again, a preview of it from a dry run, and only then the replay itself.

import { airflow } from "./calls.js";
import { openDialog } from "./dialog.js";
import { button, el, notice, say } from "./dom.js";
import { done, name } from "./parts.js";
import { preview } from "./preview.js";

const SUFFIX = ".replay";
const BOUNDS = ["Partition", "First offset", "Last offset, not read"];
const OVERLAPS = [
  ["skip", "Leave them out", "Only rows that a table lacks are added."],
  ["replace", "Replace them", "Their rows are removed and written again, in one snapshot."],
  ["append", "Add them again", "Their rows are in the table twice afterwards."],
];

/** Open the form. `wanted`: URLSearchParams with topic, ranges, tables, from_time, to_time, overlap, dead_letters. */
export function openReplay(answer, refresh, wanted) {
  const letters = wanted.get("dead_letters") === "true";
  const form = letters ? lettersForm(answer) : rangesForm(answer, wanted);
  const shown = el("div", { "aria-live": "polite", class: "preview" });
  const dagId = answer.name + SUFFIX;
  let seen = null; // the conf whose preview is shown

  const conf = () => form.conf();
  const same = () => seen !== null && seen === text();
  const text = () => {
    try {
      return JSON.stringify(conf());
    } catch {
      return null;
    }
  };

  async function ask() {
    let own;
    try {
      own = conf();
    } catch (problem) {
      shown.replaceChildren(notice("bad", el("p", {}, problem.message)));
      return;
    }
    seen = null;
    dialog.update();
    look.disabled = true;
    const isGood = await preview(dagId, { ...own, dry_run: true }, shown, dialog.isOpen);
    look.disabled = false;
    if (isGood) seen = JSON.stringify(own);
    dialog.update();
  }

  const look = button("Preview", ask, { id: "preview" });
  form.element.addEventListener("input", () => dialog.update());
  const dialog = openDialog(letters ? "Redrive dead letters" : "Replay a range", {
    wide: true,
    body: [
      el("p", {}, letters ? "Reads the records of open dead letters again, after the table or the connector was fixed. Those that become rows are marked resolved; the others stay open." : "Reads offsets again that were read before. It moves no committed offset, and may run beside the connector."),
      answer.replays?.paused && notice("warn", el("p", {}, "The replay DAG is paused: its runs wait until it is unpaused in Airflow, previews too. It has no schedule, so no other run begins then.")),
      form.element,
      el("div", { class: "actions" }, look, el("span", { class: "quiet" }, "A dry run in Airflow: it reads and writes nothing.")),
      shown,
    ],
    confirm: letters ? "Redrive" : "Replay",
    ready: same,
    act: async () => {
      const run = await airflow.trigger(dagId, conf());
      say("The replay is queued.");
      refresh();
      return done("The replay is queued. ", dagId, run.dag_run_id);
    },
  });
}

function topicsOf({ record }) {
  const partitions = record?.status.partitions ?? [];
  const held = record?.held ?? [];
  return [...new Set([...partitions, ...held].map((one) => one.topic))].sort();
}

function topicField(answer, own) {
  const topics = topicsOf(answer);
  if (own && !topics.includes(own)) topics.push(own);
  const field = topics.length
    ? el("select", { id: "topic" }, topics.map((topic) => el("option", { value: topic, selected: topic === own }, topic)))
    : el("input", { id: "topic", value: own ?? "", required: true });
  return { field, element: el("label", { class: "field" }, el("span", {}, "Topic"), field) };
}

function lettersForm(answer) {
  const topic = topicField(answer, answer.record?.dead_letters?.find((one) => one.samples.length)?.samples[0].topic);
  return { element: el("div", {}, topic.element), conf: () => ({ topic: topic.field.value, dead_letters: true }) };
}

function rangesForm(answer, wanted) {
  const topic = topicField(answer, wanted.get("topic"));
  const lines = el("div", { class: "range-lines" });
  const add = (partition = "", start = "", end = "") => lines.append(rangeLine(partition, start, end));
  for (const [partition, bounds] of Object.entries(rangesOf(wanted.get("ranges")))) add(partition, bounds?.[0] ?? "", bounds?.[1] ?? "");
  if (!lines.children.length) add();
  const means = el("p", { class: "hint", id: "overlap-means" });
  const explain = () => (means.textContent = OVERLAPS.find(([value]) => value === overlap.value)[2]);
  const overlap = el("select", { id: "overlap", "aria-describedby": "overlap-means", onchange: explain }, OVERLAPS.map(([value, words]) => el("option", { value, selected: value === wanted.get("overlap") }, words)));
  explain();
  const [from, to] = ["from_time", "to_time"].map((id) => el("input", { id, type: "datetime-local", step: 1, value: local(wanted.get(id)) }));
  const own = wanted.get("tables")?.split(",").filter(Boolean) ?? [];
  return {
    element: el(
      "div",
      { class: "form" },
      topic.element,
      el(
        "fieldset",
        {},
        el("legend", {}, "Offsets"),
        el("p", { class: "hint" }, "From the first offset up to, and without, the last. Empty: as far as the log goes."),
        el("div", { class: "range-line titles", "aria-hidden": "true" }, BOUNDS.map((text) => el("span", {}, text)), el("span", { class: "spacer" }, "Remove")),
        lines,
        button("Add a partition", () => add(), { class: "small" }),
      ),
      el("fieldset", {}, el("legend", {}, `Or a time window, by Kafka's times, in the time zone ${zone()}`), el("div", { class: "pair" }, labelled("From", from), labelled("To", to))),
      el("div", {}, labelled("Offsets that a table has already", overlap), means),
      own.length > 0 && el("p", { class: "hint" }, "Into: ", own.map((one) => [name(one), " "])),
    ),
    conf: () => {
      const ranges = readRanges(lines);
      const times = { ...(from.value && { from_time: new Date(from.value).toISOString() }), ...(to.value && { to_time: new Date(to.value).toISOString() }) };
      const hasTimes = Object.keys(times).length > 0;
      if (Object.keys(ranges).length && hasTimes) throw new Error("Give either offsets or a time window.");
      if (!Object.keys(ranges).length && !hasTimes) throw new Error("Say what to read again: offsets of a partition, or a time window.");
      return { topic: topic.field.value, ...(hasTimes ? times : { ranges }), overlap: overlap.value, ...(own.length && { tables: own }) };
    },
  };
}

const labelled = (text, field) => el("label", { class: "field" }, el("span", {}, text), field);

function rangeLine(partition, start, end) {
  const number = (label, value) => el("label", { class: "field" }, el("span", { class: "small-only" }, label), el("input", { type: "number", min: 0, step: 1, value, "aria-label": label }));
  const line = el("div", { class: "range-line" }, BOUNDS.map((text, index) => number(text, [partition, start, end][index])));
  line.append(
    button("Remove", () => {
      if (line.parentElement.children.length > 1) line.remove();
      else for (const one of line.querySelectorAll("input")) one.value = "";
      line.dispatchEvent(new Event("input", { bubbles: true }));
    }, { class: "small" }),
  );
  return line;
}

function readRanges(lines) {
  const ranges = {};
  for (const line of lines.children) {
    const [partition, start, end] = [...line.querySelectorAll("input")].map((one) => (one.value === "" ? null : Number(one.value)));
    if (partition === null && start === null && end === null) continue;
    const bad = [partition, start, end].find((one) => one !== null && (!Number.isSafeInteger(one) || one < 0));
    if (partition === null) throw new Error("An offset has no partition.");
    if (bad !== undefined) throw new Error(`${bad} is no offset and no partition.`);
    if (partition in ranges) throw new Error(`Partition ${partition} is there twice: give one range of it.`);
    if (start !== null && end !== null && end <= start) throw new Error(`Partition ${partition}: the last offset, ${end}, is not after the first, ${start}.`);
    ranges[partition] = [start, end];
  }
  return ranges;
}

function rangesOf(text) {
  if (!text) return {};
  try {
    const ranges = JSON.parse(text);
    return ranges && typeof ranges === "object" && !Array.isArray(ranges) ? ranges : {};
  } catch {
    return {};
  }
}

/** The browser's time zone, which the fields of times are in: `Europe/Berlin (UTC+02:00 now)`. */
function zone() {
  const minutes = -new Date().getTimezoneOffset();
  const two = (number) => String(Math.floor(Math.abs(number))).padStart(2, "0");
  const offset = `UTC${minutes < 0 ? "-" : "+"}${two(Math.abs(minutes) / 60)}:${two(Math.abs(minutes) % 60)}`;
  const named = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return named && named !== "UTC" ? `${named} (${offset} now)` : "UTC";
}

function local(text) {
  const time = new Date(text ?? NaN);
  if (Number.isNaN(time.getTime())) return "";
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
