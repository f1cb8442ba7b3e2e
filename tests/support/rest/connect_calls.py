"""Calls of Connect's REST API, good and bad, in an order that a worker and floe can both follow, and what is compared."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ANSWERS = Path(__file__).with_name("connect_answers.json")
"""What a real worker answered, by call: written by ``test_connect_rest`` (full), read by the quick test of floe."""

TOPIC = "rest-orders"
PLUGIN = "org.apache.iceberg.connect.IcebergSinkConnector"
CONFIG = "<config>"
"""In a body: the configuration of the side that is asked."""

JSON = "application/json"


@dataclass(frozen=True)
class Call:
    """One call. ``body``: JSON; ``raw``: text in its place. ``then``: a connector to wait for after it."""

    name: str
    method: str
    path: str
    body: Any = None
    raw: str | None = None
    media: str | None = JSON
    then: str | None = None

    def content(self, config: Mapping[str, str]) -> str | None:
        """Return the text of the body, with the side's own configuration in it."""
        if self.raw is not None:
            return self.raw
        return None if self.body is None else json.dumps(_filled(self.body, config))


@dataclass(frozen=True)
class Answer:
    """What is compared of an answer."""

    status: int
    body: Any

    @classmethod
    def of(cls, status: int, text: str, config: Mapping[str, str]) -> Answer:
        """Read an answer; values of the side's own configuration are replaced by a mark."""
        try:
            body = json.loads(text) if text else None
        except ValueError:
            body = "<no JSON>"
        return cls(status, _marked(_with_errors(body), config))

    def to_json(self) -> dict[str, Any]:
        return {"status": self.status, "body": self.body}


def _with_errors(body: Any) -> Any:
    """Leave the keys with errors of the check of a configuration: each side has others beside them."""
    if not isinstance(body, dict) or "configs" not in body:
        return body
    broken = {one["value"]["name"]: one for one in body["configs"] if one["value"]["errors"]}
    return {"name": body["name"], "error_count": body["error_count"], "configs": broken}


