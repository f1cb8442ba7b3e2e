"""Where floe answers differently from a Connect worker, by call and field.

Each has a row in ``docs/reference/connect-rest.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class Difference:
    """``row``: the first cell of the row with the reason. ``calls`` and ``fields``: patterns of names and of paths."""

    row: str
    calls: tuple[str, ...]
    fields: tuple[str, ...]

    def covers(self, call: str, path: str) -> bool:
        """Whether it is about a field of the answer to a call."""
        return any(fnmatchcase(call, one) for one in self.calls) and any(fnmatchcase(path, one) for one in self.fields)


_CONFIG_CALLS = (
    *("POST: no name", "POST: unknown class", "POST: no class", "POST: wrong number", "PUT: no topics", "PUT: a null"),
    *("POST: name with a control character", "PUT: name of blanks"),
)
_WORKER_FAULTS = (
    *("POST: no JSON", "POST: no body", "POST: an array", "POST: a text", "POST: no config", "POST: unknown field"),
    *("POST: config is a text", "POST: value is an object", "POST: wrong state", "PUT: no JSON", "PUT: no body"),
    *("PUT: an array", "PATCH: no JSON", "PATCH offsets: no body", "PATCH offsets: negative", "POST: empty state"),
    "PATCH offsets: unknown part",
    *("PATCH offsets: unknown field", "validate: unknown plugin", "validate: no JSON"),
)
_UNKNOWN = ("GET /topics", "PUT /stop", "POST /restart", "POST /tasks/0/restart", "PUT /topics/reset")

DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "names",
        ("POST: name with a slash", "POST: name of dots", "still none", "list*", "none again"),
        ("status", "body", "body.*"),
    ),
    Difference("faults of the caller", _WORKER_FAULTS, ("status", "body.error_code", "body.message")),
    Difference("messages about a configuration", _CONFIG_CALLS, ("body.message",)),
    Difference(
        "messages about a configuration",
        ("validate: no name", "validate: blank name"),
        ("body.configs.name.value.errors*",),
    ),
    Difference(
        "definitions of keys",
        ("validate: *",),
        (
            *("body.configs.*.definition.importance", "body.configs.*.definition.documentation"),
            *("body.configs.*.definition.display_name", "body.configs.*.definition.width"),
            *("body.configs.*.definition.order_in_group", "body.configs.*.value.value"),
        ),
    ),
    Difference("unknown connectors", tuple(f"unknown: {call}" for call in _UNKNOWN), ("*",)),
    Difference("`version`", ("*",), ("*version",)),
    Difference("configuration of tasks", ("tasks",), ("body*.config.task.class", "body*.config.*.suffix")),
    Difference("tasks of a connector made paused", ("status, made paused",), ("body.tasks",)),
    Difference("`PUT …/topics/reset`", ("topics reset",), ("status", "body")),
    Difference(
        "`PATCH …/offsets`",
        ("PATCH offsets", "PATCH offsets: backward", "PATCH offsets: unknown partition"),
        ("status", "body.*"),
    ),
    Difference("`DELETE …/offsets`", ("DELETE offsets",), ("status", "body.*")),
    Difference(
        "paths with encoded slashes, dots and control characters",
        ("DELETE: name *", "slash in a name", "dots in a path", "control character in a path"),
        ("status", "body"),
    ),
)


def unexplained(call: str, paths: Iterator[str]) -> list[str]:
    """Return the fields of an answer that differ without a row."""
    return [path for path in paths if not any(one.covers(call, path) for one in DIFFERENCES)]
