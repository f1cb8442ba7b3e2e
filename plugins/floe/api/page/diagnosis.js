// The diagnosis of a connector: a run that checks all that it needs, and the findings as a table.

import { airflow } from "./calls.js";
import { openDialog } from "./dialog.js";
import { el, say, table } from "./dom.js";
import { counted, shown } from "./format.js";
import { name } from "./parts.js";
import { ended, failure, late, resultOf } from "./preview.js";

const WHAT = "diagnosis";
const MARKS = { ok: "OK", problem: "Problem", warning: "Warning", "not checked": "Not checked" };

/** Open the dialog. */
export function openDiagnosis({ name: dagId, dag }) {
  const place = el("div", { "aria-live": "polite", class: "preview" });
  const show = (...some) => place.replaceChildren(...some.flat());
  const dialog = openDialog("Diagnose", {
    wide: true,
    body: [
      el("p", {}, "Checks brokers, topics, ACLs, the control topic, schema registry, catalog, warehouse, Spark, packages and clocks. Probes are written and removed; no record is read."),
      dag.paused && el("p", {}, "The connector is paused: this run waits until it is resumed, and then a run of its schedule begins too, which reads and commits. The command “floe doctor” checks the same without a run."),
      place,
    ],
    confirm: "Diagnose",
    act: async () => {
      show(el("p", { class: "loading" }, `The ${WHAT} is queued…`));
      const runId = (await airflow.trigger(dagId, { diagnose: true })).dag_run_id;
      const state = await ended(dagId, runId, show, dialog.isOpen, WHAT);
      if (state === "success") return findings(await resultOf(dagId, runId));
      return state === null ? late(dagId, runId, WHAT) : failure(dagId, runId, WHAT);
    },
  });
}

function findings({ problems, findings: found }) {
  say("The diagnosis is there.");
  const columns = [
    { title: "Check", cell: (one) => shown(one.check, 60) },
    { title: "Result", cell: (one) => MARKS[one.level] ?? name(one.level, 20) },
    { title: "Found", cell: (one) => name(one.text, 600) },
    { title: "What to do", cell: (one) => (one.remedy ? name(one.remedy, 600) : "–") },
  ];
  const order = ["problem", "warning", "not checked", "ok"];
  const rows = [...found].sort((one, other) => order.indexOf(one.level) - order.indexOf(other.level));
  return [el("p", {}, el("strong", {}, problems ? counted(problems, "problem") : "No problem was found.")), table("Findings", columns, rows, { class: "cards" })];
}
