"""Names of tables from a template and a route value."""

import re
from collections.abc import Collection

PLACEHOLDER = re.compile(r"\{[^{}]*\}")

VALUE, TOPIC = "{value}", "{topic}"
"""The placeholders of a template."""

NAME = re.compile(r"[a-z_][a-z0-9_]{0,127}(\.[a-z_][a-z0-9_]{0,127})+")


_AS_PART = str.maketrans(".-", "__")


def topic_part(topic: str) -> str:
    """Return a topic's name as a part of a table's name."""
    return topic.translate(_AS_PART).lower()


def is_name(name: str) -> bool:
    return NAME.fullmatch(name) is not None


def may_name(template: str, topics: Collection[str], table: str) -> bool:
    """Say whether some record of these topics, empty if not known yet, can name a table.

    The cost is that of comparing two names, once for each topic.
    """
    return table in _Named(template, topics)


class _Named:
    """The names of tables that a template makes from some topics, empty if not known yet, and from any route value.

    A lookup costs the comparison of two names, once for each topic if values are part of the names.
    """

    def __init__(self, template: str, topics: Collection[str]) -> None:
        self._is_any = template == VALUE
        filled = {template}
        if TOPIC in template and topics:
            filled = {template.replace(TOPIC, topic_part(topic)) for topic in topics}
        self._exact = frozenset(one for one in filled if "{" not in one)
        self._forms = [[PLACEHOLDER.split(part) for part in one.split(".")] for one in sorted(filled - self._exact)]

    def __contains__(self, table: str) -> bool:
        if not is_name(table) or self._is_any:
            return is_name(table)
        if table in self._exact:
            return True
        parts = table.split(".")
        return any(len(form) == len(parts) and all(map(_may_fill_part, form, parts)) for form in self._forms)


def _may_fill_part(fixed: list[str], part: str) -> bool:
    """Say whether a part of a name has these texts, with a text of at least one character for each gap between them."""
    if len(fixed) == 1:
        return part == fixed[0]
    first, *between, last = fixed
    if not part.startswith(first) or not part.endswith(last):
        return False
    place, end = len(first), len(part) - len(last)
    for text in between:
        # a placeholder has at least one character; the first place that fits leaves the most for later ones
        found = part.find(text, place + 1, end)
        if found < 0:
            return False
        place = found + len(text)
    return place + 1 <= end
