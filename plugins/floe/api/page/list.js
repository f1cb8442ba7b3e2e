// All connectors: what needs a person comes first.

import { button, el, notice, table } from "./dom.js";
import { NONE, age, count, counted, duration, moment, shown } from "./format.js";
import { airflowTroubles, badge, failingSince, isStale, lateBadge, name, stateText, when } from "./parts.js";

const chosen = { text: "", state: "all", key: "attention", down: false };

const RANK = { broken: 0, failed: 1, failing: 2, stalled: 3, problems: 4, running: 5, paused: 6, ready: 7 };
const BAD = ["broken", "failed", "failing", "stalled", "problems"];
const time = (text) => Date.parse(text) || null;

function needsCare(line) {
  const status = line.status;
  return BAD.includes(line.state) || !status || status.problems.length > 0 || status.backlog > 0 || status.late > 0 || isStale(status.at);
}

const KEYS = {
  attention: (line) => (needsCare(line) ? 0 : 10) + (RANK[line.state] ?? 9),
  name: (line) => line.name,
  state: (line) => RANK[line.state] ?? 9,
  lag: (line) => line.status?.lag,
  seconds: (line) => line.status?.lag_seconds,
  valid: (line) => time(line.status?.valid_through),
  commit: (line) => time(line.status?.committed_at),
  letters: (line) => line.status?.dead_letters,
  problems: (line) => line.status?.problems.length,
  age: (line) => time(line.status?.at),
};

function compare(a, b) {
  const [x, y] = [KEYS[chosen.key](a), KEYS[chosen.key](b)];
  const missing = (value) => value === null || value === undefined;
  if (missing(x) || missing(y)) return missing(x) - missing(y) || byName(a, b);
  const order = typeof x === "string" ? x.localeCompare(y) : x - y;
  return (chosen.down ? -order : order) || byName(a, b);
}

