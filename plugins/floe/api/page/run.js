// A run of the connector that is started by hand: with a limit and with keys for this run, and a preview of it by a dry run.

import { airflow } from "./calls.js";
import { openDialog } from "./dialog.js";
import { button, el, notice, say } from "./dom.js";
import { done } from "./parts.js";
import { preview } from "./preview.js";

const PAUSED = "The connector is paused: a run waits until it is resumed. When it is resumed, a run of its schedule begins too, which reads and commits, and it may be the first. So there is no preview of a paused connector here; the command “floe status” shows what is unread without a run.";

/** Open the form. */
export function openRun({ name: dagId, dag }, refresh) {
  const most = el("input", { id: "max-records", type: "number", min: 1, step: 1 });
  const keys = el("textarea", { id: "run-config", rows: 3, spellcheck: "false", placeholder: '{"tasks.max": 4}' });
  const resume = dag.paused && el("input", { type: "checkbox", id: "also-resume" });
  const shown = el("div", { "aria-live": "polite", class: "preview" });
  const conf = () => ({ ...limit(most), ...overrides(keys) });

  async function ask() {
    let own;
    try {
      own = conf();
    } catch (problem) {
      shown.replaceChildren(notice("bad", el("p", {}, problem.message)));
      return;
    }
    look.disabled = true;
    await preview(dagId, { ...own, dry_run: true }, shown, dialog.isOpen);
    look.disabled = false;
  }

  const look = button("Preview", ask, { id: "preview" });
  const dialog = openDialog("Run now", {
    wide: true,
    body: [
      el("p", {}, "Starts a run that reads new records from the committed offsets on and commits them to the tables. Nothing is read twice; a run beside another waits for it."),
      dag.paused && notice("warn", el("p", {}, PAUSED)),
      el(
        "div",
        { class: "form" },
        el("div", {}, labelled("Records at most", most), el("p", { class: "hint" }, "Of this run, over all partitions. Empty: the connector's own limit.")),
        el("div", {}, labelled("Connector keys for this run, as JSON", keys), el("p", { class: "hint" }, "Empty: as its configuration says. The form of the DAG in Airflow lists the keys that a run may set.")),
      ),
      !dag.paused && el("div", { class: "actions" }, look, el("span", { class: "quiet" }, "A dry run in Airflow: it reads and writes nothing.")),
      resume && el("label", { class: "check" }, resume, " Resume it too; then it runs on its schedule again"),
      shown,
    ],
    confirm: "Run now",
    act: async () => {
      const run = await airflow.trigger(dagId, conf());
      if (resume && resume.checked) await airflow.pause(dagId, false);
      say("The run is queued.");
      refresh();
      return done("The run is queued. ", dagId, run.dag_run_id);
    },
  });
}

const labelled = (text, field) => el("label", { class: "field" }, el("span", {}, text), field);

function limit(field) {
  if (field.value === "" && !field.validity.badInput) return {};
  const most = Number(field.value);
  if (field.validity.badInput || !Number.isSafeInteger(most) || most < 1) throw new Error("Records at most: give a whole number from 1 on, or nothing.");
  return { max_records: most };
}

function overrides(field) {
  const text = field.value.trim();
  if (!text) return {};
  let keys;
  try {
    keys = JSON.parse(text);
  } catch (problem) {
    throw new Error(`The connector keys are no JSON: ${problem.message}`);
  }
  if (keys === null || typeof keys !== "object" || Array.isArray(keys)) throw new Error('The connector keys are no JSON object, such as {"tasks.max": 4}.');
  return { config: keys };
}
