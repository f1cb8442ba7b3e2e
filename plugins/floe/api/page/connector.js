// One connector: how it is, what it read and wrote, and what can be done with it.

import { actions } from "./actions.js";
import { el, notice, section, table } from "./dom.js";
import { deadLetters } from "./letters.js";
import { controlEvents } from "./events.js";
import { NONE, age, count, counted, duration, moment, range, shown } from "./format.js";
import { history } from "./history.js";
import { holdings } from "./intervals.js";
import { airflowTroubles, badge, failingSince, isStale, lateBadge, link, name, when } from "./parts.js";
import { replays } from "./replays.js";
import { openReplay } from "./replay.js";

/** Draw the connector; `refresh` asks for it again. */
export function connectorView(answer, refresh) {
  const { record } = answer;
  const replay = (wanted) => openReplay(answer, refresh, wanted);
  return [
    el("nav", { "aria-label": "Breadcrumb", class: "crumbs" }, el("a", { href: "#/" }, "Connectors"), el("span", { "aria-hidden": "true" }, " / "), name(answer.name, 60)),
    el(
      "header",
      { class: "head" },
      el("div", {}, el("h1", {}, name(answer.name, 120), " ", badge(answer.state), " ", lateBadge(lateTables(answer).count)), answer.dag.description && el("p", { class: "hint" }, name(answer.dag.description, 300))),
      actions(answer, refresh, replay),
    ),
    airflowTroubles(answer.airflow),
    ...troubles(answer),
    facts(answer),
    ...(record ? kept(answer, record, replay) : [replays(answer)]),
  ];
}

function kept(answer, record, replay) {
  return [
    history(record.history),
    holdings(record, answer.may.replay ? replay : null),
    replays(answer),
    partitions(record),
    tables(record),
    deadLetters(record, answer),
    controlEvents(record.events),
  ];
}

function troubles({ name: own, state, dag, problem, record, replays: known }) {
  const found = [];
  if (state === "broken") found.push(notice("bad", el("p", {}, "The connector file has errors. ", link("Its DAG's docs list them", own), "."), said(dag)));
  if (dag.failing) found.push(notice("bad", el("p", {}, state === "failed" && "The last run failed. ", failingSince(dag), " ", link("Open the run", own, dag.failing.run_id), "."), said(dag)));
  const last = known?.runs.find((run) => !run.asked.dry_run);
  if (last?.state === "failed") {
    const kind = last.asked.dead_letters ? "redrive" : "replay";
    found.push(notice("warn", el("p", {}, `The last ${kind} failed, `, when(last.ended ?? last.run_after), ". ", link("Open its run", own + ".replay", last.run_id), "."), last.failure && el("p", {}, name(last.failure, 2000))));
  }
  if (problem) found.push(notice("warn", el("p", {}, name(problem, 600))));
  if (!record) return found;
  const { status } = record;
  if (isStale(status.at)) {
    found.push(notice("warn", el("p", {}, "This status is old: it was collected ", when(status.at), ". Is the DAG floe.status running?")));
  }
  const problems = problemsOf(status);
  if (problems.length) found.push(notice("bad", el("ul", {}, problems.map((one) => el("li", {}, name(one, 1000))))));
  const late = lateTables({ record });
  if (late.count) {
    const limit = duration(record.freshness.max_ms / 1000);
    const each = late.named.slice(0, 10).map((one) => el("li", {}, name(one.table), " has all records up to ", moment(one.through), " only, ", when(one.through)));
    const more = late.count - each.length;
    const pause = dag.paused ? "Late tables of a paused connector raise no alert. " : "";
    found.push(
      notice(
        "bad",
        el("p", {}, `Late: records are older than ${limit} (floe.freshness.max-ms) and not in their tables. ${pause}Look at the last run, the lag and the problems.`),
        el("ul", {}, each, more > 0 && el("li", {}, `and ${counted(more, "more table")}`)),
      ),
    );
  }
  if (status.backlog.length) {
    const each = status.backlog.map((one) => el("li", {}, name(one.table), " lacks ", name(`${one.topic}-${one.partition}`), ` ${range([one.start, one.end])}: ${counted(one.end - one.start, "offset")}`));
    found.push(notice("bad", el("p", {}, "Tables are behind; the next run reads for them again:"), el("ul", {}, each)));
  }
  if (record.seconds_until_lost !== null && record.seconds_until_lost < 86_400) {
    found.push(notice("bad", el("p", {}, `Retention removes unread records in ${duration(record.seconds_until_lost)}.`)));
  }
  return found;
}

/** The problems of the connector, its partitions and its tables, some of them. */
function problemsOf(status) {
  const partitions = (status.partitions ?? []).filter((one) => one.problem).map((one) => `${one.topic}-${one.partition}: ${one.problem}`);
  const tables = (status.tables ?? []).filter((one) => one.problem).map((one) => `${one.name}: ${one.problem}`);
  return [...status.problems, ...partitions, ...tables].slice(0, 20);
}

/** What the first failed task says of the last run that failed. */
function said(dag) {
  return dag.failure && el("p", {}, name(dag.failure, 2000));
}

/** How many tables are late, and those that the record names. */
function lateTables({ record }) {
  const named = (record?.freshness?.tables ?? []).filter((one) => one.is_late);
  return { named, count: named.length + (record?.freshness?.more ?? 0) };
}

