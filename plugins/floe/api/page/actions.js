// The buttons of a connector. Each says what will happen before it does anything.

import { airflow } from "./calls.js";
import { openDiagnosis } from "./diagnosis.js";
import { openDialog } from "./dialog.js";
import { button, el, say } from "./dom.js";
import { counted } from "./format.js";
import { link } from "./parts.js";
import { openRun } from "./run.js";

/** Draw the buttons; those that the user has no right to are not there. */
export function actions(answer, refresh, replay) {
  const { may, dag, record } = answer;
  const letters = record?.dead_letters?.reduce((sum, one) => sum + one.count, 0) ?? 0;
  return el(
    "div",
    { class: "actions", role: "group", "aria-label": "Actions" },
    may.run && button("Run now…", () => openRun(answer, refresh), { class: "main", id: "act-run" }),
    may.pause && button(dag.paused ? "Resume…" : "Pause…", () => pause(answer, refresh), { id: "act-pause" }),
    may.replay && button("Replay…", () => replay(new URLSearchParams()), { id: "act-replay" }),
    may.replay && letters > 0 && button("Redrive dead letters…", () => replay(new URLSearchParams({ dead_letters: "true" })), { id: "act-letters" }),
    may.run && button("Diagnose…", () => openDiagnosis(answer), { id: "act-diagnose" }),
    link("DAG in Airflow", answer.name),
  );
}

function pause({ name, dag, record }, refresh) {
  const paused = !dag.paused;
  const lag = record?.status.partitions?.reduce((sum, one) => sum + one.lag, 0);
  openDialog(paused ? "Pause" : "Resume", {
    body: paused
      ? [
          el("p", {}, "No new run starts until the connector is resumed. A run that is at work ends as usual."),
          el("p", {}, "Records wait in Kafka meanwhile. Retention removes them in the end, and Kafka forgets committed offsets after a while (7 days by default); floe can then restore them from the tables."),
        ]
      : [el("p", {}, `The connector runs on its schedule again, from the committed offsets on${lag ? `: ${counted(lag, "record")} wait` : ""}. Nothing is lost or read twice.`)],
    confirm: paused ? "Pause" : "Resume",
    act: async () => {
      await airflow.pause(name, paused);
      say(paused ? "The connector is paused." : "The connector is resumed.");
      refresh();
      return null;
    },
  });
}
