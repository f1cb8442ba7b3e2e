"""An error in three short lines: what went wrong, the value, the next step.

Airflow shows the end of a failed task's log, and of each line the first characters.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from floe.operators.markdown import readable

WIDTH = 80
"""Characters of a line that Airflow shows without scrolling."""

_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z`'\"“])")
_QUOTED = re.compile(r"(?<!\w)('[^']+'|\"[^\"]+\"|`[^`]+`)(?!\w)")
_ADVICE = re.compile(
    r"(add|check|choose|clear|correct|create|drop|fix|give|grant|increase|leave|look|lower|make|mend|move|name|put|raise"
    r"|read|remove|rename|repair|replay|report|reset|restore|run|see|set|start|stop|trigger|unpause|use|wait|write)\b",
    re.IGNORECASE,
)
_CODED = re.compile(r"\s*See FLOE-\d{3}\.")
_NO_VALUE = "The error above tells no more"
_NO_ADVICE = "Clear this task to run it again; the error above has the whole text."


class Brief(NamedTuple):
    """Three lines of at most ``WIDTH`` characters."""

    what: str
    value: str
    next_step: str

    @classmethod
    def of(cls, message: str) -> Brief:
        """Take a message apart: ``what: the value. What state it left. What to do next. See FLOE-214.``

        The code ends the last line.
        """
        text = readable(message)
        coded = _CODED.search(text)
        code = f" {coded[0].strip()}" if coded else ""
        first, *rest = _SENTENCE.split(_CODED.sub("", text).strip(" :"))
        what, _, detail = first.partition(": ")
        advice = next((text for text in rest if _ADVICE.match(text)), None)
        if advice is None and _ADVICE.match(detail):
            advice, detail = detail, ""
        quoted = _QUOTED.search(what)
        value = detail or (quoted[0] if quoted else "") or next((text for text in rest if text != advice), _NO_VALUE)
        return cls(
            _cut(what.rstrip(".")), _cut(value.rstrip(".")), f"{_cut(advice or _NO_ADVICE, WIDTH - len(code))}{code}"
        )


def _cut(text: str, width: int = WIDTH) -> str:
    """Shorten a text to the width, at a blank where there is one."""
    if len(text) <= width:
        return text
    head = text[: width - 1]
    blank = head.rfind(" ", width // 2)
    return f"{head[:blank] if blank > 0 else head}…"
