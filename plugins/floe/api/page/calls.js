// Calls of floe's routes and of Airflow's REST API, with the caller's session.

const HERE = new URL("./", location.href).pathname;
/** The path that Airflow is under, with a slash at its end. */
export const ROOT = HERE.replace(/floe\/page\/$/, "");

export class Refused extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

const WHY = {
  401: "You are not signed in any more. Sign in to Airflow again, then reload this page.",
  403: "You do not have the right to do this.",
  404: "It is not there, or you may not see it.",
};

function detailOf(answer, body) {
  const detail = body?.detail;
  if (typeof detail === "string") return detail;
  if (Array.isArray(detail)) return detail.map((one) => one?.msg ?? JSON.stringify(one)).join("; ");
  if (detail) return JSON.stringify(detail);
  return `${answer.status} ${answer.statusText}`;
}

async function call(path, options) {
  let answer;
  try {
    answer = await fetch(ROOT + path, { credentials: "same-origin", cache: "no-store", ...options });
  } catch {
    throw new Refused(0, "Airflow's API server does not answer.");
  }
  const body = await answer.json().catch(() => null);
  if (!answer.ok) {
    const why = WHY[answer.status];
    throw new Refused(answer.status, why ? `${why} (${detailOf(answer, body)})` : detailOf(answer, body));
  }
  if (body === null) throw new Refused(answer.status, "The answer is not JSON.");
  return body;
}

export const get = (path) => call(path);

/** Change something. `X-Floe`: no page of another origin can send it. */
export const send = (method, path, body) =>
  call(path, { method, body: JSON.stringify(body), headers: { "Content-Type": "application/json", "X-Floe": "page" } });

const dag = (id) => `api/v2/dags/${encodeURIComponent(id)}`;
const run = (id, runId) => `${dag(id)}/dagRuns/${encodeURIComponent(runId)}`;

export const airflow = {
  trigger: (id, conf) => send("POST", `${dag(id)}/dagRuns`, { logical_date: null, conf }),
  pause: (id, paused) => send("PATCH", `${dag(id)}?update_mask=is_paused`, { is_paused: paused }),
  run: (id, runId) => get(run(id, runId)),
  tasks: (id, runId) => get(`${run(id, runId)}/taskInstances`),
  result: (id, runId) => get(`${run(id, runId)}/taskInstances/plan/xcomEntries/return_value?stringify=false`),
  log: (id, runId, task) =>
    get(`${run(id, runId)}/taskInstances/${encodeURIComponent(task.task_id)}/logs/${task.try_number}?full_content=true`),
};

/** Where Airflow's own page of a DAG, or of one of its runs, is. */
export function pageOf(dagId, runId) {
  return `${ROOT}dags/${encodeURIComponent(dagId)}${runId ? `/runs/${encodeURIComponent(runId)}` : ""}`;
}

/** Open one of Airflow's pages: around this one, where Airflow shows it in a frame that may not leave by itself. */
export function openPage(event) {
  const path = new URL(event.currentTarget.href).pathname;
  let around = null;
  try {
    around = window.parent === window ? null : window.parent.document;
  } catch {
    return; // a page of another origin
  }
  if (!around) return;
  event.preventDefault();
  const link = around.createElement("a");
  link.href = path;
  around.body.append(link);
  link.click();
  link.remove();
}