def _filled(value: Any, config: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        base = dict(config) if CONFIG in value else {}
        return {**base, **{key: _filled(one, config) for key, one in value.items() if key != CONFIG}}
    return dict(config) if value == CONFIG else value


def _marked(value: Any, config: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_marked(one, config) for one in value]
    if not isinstance(value, dict):
        return value
    if "connector.class" in value:
        return {key: "<given>" if config.get(key) == one else one for key, one in value.items()}
    return {key: _marked(one, config) for key, one in value.items()}


_OWN = {
    "worker_id": "<worker>",
    "commit": "<commit>",
    "kafka_cluster_id": "<cluster>",
    "trace": "<trace>",
    "iceberg.coordinator.transactional.suffix": "<suffix>",
}
"""Fields whose values are a worker's own."""


_PLACES = re.compile(r"127\.0\.0\.1:\d+|column: \d+")
"""The worker's address, and how far in a body an error is: its paths differ in length."""


def without_own(answer: Answer) -> Answer:
    """Return an answer without values that differ from one worker to the next."""
    return Answer(answer.status, _without_own(answer.body))


def _without_own(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_own(one) for one in value]
    if isinstance(value, dict):
        return {key: _OWN.get(key, _without_own(one)) for key, one in value.items()}
    return _PLACES.sub("<place>", value) if isinstance(value, str) else value


def differences(real: Any, ours: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of fields that differ."""
    if isinstance(real, dict) and isinstance(ours, dict):
        for key in [*real, *(key for key in ours if key not in real)]:
            name = f"{path}.{key}" if path else key
            if key not in real or key not in ours:
                yield name
            else:
                yield from differences(real[key], ours[key], name)
    elif isinstance(real, list) and isinstance(ours, list) and len(real) == len(ours):
        for one, other in zip(real, ours, strict=True):
            yield from differences(one, other, f"{path}[]")
    elif real != ours:
        yield path


def run(send: Callable[[Call], Answer], settle: Callable[[str], None]) -> dict[str, Answer]:
    """Send all calls in their order; ``settle`` waits until a connector is as far as a worker or Airflow has it."""
    found = {}
    for call in CALLS:
        found[call.name] = send(call)
        if call.then is not None:
            settle(call.then)
    return found


def _of_unknown() -> Iterator[Call]:
    for method, rest in (
        ("GET", ""), ("GET", "/config"), ("GET", "/status"), ("GET", "/tasks"), ("GET", "/topics"), ("GET", "/offsets"),
        ("GET", "/tasks/0/status"), ("DELETE", ""), ("PUT", "/pause"), ("PUT", "/resume"), ("PUT", "/stop"),
        ("POST", "/restart"), ("POST", "/tasks/0/restart"), ("PUT", "/topics/reset"), ("DELETE", "/offsets"),
    ):  # fmt: skip
        yield Call(f"unknown: {method} {rest or '/'}", method, f"/connectors/none{rest}")
    yield Call("unknown: PATCH /config", "PATCH", "/connectors/none/config", {"a": "b"})
    yield Call("unknown: PATCH /offsets", "PATCH", "/connectors/none/offsets", _offsets(1))
    yield Call("unknown: restart with tasks", "POST", "/connectors/none/restart?includeTasks=true&onlyFailed=true")


def _offsets(offset: object, partition: object = 0, topic: str = TOPIC) -> dict[str, Any]:
    place = {"kafka_topic": topic, "kafka_partition": partition}
    return {"offsets": [{"partition": place, "offset": {"kafka_offset": offset}}]}


def _posted(name: object, **more: object) -> dict[str, Any]:
    return {"name": name, "config": CONFIG, **more}


_LIST, _ALPHA = "/connectors", "/connectors/alpha"
_BROKEN_PARTS = {"offsets": [{"partition": {}, "offset": {}}]}
_AUTO = "iceberg.tables.auto-create-enabled"
_PLUGINS = "/connector-plugins"

CALLS: tuple[Call, ...] = (
    Call("root", "GET", "/"),
    Call("health", "GET", "/health"),
    Call("health with slash", "GET", "/health/"),
    Call("HEAD", "HEAD", "/connectors"),
    Call("HEAD of an unknown one", "HEAD", "/connectors/none/status"),
    Call("OPTIONS", "OPTIONS", "/connectors/none/config"),
    Call("no connectors", "GET", "/connectors"),
    Call("no connectors, expanded", "GET", "/connectors?expand=status"),
    *_of_unknown(),
    # what is wrong before anything is made
    Call("POST: no JSON", "POST", _LIST, raw="{"),
    Call("POST: no body", "POST", "/connectors"),
    Call("POST: an array", "POST", _LIST, body=[1]),
    Call("POST: a text", "POST", _LIST, body="x"),
    Call("POST: no config", "POST", _LIST, body={"name": "alpha"}),
    Call("POST: no name", "POST", _LIST, body={"config": {"topics": TOPIC}}),
    Call("POST: name inside only", "POST", _LIST, body={"config": {CONFIG: 1, "name": "alpha"}}),
    Call("POST: empty state", "POST", _LIST, body=_posted("alpha", initial_state="")),
    Call("POST: unknown field", "POST", _LIST, body={"name": "alpha", "config": {}, "x": 1}),
    Call("POST: config is a text", "POST", _LIST, body={"name": "alpha", "config": "x"}),
    Call("POST: value is an object", "POST", _LIST, body={"name": "alpha", "config": {"topics": {}}}),
    Call("POST: other name inside", "POST", _LIST, body={"name": "alpha", "config": {CONFIG: 1, "name": "beta"}}),
    Call("POST: unknown class", "POST", _LIST, body={"name": "a", "config": {CONFIG: 1, "connector.class": "X"}}),
    Call("POST: no class", "POST", _LIST, body={"name": "alpha", "config": {"topics": TOPIC}}),
    Call("POST: wrong number", "POST", _LIST, body={"name": "alpha", "config": {CONFIG: 1, "tasks.max": "many"}}),
    Call("POST: wrong state", "POST", _LIST, body=_posted("alpha", initial_state="ASLEEP")),
    Call("POST: plain text", "POST", _LIST, raw="{}", media="text/plain"),
    Call("POST: no media type", "POST", _LIST, raw="{}", media=None),
    Call("POST: name with a slash", "POST", _LIST, body=_posted("a/b")),
    Call("POST: name with a control character", "POST", _LIST, body=_posted("a\nb")),
    Call("POST: name of dots", "POST", _LIST, body=_posted("..")),
    Call("DELETE: name with a slash", "DELETE", "/connectors/a%2Fb"),
    Call("DELETE: name with a control character", "DELETE", "/connectors/a%0Ab"),
    Call("DELETE: name of dots", "DELETE", "/connectors/%2e%2e"),
    Call("PUT: no JSON", "PUT", f"{_ALPHA}/config", raw="{"),
    Call("PUT: no body", "PUT", f"{_ALPHA}/config"),
    Call("PUT: an array", "PUT", f"{_ALPHA}/config", body=[1]),
    Call("PUT: plain text", "PUT", f"{_ALPHA}/config", raw="{}", media="text/plain"),
    Call("PUT: other name inside", "PUT", f"{_ALPHA}/config", body={CONFIG: 1, "name": "beta"}),
    Call("PUT: no topics", "PUT", f"{_ALPHA}/config", body={CONFIG: 1, "topics": ""}),
    Call("PUT: a null", "PUT", f"{_ALPHA}/config", body={CONFIG: 1, "errors.tolerance": None}),
    Call("still none", "GET", "/connectors"),
    # one that runs
    Call("POST", "POST", _LIST, body=_posted("alpha"), then="alpha"),
    Call("POST: exists", "POST", _LIST, body=_posted("alpha")),
    Call("list", "GET", "/connectors"),
    Call("list with slash", "GET", "/connectors/"),
    Call("list, status", "GET", "/connectors?expand=status"),
    Call("list, info", "GET", "/connectors?expand=info"),
    Call("list, both", "GET", "/connectors?expand=info&expand=status"),
    Call("list, unknown", "GET", "/connectors?expand=nothing"),
    Call("info", "GET", "/connectors/alpha"),
    Call("config", "GET", f"{_ALPHA}/config"),
    Call("status", "GET", "/connectors/alpha/status"),
    Call("tasks", "GET", "/connectors/alpha/tasks"),
    Call("task status", "GET", "/connectors/alpha/tasks/0/status"),
    Call("task status: unknown", "GET", "/connectors/alpha/tasks/9/status"),
    Call("task status: no number", "GET", "/connectors/alpha/tasks/x/status"),
    Call("task status: a point", "GET", "/connectors/alpha/tasks/0.0/status"),
    Call("task status: two zeros", "GET", "/connectors/alpha/tasks/00/status"),
    Call("PUT: the same", "PUT", f"{_ALPHA}/config", body=CONFIG, then="alpha"),
    Call(
        "PUT: wrong boolean",
        "PUT",
        f"{_ALPHA}/config",
        body={CONFIG: 1, _AUTO: "x"},
    ),
    Call("PATCH", "PATCH", f"{_ALPHA}/config", body={"errors.tolerance": "none"}, then="alpha"),
    Call("PATCH: a number", "PATCH", f"{_ALPHA}/config", body={"tasks.max": 1}, then="alpha"),
    Call("PATCH: removes", "PATCH", f"{_ALPHA}/config", body={"errors.tolerance": None}, then="alpha"),
    Call("PATCH: a number with a point", "PATCH", f"{_ALPHA}/config", raw='{"x.y": 1.50, "x.z": 1e3}', then="alpha"),
    Call("PATCH: removes two", "PATCH", f"{_ALPHA}/config", body={"x.y": None, "x.z": None}, then="alpha"),
    Call("PATCH: wrong number", "PATCH", f"{_ALPHA}/config", body={"tasks.max": "0"}),
    Call("PATCH: no JSON", "PATCH", f"{_ALPHA}/config", raw="nothing"),
    Call("config after PATCH", "GET", f"{_ALPHA}/config"),
    Call("restart", "POST", "/connectors/alpha/restart", then="alpha"),
    Call("restart failed tasks", "POST", "/connectors/alpha/restart?includeTasks=true&onlyFailed=true", then="alpha"),
    Call("restart: wrong query", "POST", "/connectors/alpha/restart?includeTasks=perhaps", then="alpha"),
    Call("restart: two values", "POST", "/connectors/alpha/restart?onlyFailed=false&onlyFailed=true", then="alpha"),
    Call("restart task", "POST", "/connectors/alpha/tasks/0/restart", then="alpha"),
    Call("topics", "GET", "/connectors/alpha/topics"),
    Call("topics reset", "PUT", "/connectors/alpha/topics/reset"),
    Call("offsets", "GET", f"{_ALPHA}/offsets"),
    Call("PATCH offsets: runs", "PATCH", f"{_ALPHA}/offsets", body=_offsets(1)),
    Call("DELETE offsets: runs", "DELETE", f"{_ALPHA}/offsets"),
    Call("pause", "PUT", "/connectors/alpha/pause", then="alpha"),
    Call("status, paused", "GET", "/connectors/alpha/status"),
    Call("PATCH offsets: paused", "PATCH", f"{_ALPHA}/offsets", body=_offsets(1)),
    Call("resume", "PUT", "/connectors/alpha/resume", then="alpha"),
    Call("status, resumed", "GET", "/connectors/alpha/status"),
    Call("stop", "PUT", "/connectors/alpha/stop", then="alpha"),
    Call("status, stopped", "GET", "/connectors/alpha/status"),
    Call("info, stopped", "GET", "/connectors/alpha"),
    Call("PATCH offsets: no body", "PATCH", f"{_ALPHA}/offsets"),
    Call("PATCH offsets: empty", "PATCH", f"{_ALPHA}/offsets", body={}),
    Call("PATCH offsets: none", "PATCH", f"{_ALPHA}/offsets", body={"offsets": []}),
    Call("PATCH offsets: no number", "PATCH", f"{_ALPHA}/offsets", body=_offsets("x")),
    Call("PATCH offsets: negative", "PATCH", f"{_ALPHA}/offsets", body=_offsets(-1)),
    Call(
        "PATCH offsets: other keys",
        "PATCH",
        f"{_ALPHA}/offsets",
        body=_BROKEN_PARTS,
    ),
    Call("PATCH offsets: a null", "PATCH", f"{_ALPHA}/offsets", body={"offsets": [{"partition": None}]}),
    Call("PATCH offsets: unknown field", "PATCH", f"{_ALPHA}/offsets", body={"x": 1}),
    Call(
        "PATCH offsets: unknown part",
        "PATCH",
        f"{_ALPHA}/offsets",
        body={"offsets": [{**_offsets(3)["offsets"][0], "x": 1}]},
    ),
    Call("PATCH offsets: unknown partition", "PATCH", f"{_ALPHA}/offsets", body=_offsets(3, 77)),
    Call("PATCH offsets", "PATCH", f"{_ALPHA}/offsets", body=_offsets(3)),
    Call("PATCH offsets: backward", "PATCH", f"{_ALPHA}/offsets", body=_offsets(1)),
    Call("DELETE offsets", "DELETE", f"{_ALPHA}/offsets"),
    # others by other ways
    Call("PUT: new", "PUT", "/connectors/beta/config", body=CONFIG, then="beta"),
    Call("POST: paused", "POST", _LIST, body=_posted("gamma", initial_state="PAUSED"), then="gamma"),
    Call("status, made paused", "GET", "/connectors/gamma/status"),
    Call("POST: stopped", "POST", _LIST, body=_posted("delta", initial_state="stopped"), then="delta"),
    Call("status, made stopped", "GET", "/connectors/delta/status"),
    Call("list of four", "GET", "/connectors"),
    # plugins
    Call("plugins", "GET", "/connector-plugins"),
    Call("plugins, empty query", "GET", "/connector-plugins?connectorsOnly="),
    Call("plugin config: unknown", "GET", f"{_PLUGINS}/Nothing/config"),
    Call(
        "validate: unknown plugin",
        "PUT",
        f"{_PLUGINS}/Nothing/config/validate",
        body={"connector.class": "Nothing"},
    ),
    Call(
        "validate: other class",
        "PUT",
        f"{_PLUGINS}/{PLUGIN}/config/validate",
        body={"connector.class": "Other"},
    ),
    Call(
        "validate: wrong values",
        "PUT",
        f"{_PLUGINS}/IcebergSink/config/validate",
        body={CONFIG: 1, "name": "a", "errors.tolerance": "x", "errors.log.enable": "x", "errors.retry.timeout": "x"},
    ),
    Call("validate: no name", "PUT", f"{_PLUGINS}/{PLUGIN}/config/validate", body=CONFIG),
    Call("validate: blank name", "PUT", f"{_PLUGINS}/{PLUGIN}/config/validate", body={CONFIG: 1, "name": " "}),
    Call(
        "validate: short class",
        "PUT",
        f"{_PLUGINS}/{PLUGIN}/config/validate",
        body={CONFIG: 1, "name": "a", "connector.class": "IcebergSink"},
    ),
    Call("validate: no JSON", "PUT", f"{_PLUGINS}/{PLUGIN}/config/validate", raw="{"),
    Call("validate: plain text", "PUT", f"{_PLUGINS}/{PLUGIN}/config/validate", raw="{}", media="text/plain"),
    # what is no call
    Call("no such path", "GET", "/nothing"),
    Call("no such part", "GET", "/connectors/alpha/nothing"),
    Call("POST on a connector", "POST", "/connectors/alpha"),
    Call("PUT on the list", "PUT", "/connectors", body={}),
    Call("GET pause", "GET", "/connectors/alpha/pause"),
    Call("DELETE config", "DELETE", f"{_ALPHA}/config"),
    Call("slash in a name", "GET", "/connectors/a%2Fb"),
    Call("dots in a path", "GET", "/connectors/%2e%2e/status"),
    Call("control character in a path", "GET", "/connectors/a%0Ab"),
    Call("PUT: name of blanks", "PUT", "/connectors/%20/config", body=CONFIG),
    # the end
    # which leaves a standalone worker with a task that failed
    Call("restart task: unknown", "POST", "/connectors/alpha/tasks/7/restart"),
    Call("DELETE", "DELETE", "/connectors/alpha"),
    Call("DELETE: again", "DELETE", "/connectors/alpha"),
    Call("DELETE beta", "DELETE", "/connectors/beta"),
    Call("DELETE gamma", "DELETE", "/connectors/gamma"),
    Call("DELETE delta", "DELETE", "/connectors/delta"),
    Call("none again", "GET", "/connectors"),
)
