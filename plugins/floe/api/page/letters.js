// Open dead letters by reason, with the newest records and their bytes.

import { el, section } from "./dom.js";
import { count, counted, dump, shown, size } from "./format.js";
import { name, when } from "./parts.js";

export function deadLetters({ dead_letters: reasons, dead_letters_at: at }, { may }) {
  const title = "Dead letters";
  if (reasons === null) return section(title, null, el("p", { class: "quiet" }, "They were not looked up: the connector has no dead-letter table, or the problems above say why."));
  const looked = at ? [" Looked up ", when(at), "."] : [];
  if (!reasons.length) return section(title, null, el("p", { class: "quiet" }, "None is open.", looked));
  const hint = [may.records ? "Records that could not become rows, and are not resolved yet." : "You may not see the records: that needs the right to read the DAG's task logs.", looked];
  return section(title, hint, reasons.map((reason, index) => oneReason(reason, index)));
}

function oneReason(reason, index) {
  return el(
    "details",
    { class: "fold", "data-key": `letters ${index} ${reason.table} ${reason.reason}` },
    el(
      "summary",
      {},
      el("strong", {}, name(reason.reason, 200)),
      el("span", { class: "quiet" }, reason.table ? [" for ", name(reason.table, 120)] : " before a table was chosen", ", stage ", name(reason.stage, 60)),
      el("span", { class: "end" }, counted(reason.count, "record")),
    ),
    reason.samples.length ? el("ul", { class: "samples" }, reason.samples.map(sample)) : el("p", { class: "quiet" }, "No record is shown."),
  );
}

function sample(one) {
  const known = typeof one.value === "string" ? Math.floor(one.value.length / 2) : 0;
  const place = el("p", {}, el("strong", {}, name(`${one.topic}-${one.partition}`), ` at offset ${count(one.offset)}`), el("span", { class: "quiet" }, ` ${size(one.size)}`));
  const label = `Bytes of ${shown(one.topic, 60)}-${one.partition} at offset ${count(one.offset)}`;
  return el(
    "li",
    {},
    place,
    el("p", {}, name(one.message, 1000)),
    one.value === null
      ? el("p", { class: "quiet" }, "The record has no value (a tombstone).")
      : [
          el("pre", { tabindex: 0, role: "group", "aria-label": label }, dump(one.value)),
          one.size > known && el("p", { class: "quiet" }, `The first ${count(known)} of ${count(one.size)} bytes.`),
        ],
  );
}