const byName = (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

function matches(line) {
  if (chosen.state === "attention" && !needsCare(line)) return false;
  if (!["all", "attention"].includes(chosen.state) && line.state !== chosen.state) return false;
  const text = `${line.name} ${line.dag.description ?? ""}`.toLowerCase();
  return text.includes(chosen.text.toLowerCase());
}

/** Draw the list; `redraw` draws it again with another order or filter. */
export function listView({ connectors, airflow }, redraw) {
  const found = connectors.filter(matches).sort(compare);
  const care = connectors.filter(needsCare).length;
  const head = el(
    "header",
    { class: "head" },
    el("h1", {}, "Connectors"),
    el(
      "p",
      { class: "hint", id: "counts", role: "status" },
      connectors.length === found.length ? counted(connectors.length, "connector") : `${count(found.length)} of ${counted(connectors.length, "connector")}`,
      care ? `, ${count(care)} need${care === 1 ? "s" : ""} attention` : connectors.length ? ", none needs attention" : "",
    ),
  );
  if (!connectors.length) {
    return [
      head,
      airflowTroubles(airflow),
      notice(
        "info",
        el("p", {}, el("strong", {}, "No connector is here yet.")),
        el("p", {}, "Put a connector file into the connectors folder. Its DAG appears when Airflow has parsed it, and with it a line here. Connectors whose DAG you may not read are not shown."),
      ),
    ];
  }
  const set = (change) => {
    Object.assign(chosen, change);
    redraw();
  };
  return [head, airflowTroubles(airflow), tools(connectors, set), found.length ? lines(found, set) : none(set)];
}

function tools(connectors, set) {
  const states = [...new Set(connectors.map((line) => line.state))].sort((a, b) => RANK[a] - RANK[b]);
  const option = (value, text) => el("option", { value, selected: chosen.state === value }, text);
  return el(
    "div",
    { class: "tools", role: "search" },
    el("label", { class: "field" }, el("span", {}, "Name or topic"), el("input", { id: "filter", type: "search", value: chosen.text, oninput: (event) => set({ text: event.target.value }) })),
    el(
      "label",
      { class: "field" },
      el("span", {}, "State"),
      el(
        "select",
        { id: "filter-state", onchange: (event) => set({ state: event.target.value }) },
        option("all", "All"),
        option("attention", "Needs attention"),
        states.map((state) => option(state, stateText(state))),
      ),
    ),
  );
}

function none(set) {
  return notice("info", el("p", {}, "No connector matches. ", button("Show all", () => set({ text: "", state: "all" }))));
}

const COLUMNS = [
  { key: "name", title: "Connector", cell: connectorCell },
  { key: "state", title: "State", cell: (line) => [badge(line.state), " ", lateBadge(line.status?.late)] },
  { key: "lag", title: "Lag, records", numeric: true, cell: (line) => count(line.status?.lag) },
  { key: "seconds", title: "Lag, time", numeric: true, cell: (line) => duration(line.status?.lag_seconds) },
  { key: "valid", title: "Valid through", numeric: true, cell: (line) => when(line.status?.valid_through) },
  { key: "commit", title: "Last commit", numeric: true, cell: (line) => when(line.status?.committed_at) },
  { key: "letters", title: "Dead letters", numeric: true, cell: (line) => count(line.status?.dead_letters) },
  { key: "problems", title: "Problems", cell: problemCell },
  { key: "age", title: "Status from", numeric: true, cell: ageCell },
];

function connectorCell(line) {
  return [
    el("a", { href: `#/connectors/${encodeURIComponent(line.name)}`, id: `link-${line.name}` }, name(line.name, 80)),
    line.dag.description && el("span", { class: "under" }, name(line.dag.description, 90)),
  ];
}

function problemCell({ state, status, problem, dag }) {
  if (state === "broken") return el("span", { class: "bad-text" }, "The connector file has errors.");
  if (dag.failing) return el("span", { class: "bad-text" }, failingSince(dag), dag.failure && ` ${shown(dag.failure, 160)}`);
  if (problem) return el("span", { class: "warn-text" }, shown(problem, 110));
  const texts = [...status.problems];
  if (status.late > 0) texts.unshift(lateText(status));
  if (status.backlog > 0) texts.unshift(`A table is behind by ${counted(status.backlog, "record")}.`);
  if (!texts.length) return el("span", { class: "quiet" }, "none");
  const more = texts.length > 1 ? ` (${texts.length - 1} more)` : "";
  return el("span", { class: "bad-text" }, name(texts[0], 110), more);
}

function lateText({ late, late_table: table, late_through: through }) {
  if (!table) return `Late: ${counted(late, "table")}.`;
  const more = late > 1 ? ` and ${counted(late - 1, "more table")}` : "";
  return `Late: ${shown(table, 60)}${more}, complete up to ${moment(through)}.`;
}

function ageCell({ status }) {
  if (!status) return NONE;
  return isStale(status.at) ? el("span", { class: "warn-text" }, when(status.at), el("span", { class: "unseen" }, " (stale)")) : when(status.at);
}

function lines(found, set) {
  const drawn = table("Connectors", COLUMNS, found, { class: "cards" });
  drawn.classList.add("long");
  [...drawn.querySelectorAll("thead th")].forEach((cell, index) => {
    const { key, title } = COLUMNS[index];
    const sorted = chosen.key === key;
    cell.setAttribute("aria-sort", sorted ? (chosen.down ? "descending" : "ascending") : "none");
    const arrow = el("span", { class: "arrow", "aria-hidden": "true" }, sorted ? (chosen.down ? "↓" : "↑") : "");
    const choose = () => set({ key, down: sorted ? !chosen.down : false });
    cell.replaceChildren(el("button", { type: "button", class: "sort", id: `sort-${key}`, onclick: choose }, title, arrow));
  });
  const stale = found.filter((line) => line.status && isStale(line.status.at));
  const oldest = Math.max(...stale.map((line) => age(line.status.at)));
  return [
    stale.length > 0 &&
      notice(
        "warn",
        el("p", {}, `The status of ${counted(stale.length, "connector")} is old, up to ${duration(oldest)}. Is the DAG floe.status running?`),
      ),
    drawn,
  ].filter(Boolean);
}
