// The page: which view the address names, asked for again every few seconds while somebody looks.

import { get } from "./calls.js";
import { connectorView } from "./connector.js";
import { el, button, notice, say } from "./dom.js";
import { listView } from "./list.js";
import { openReplay } from "./replay.js";

const EVERY = 10_000; // milliseconds
const main = document.getElementById("main");

let route = null;
let last = null; // the answer that is shown, without its time
let asked = 0;

/** `#/connectors/<name>/replay?ranges=…` as `{name, replay}`. */
function read(hash) {
  const [path, query] = hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").filter(Boolean);
  if (parts[0] !== "connectors" || !parts[1]) return { name: null, replay: null };
  let name = parts[1];
  try {
    name = decodeURIComponent(parts[1]);
  } catch {
    // not an encoded name: it is looked up as it is
  }
  // the replay DAG's own page in Airflow opens its connector
  return { name: name.replace(/\.replay$/, ""), replay: parts[2] === "replay" ? new URLSearchParams(query ?? "") : null };
}

async function show({ again } = {}) {
  const mine = ++asked;
  const path = route.name === null ? "floe/view/connectors" : `floe/view/connectors/${encodeURIComponent(route.name)}`;
  let answer;
  try {
    answer = await get(path);
  } catch (problem) {
    if (mine === asked) fail(problem, again);
    return;
  }
  if (mine !== asked) return;
  const { at, ...content } = answer;
  const text = JSON.stringify(content);
  document.getElementById("trouble")?.remove();
  if (!again || text !== last) {
    last = text;
    draw(route.name === null ? list(answer) : () => connectorView(answer, refresh));
  }
  if (route.replay && answer.record !== undefined) {
    const wanted = route.replay;
    route.replay = null;
    if (answer.may.replay) openReplay(answer, refresh, wanted);
    else main.prepend(notice("warn", el("p", {}, "You do not have the right to replay this connector.")));
  }
  tick();
}

/** The list, drawn again by itself with another order or filter. */
function list(answer) {
  return () => listView(answer, () => draw(list(answer)));
}

/** Draw a view in the place of the one before; what was open stays open, and the focus stays where it was. */
function draw(view) {
  const open = new Set([...main.querySelectorAll("details[open][data-key]")].map((one) => one.dataset.key));
  const focused = main.contains(document.activeElement) ? document.activeElement.id : "";
  const caret = document.activeElement?.selectionStart;
  const scrolled = [...main.querySelectorAll(".scroll")].map((one) => one.scrollTop);
  main.replaceChildren(...[view()].flat(Infinity).filter(Boolean));
  for (const one of main.querySelectorAll("details[data-key]")) one.open = open.has(one.dataset.key);
  [...main.querySelectorAll(".scroll")].forEach((one, index) => (one.scrollTop = scrolled[index] ?? 0));
  const again = focused && document.getElementById(focused);
  if (again) {
    again.focus({ preventScroll: true });
    if (typeof caret === "number" && again.setSelectionRange) again.setSelectionRange(caret, caret);
  }
}

function fail(problem, again) {
  const text = problem?.message ?? String(problem);
  if (!again || problem?.status === 404) {
    last = null;
    main.replaceChildren(
      el("h1", {}, route.name === null ? "Connectors" : "Connector"),
      notice(
        "bad",
        el("p", {}, el("strong", {}, problem?.status === 404 ? "There is no such connector." : "The status cannot be shown. ")),
        el("p", {}, problem?.status === 404 ? "It may be of a DAG that is no connector of floe's, or you may not read its DAG." : text),
        el("p", {}, button("Try again", () => show()), " ", el("a", { href: "#/" }, "All connectors")),
      ),
    );
  } else if (!document.getElementById("trouble")) {
    const note = notice("bad", el("p", {}, `What is below is not current any more. ${text}`));
    note.id = "trouble";
    main.prepend(note);
  }
  say(text);
}

/** Write the ages anew; they are the only thing that changes by itself. */
function tick() {
  for (const one of main.querySelectorAll("[data-age]")) one.textContent = one.ageText?.() ?? one.textContent;
}

function refresh() {
  return show({ again: true });
}

function go() {
  route = read(location.hash);
  last = null;
  document.title = route.name === null ? "floe connectors" : `${route.name.slice(0, 80)} – floe`;
  main.replaceChildren(el("p", { class: "loading", role: "status" }, "Loading…"));
  window.scrollTo(0, 0);
  show().then(() => main.focus({ preventScroll: true }));
}

addEventListener("hashchange", go);
setInterval(() => document.visibilityState === "visible" && refresh(), EVERY);
setInterval(tick, 1000);
document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && refresh());
go();
