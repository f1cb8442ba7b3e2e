"""An error in a few short lines: what went wrong, the value, the next step.

Airflow shows the end of a failed task's log, and of each line the first characters.
"""

from __future__ import annotations

import re
import textwrap
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
_ITEM = re.compile(r"\n(?:\* |  - )")

MOST_LINES = (2, 2, 3)
"""Lines of each of the three; what is longer is cut. The whole text is in the exception above them."""

MAX_ITEMS = 5
"""Items of a list that are shown, such as the problems of a connector file."""

_NO_VALUE = "The error above tells no more"
_NO_ADVICE = "Clear this task to run it again; the error above has the whole text."
_FINAL = "Correct what is named above. Then clear this task, or trigger the DAG again."
_OF_PARAMS = "Trigger the DAG again with other parameters: this run keeps its own, so clearing it does not help."


class Brief(NamedTuple):
    """The three parts of an error, each on one line of any length."""

    what: str
    value: str
    next_step: str

    @classmethod
    def of(cls, message: str, *, is_final: bool = False, is_of_params: bool = False) -> Brief:
        """Take a message apart: ``what: the value. What state it left. What to do next.``

        ``is_final``: the same try would fail again, which counts where the message does not say what to do; ``is_of_params``:
        by what the run was triggered with.
        """
        first, *rest = _SENTENCE.split(readable(message).strip(" :"))
        what, _, detail = first.partition(": ")
        at = next((at for at, text in enumerate(rest) if _ADVICE.match(text)), None)
        advice, states = ("", rest) if at is None else (" ".join(rest[at:]), rest[:at])
        if at is None and _ADVICE.match(detail):
            advice, detail = detail, ""
        quoted = _QUOTED.search(what)
        # a name that is shown already says less than what happened to the records
        value = detail or " ".join(states) or (quoted[0] if quoted else _NO_VALUE)
        otherwise = _OF_PARAMS if is_of_params else _FINAL if is_final else _NO_ADVICE
        return cls(what.rstrip("."), value.rstrip("."), advice or otherwise)

    def lines(self) -> tuple[list[str], ...]:
        """Return the lines of each part, of at most ``WIDTH`` characters."""
        return tuple(_wrapped(text, most) for text, most in zip(self, MOST_LINES, strict=True))


def short_lines(message: str, *, is_final: bool = False, is_of_params: bool = False) -> tuple[str, ...]:
    """Return the lines of a message: of a :class:`Brief`, with the items of a list in the place of the value."""
    head, *items = _ITEM.split(message)
    if not items:
        what, value, next_step = Brief.of(message, is_final=is_final, is_of_params=is_of_params).lines()
        return (*what, *value, *next_step)
    items[-1], _, rest = items[-1].partition("\n\n")
    brief = Brief.of(f"{head.strip(' :')}. {rest}", is_final=is_final, is_of_params=is_of_params)
    what, _, next_step = brief.lines()
    listed = [line for item in items[:MAX_ITEMS] for line in _wrapped(f"* {readable(item)}", 1)]
    more = [f"… and {len(items) - MAX_ITEMS} more, above"] if len(items) > MAX_ITEMS else []
    return (*what, *listed, *more, *next_step)


def _wrapped(text: str, most: int) -> list[str]:
    """Break a text into lines at blanks; at most so many, of which the last one says that it is cut."""
    return textwrap.wrap(text, WIDTH, max_lines=most, placeholder="…", break_on_hyphens=False) or [""]
