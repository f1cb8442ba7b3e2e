"""The root of floe's errors.

    FloeError
    ├── Retryable   the same call may succeed later (broker away, catalog away, conflict)
    └── Terminal    it will not succeed until something is changed

Each package names its own errors in its ``exceptions.py`` and mixes one of the two in; the retry policy of the DAGs
reads nothing else. A message says what was wrong, the value, and what to do next. Its code, such as ``FLOE-214``, is
explained in ``docs/troubleshooting.md``.
"""

import re


class FloeError(Exception):
    """Any error that floe raises on purpose.

    ``code``: names the entry of ``docs/troubleshooting.md`` that tells what to do. A class that people see has one of its
    own; where one class has several remedies, the error is given another. The text shows the code only after
    :meth:`for_people`, so that errors quoted in others, in dead letters or in announcements have none.
    """

    code: str = ""

    def __init__(self, *args: object, code: str | None = None) -> None:
        super().__init__(*args)
        if code:
            self.code = code

    def for_people(self) -> "FloeError":
        """End the error's text with its code from here on: it leaves floe. Returns the error itself."""
        self._shows_code = True
        return self

    def __str__(self) -> str:
        return self.coded(super().__str__())

    def coded(self, text: str) -> str:
        """Return the text, ending with the code where the error shows it: for a ``__str__`` of a subclass."""
        return with_code(text, self.code) if getattr(self, "_shows_code", False) else text


class Retryable(FloeError):
    """The same call may succeed later, without anybody changing anything."""


class Terminal(FloeError):
    """The same call fails again until something is changed."""


_CODED = re.compile(r"\s?\bSee (FLOE-\d{3})\.")


def with_code(text: str, code: str) -> str:
    """End a text with ``See FLOE-214.``; a code of an error that the text quotes is nearer to the cause and is kept."""
    text, quoted = without_code(text)
    code = quoted or code
    if not code:
        return text
    if "\n" in text:
        return f"{text}\nSee {code}."
    ended = text if text.endswith((".", "!", "?", "…")) else f"{text}."
    return f"{ended} See {code}."


def without_code(text: str) -> tuple[str, str | None]:
    """Take ``See FLOE-214.`` out of a text; returns the text and the code, None if it has none."""
    found = _CODED.search(text)
    return (_CODED.sub("", text), found[1]) if found else (text, None)