function facts({ name: own, dag, record }) {
  const status = record?.status;
  // the dead-letter table only gets what others refuse
  const all = (status?.tables ?? []).filter((one) => !one.is_dead_letters);
  const valid = all.map((one) => one.commits.find((commit) => commit.valid_through)?.valid_through);
  const commits = all.flatMap((one) => one.commits.slice(0, 1)).map((one) => one.at).sort();
  const letters = record?.dead_letters?.reduce((sum, one) => sum + one.count, 0);
  const lag = status?.partitions?.reduce((sum, one) => sum + one.lag, 0);
  const fact = (title, value, under) => el("div", {}, el("dt", {}, title), el("dd", {}, value), under && el("dd", { class: "under" }, under));
  const least = valid.length && valid.every(Boolean) ? valid.sort()[0] : null;
  return el(
    "dl",
    { class: "facts" },
    fact("Lag, records", count(lag), record && (lag ? record.lag_seconds !== null && `oldest unread: ${duration(record.lag_seconds)}` : "nothing unread")),
    fact("Valid through", when(least), least && moment(least)),
    fact("Last commit", when(commits.at(-1)), commits.length > 0 && moment(commits.at(-1))),
    fact("Dead letters", count(letters), letters !== undefined && "open"),
    fact("Last run", dag.run ? link(shown(dag.run.state), own, dag.run.run_id) : "none yet", dag.run && when(dag.run.ended ?? dag.run.started ?? dag.run.run_after)),
    fact("Next run", ...nextRun(dag)),
    fact("Status from", status ? when(status.at) : "not collected yet", status && moment(status.at)),
  );
}

/** When the next run begins: one that is due waits for the run before it, or for the scheduler. */
function nextRun(dag) {
  if (dag.paused) return ["paused"];
  if (!dag.next_run) return [NONE];
  if (age(dag.next_run) < 0) return [when(dag.next_run), moment(dag.next_run)];
  const isActive = ["queued", "running"].includes(dag.run?.state);
  return ["due", isActive ? "after the active run" : `since ${moment(dag.next_run)}`];
}

/** Why a part of a status is not there: nobody answered, or nobody was asked, which the problems say. */
function unknown(status, what) {
  if (status.problems.length) return notice("warn", el("p", {}, `${what} are not known: the problems above say why.`));
  return el("p", { class: "quiet" }, `${what} were not looked up yet: the DAG floe.status does it every minute.`);
}

function partitions({ status }) {
  if (status.partitions === null) return section("Partitions", null, unknown(status, "They"));
  const columns = [
    { title: "Partition", cell: (one) => name(`${one.topic}-${one.partition}`) },
    { title: "Lag, records", numeric: true, cell: (one) => count(one.lag) },
    { title: "Committed", numeric: true, cell: (one) => (one.committed === null ? "none" : count(one.committed)) },
    { title: "Log start", numeric: true, cell: (one) => count(one.log_start) },
    { title: "Log end", numeric: true, cell: (one) => count(one.end) },
    { title: "Lost before it was read", cell: (one) => (one.lost ?? []).slice(0, 5).map(range).join(" ") || el("span", { class: "quiet" }, "none") },
    { title: "Problem", cell: (one) => (one.problem ? el("span", { class: "bad-text" }, name(one.problem, 400)) : el("span", { class: "quiet" }, "none")) },
  ];
  if (!status.partitions.length) return section("Partitions", null, el("p", { class: "quiet" }, "The connector's topics have no partition yet."));
  return section("Partitions", "Offsets in Kafka. Committed: the consumer group's, where the next run starts.", table("Partitions", columns, status.partitions, { class: "cards" }));
}

function tables({ status }) {
  if (status.tables === null) return section("Tables", null, unknown(status, "They"));
  if (!status.tables.length) return section("Tables", null, el("p", { class: "quiet" }, "The connector has written to no table yet."));
  return section("Tables", "On the branch that the connector writes: all rows of the table, and the connector's own last commit.", status.tables.map(oneTable));
}

function oneTable(one) {
  const last = one.commits[0];
  const columns = [
    { title: "Committed", cell: (commit) => [moment(commit.at), " ", el("span", { class: "quiet" }, when(commit.at))] },
    { title: "Kind", cell: (commit) => shown(commit.kind) },
    { title: "Rows added", numeric: true, cell: (commit) => count(commit.rows) },
    { title: "Files added", numeric: true, cell: (commit) => count(commit.files) },
    { title: "Valid through", numeric: true, cell: (commit) => moment(commit.valid_through) },
    { title: "Snapshot", numeric: true, cell: (commit) => el("code", {}, shown(commit.snapshot_id)) },
  ];
  return el(
    "details",
    { class: "fold", "data-key": `table ${one.name}` },
    el(
      "summary",
      {},
      name(one.name),
      el("span", { class: "quiet" }, ` branch ${shown(one.branch, 60)}`),
      el("span", { class: "end" }, one.exists ? [typeof one.rows === "number" && `${counted(one.rows, "row")} in all; `, last ? ["last commit ", when(last.at), `: +${counted(last.rows, "row")}`] : "no commit of this connector"] : "does not exist yet"),
    ),
    one.problem && notice("bad", el("p", {}, name(one.problem, 600))),
    one.commits.length ? table(`Commits to ${shown(one.name, 80)}`, columns, one.commits, { class: "cards" }) : el("p", { class: "quiet" }, "This connector has not committed to the table yet."),
  );
}
