// Small things that both views have.

import { openPage, pageOf } from "./calls.js";
import { el, notice } from "./dom.js";
import { NONE, age, ago, counted, moment, shown } from "./format.js";

export const STALE = 300; // seconds

const STATES = {
  broken: ["bad", "Broken", "The connector file has errors; every run fails."],
  failed: ["bad", "Failed", "The last run failed."],
  failing: ["bad", "Failing", "The last runs failed; another one is queued or at work."],
  stalled: ["bad", "No scheduler", "Airflow's scheduler is not alive: no run begins or goes on."],
  problems: ["bad", "Problems", "The last run did not fail; the next one would meet problems."],
  running: ["busy", "Running", "A run is queued or at work."],
  paused: ["idle", "Paused", "No run starts until the connector is resumed."],
  ready: ["good", "Ready", "The last run did not fail; the next one starts on schedule."],
};

/** The connector's state as a badge. */
export function badge(state) {
  const [kind, text, title] = STATES[state] ?? ["idle", shown(state), ""];
  return el("span", { class: `badge ${kind}`, title }, text);
}

/** What is wrong with Airflow itself: a notice, or nothing. */
export function airflowTroubles(texts) {
  return texts?.length > 0 && notice("bad", el("ul", {}, texts.map((one) => el("li", {}, `${shown(one, 600)}.`))));
}

/** Since when the runs of a connector fail, as children of an element; nothing if they do not. */
export function failingSince({ failing }) {
  if (!failing) return null;
  const least = failing.is_longer ? "at least " : "";
  return [`Failing since ${least}${moment(failing.since)}, `, when(failing.since), `: ${least}${counted(failing.runs, "run")}.`];
}

/** The badge of a connector with late tables; nothing if there is none. */
export function lateBadge(count) {
  return count > 0 && el("span", { class: "badge bad", title: "Records are older than floe.freshness.max-ms and not in their tables." }, "Late");
}

export function stateText(state) {
  return STATES[state]?.[1] ?? shown(state);
}

/** How long ago a moment was, kept up to date; the moment itself as its title. */
export function when(time) {
  if (age(time) === null) return NONE;
  const element = el("time", { datetime: time, title: moment(time), "data-age": true }, ago(time));
  element.ageText = () => ago(time);
  return element;
}

/** A text of unknown origin, with its own direction. */
export function name(text, most) {
  return el("bdi", { class: "name" }, shown(text, most));
}

export function isStale(time) {
  const seconds = age(time);
  return seconds !== null && seconds > STALE;
}

/** A link to Airflow's own page of a DAG, or of one of its runs. */
export function link(text, dagId, runId) {
  return el("a", { href: pageOf(dagId, runId), onclick: openPage }, text);
}

/** What is shown after a run was started: the sentence and the run. */
export function done(text, dagId, runId) {
  return el("p", {}, text, link("Open the run in Airflow", dagId, runId), ".");
}
