"""An error in three short lines: what went wrong, the value, the next step.

Airflow shows the end of a failed task's log, and of each line the first characters.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from floe.operators.dags.markdown import readable

WIDTH = 80
"""Characters of a line that Airflow shows without scrolling."""

_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z`'\"“])")
_QUOTED = re.compile(r"(?<!\w)('[^']+'|\"[^\"]+\"|`[^`]+`)(?!\w)")
_ADVICE = re.compile(
    r"(add|check|choose|clear|compact|configure|continue|correct|create|drop|fix|give|grant|increase|leave|look|lower|make|move|name|put|raise"
    r"|read|remove|rename|repair|replay|report|reset|restore|run|see|set|start|stop|trigger|undo|unpause|use|wait|write)\b",
    re.IGNORECASE,
)
_NO_VALUE = "The error above tells no more"
_NO_ADVICE = "Clear this task to run it again; the error above has the whole text."


class Brief(NamedTuple):
    """Three lines of at most ``WIDTH`` characters."""

    what: str
    value: str
    next_step: str

    @classmethod
    def of(cls, message: str) -> Brief:
        """Take a message apart: ``what: the value. What state it left. What to do next.``"""
        first, *rest = _SENTENCE.split(readable(message).strip(" :"))
        what, _, detail = first.partition(": ")
        advice = next((text for text in rest if _ADVICE.match(text)), None)
        if advice is None and _ADVICE.match(detail):
            advice, detail = detail, ""
        quoted = _QUOTED.search(what)
        value = detail or (quoted[0] if quoted else "") or next((text for text in rest if text != advice), _NO_VALUE)
        return cls(_cut(what.rstrip(".")), _cut(value.rstrip(".")), _cut(advice or _NO_ADVICE))


def _cut(text: str) -> str:
    """Shorten a text to the width, at a blank where there is one."""
    if len(text) <= WIDTH:
        return text
    head = text[: WIDTH - 1]
    blank = head.rfind(" ", WIDTH // 2)
    return f"{head[:blank] if blank > 0 else head}…"
