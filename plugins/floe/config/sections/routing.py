"""Routing: which tables a record goes to."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from floe.config.names import has_control_characters, plain_problem
from floe.config.sections.tables import REGEX, STATIC, TOPICS

if TYPE_CHECKING:
    from floe.config.keys.reader import Settings
    from floe.config.sections.tables import TableRules, TableSettings
    from floe.config.transforms.options import By


DYNAMIC = "iceberg.tables.dynamic-enabled"
FIELD = "iceberg.tables.route-field"
BY, HEADER, TEMPLATE, NAMESPACE = "floe.route.by", "floe.route.header", "floe.route.template", "floe.route.namespace"
ON_UNROUTABLE, MAX_NEW_TABLES = "floe.route.on-unroutable", "floe.route.max-new-tables"


Unroutable = Literal["fail", "dead-letter", "drop"]

_BY = ("field", "header", "key")
_SHOWN_CHARACTERS = 200
_MAX_COMPARISONS = 5_000
"""Comparisons of topics and tables while a file is read; beyond, a template's topic may be any text."""
_CONDITIONS = (("iceberg.table", REGEX), ("floe.table", TOPICS))


@dataclass(frozen=True)
class Routing:
    """How the tables of a record are found.

    ``by``: where its route value is: at ``path`` in the record's value, in the last header called ``header``, at ``path``
    in its key, or the whole key if there is no path; ``none`` if no value is needed. ``template`` names the table of each
    record, with ``{value}`` and ``{topic}`` filled in; None if the connector names tables (static), each with its
    conditions.
    """

    by: By = "none"
    path: tuple[str, ...] = ()
    header: str = ""
    template: str | None = None
    on_unroutable: Unroutable = "fail"
    max_new_tables: int = 100

    @property
    def is_dynamic(self) -> bool:
        """Say whether records name their tables."""
        return self.template is not None

    @property
    def namespace(self) -> str | None:
        """The namespace of all tables that records name; None if records name it too."""
        namespace = (self.template or "").rpartition(".")[0]
        return None if not namespace or "{" in namespace else namespace

    @property
    def name(self) -> str:
        """The header, or the first name of the path; "" for whole keys, and for records that need no route value."""
        return self.header or next(iter(self.path), "")

    @property
    def field(self) -> str:
        """The top-level field of the value that the route value is in; "" where it is elsewhere."""
        return self.name if self.by == "field" else ""

    @property
    def tables_text(self) -> str:
        """Say for people which tables records name; "" where the connector names them."""
        if self.template is None:
            return ""
        path = ".".join(self.path)
        key = f"the field {path!r} of the key" if path else "the key"
        whose = {"field": f"the field {path!r}", "header": f"the header {self.header!r}", "key": key}.get(self.by, "")
        if self.template == VALUE:
            return f"the tables that {whose} names"
        if VALUE in self.template:
            return f"tables {self.template}, where {VALUE} is what {whose} has"
        return f"tables {self.template}, one for each topic"

    @property
    def is_by_value(self) -> bool:
        """Say whether a value of each record decides."""
        return self.by != "none"

    def rule(self, settings: TableSettings, topic: str) -> object:
        """Return what decides which rows of a topic one table gets, as JSON: a part of the table's route hash."""
        if settings.topics is not None and topic not in settings.topics:
            return "none"
        source = {"field": list(self.path), "header": self.header, "key": list(self.path) or ""}.get(self.by, "")
        if self.template is not None:
            return {"by": self.by, "of": source, "template": self.template}
        if settings.route_regex is not None:
            return {"by": self.by, "of": source, "regex": settings.route_regex}
        return "all" if not self.is_by_value or settings.topics is not None else "none"


def read_routing(settings: Settings, tables: TableRules, topics: Collection[str], *, has_dead_letters: bool) -> Routing:
    """Read the routing of a connector with these tables; problems are noted.

    ``topics``: all possible topics, empty if not known yet. ``has_dead_letters``: there is a place for dead letters.
    """
    by = _read_by(settings)
    routing = Routing(
        by=by,
        path=tuple(field.split(".")) if (field := settings.text(FIELD)) and by in ("field", "key") else (),
        header=settings.text(HEADER) if by == "header" else "",
        template=_read_template(settings, by),
        on_unroutable=_read_on_unroutable(settings, has_dead_letters=has_dead_letters),
        max_new_tables=settings.integer(MAX_NEW_TABLES),
    )
    if routing.template is None:
        _check_static(settings, routing, tables)
    else:
        _check_dynamic(settings, routing.template, tables, topics)
    return routing


def template_problems(template: str, topics: Collection[str], dead_letter_table: str) -> Iterator[str]:
    """Yield problems of a template with these topics, empty if not known yet, and this dead-letter table."""
    by_part: dict[str, str] = {}
    for topic in topics if TOPIC in template else ():
        part = topic_part(topic)
        if by_part.setdefault(part, topic) != topic:
            yield (
                f"topics {by_part[part]!r} and {topic!r} are both {part!r} in names of tables, so their records would share "
                f"tables by {template!r}: read them by two connectors"
            )
        elif not is_name(template.replace(TOPIC, part).replace(VALUE, "x")):
            yield (
                f"topic {topic!r} makes no table name by {template!r}: each part of a name is a letter or '_', then letters, "
                "digits and '_', 128 characters at most"
            )
    if template != VALUE and dead_letter_table and may_name(template, topics, dead_letter_table.lower()):
        yield f"the table for dead letters {dead_letter_table!r} could be named by {template!r} too: choose another namespace"


def _read_by(settings: Settings) -> By:
    text, field = settings.text(BY).lower(), settings.text(FIELD)
    if text not in ("", *_BY):
        settings.problems.append(f"{BY} {text[:100]!r} is no place to look for a route: set one of {', '.join(_BY)}")
        return "none"
    if field and text not in ("", "field", "key"):
        settings.problems.append(f"{FIELD} and {BY}={text} name two places to look for a route: keep one")
    if text == "field" and not field:
        settings.problems.append(f"{BY} is field, but {FIELD} does not name one")
    if field and (not all(field.split(".")) or has_control_characters(field)):
        settings.problems.append(
            f"{FIELD} {field[:100]!r} has an empty part or characters that are not seen: write the path as a.b"
        )
    header = settings.text(HEADER)
    if (text == "header") != bool(header):
        settings.problems.append(f"{HEADER} and {BY}=header go together: set both, or none")
    if header and (problem := plain_problem(header)):
        settings.problems.append(f"{HEADER} {problem}")
    if text == "header":
        return "header"
    if text == "key":
        return "key"
    return "field" if field else "none"


def _read_template(settings: Settings, by: By) -> str | None:
    template, namespace = settings.text(TEMPLATE), settings.text(NAMESPACE)
    if template and namespace:
        settings.problems.append(f"{TEMPLATE} and {NAMESPACE} both name the namespace: keep one")
    key = NAMESPACE if namespace else TEMPLATE
    if namespace:
        template = f"{namespace}.{VALUE}"
    if not template:
        return VALUE if settings.boolean(DYNAMIC) else None
    if settings.names(STATIC):
        settings.problems.append(f"{key}: Cannot specify both static and dynamic table names")
    _check_template(settings, key, template, by)
    return template


def _check_template(settings: Settings, key: str, template: str, by: By) -> None:
    shown = f"{key} {settings.text(key)[:_SHOWN_CHARACTERS]!r}"
    unknown = next((found for found in PLACEHOLDER.findall(template) if found not in (VALUE, TOPIC)), None)
    if unknown is not None:
        settings.problems.append(f"{key} has {unknown[:100]}: only {VALUE} and {TOPIC} are filled in")
    elif template != VALUE and not is_name(template.replace(VALUE, "x").replace(TOPIC, "x")):
        settings.problems.append(
            f"{shown} makes no table names: write namespace.table in lower-case letters, digits and '_', with {VALUE} or "
            f"{TOPIC} in it"
        )
    elif VALUE in template.rpartition(".")[0]:
        settings.problems.append(
            f"{shown} lets records choose their namespace: write {VALUE} in the last part only, behind a fixed namespace"
        )
    if VALUE in template and by == "none":
        settings.problems.append(f"{shown} asks for {VALUE}, but no key says where it is: set {FIELD} or {BY}")
    if VALUE not in template and by != "none":
        settings.problems.append(
            f"{shown} does not use the route's value: put {VALUE} in, or drop {FIELD}, {BY} and {HEADER}"
        )
    if VALUE not in template and TOPIC not in template:
        settings.problems.append(f"{shown} names one table: write it in {STATIC}")


def _read_on_unroutable(settings: Settings, *, has_dead_letters: bool) -> Unroutable:
    match settings.text(ON_UNROUTABLE):
        case "":
            return "dead-letter" if has_dead_letters else "fail"
        case "dead-letter":
            if not has_dead_letters:
                settings.problems.append(
                    f"{ON_UNROUTABLE} is dead-letter, but there is no place for them: set floe.deadletter.table or "
                    "errors.deadletterqueue.topic.name, and not errors.tolerance=none"
                )
            return "dead-letter"
        case "drop":
            return "drop"
        case "fail":
            return "fail"
        case other:
            settings.problems.append(f"{ON_UNROUTABLE} {other[:100]!r} is not supported: set fail, dead-letter or drop")
            return "fail"


def _check_static(settings: Settings, routing: Routing, tables: TableRules) -> None:
    """Note conditions of tables that no record can meet, and keys without effect."""
    for key in (ON_UNROUTABLE, MAX_NEW_TABLES):
        if settings.given(key) and (key == MAX_NEW_TABLES or not routing.is_by_value):
            settings.warnings.append(f"{key} has no effect: the tables are those of {STATIC}")
    if not routing.is_by_value:
        settings.problems.extend(
            f"iceberg.table.{table[:_SHOWN_CHARACTERS]}.{REGEX} is given, but not where the route value is: set {FIELD} or "
            f"{BY}"
            for table in tables.named
            if tables.of(table).route_regex is not None
        )
        return
    idle = [t for t in tables.named if tables.of(t).route_regex is None and tables.of(t).topics is None]
    if idle and len(idle) == len(tables.named):
        settings.problems.append(
            f"a route is given, but no table has a condition, so none would get a record: set iceberg.table.<table>.{REGEX}, "
            f"or drop {FIELD} and {BY}"
        )
        return
    settings.warnings.extend(
        f"table {table[:_SHOWN_CHARACTERS]!r} has no iceberg.table.<table>.{REGEX}: with a route it gets no record, as in "
        "the sink"
        for table in idle
    )


def _check_dynamic(settings: Settings, template: str, tables: TableRules, topics: Collection[str]) -> None:
    """Note settings of tables that no record can name, and that records choose the namespace."""
    if tables.named:
        return  # both static and dynamic, which was noted
    if template == VALUE and settings.boolean("iceberg.tables.auto-create-enabled"):
        settings.warnings.append(
            "records name the namespace too, so whoever writes to the topics can have tables created in any: set "
            f"{NAMESPACE} if they are all of one"
        )
    if not tables.known:
        return
    expected = topics if len(topics) * len(tables.known) <= _MAX_COMPARISONS else ()
    named = _Named(template, expected)
    for table, one in tables.known:
        for (prefix, name), condition in zip(_CONDITIONS, (one.route_regex, one.topics), strict=True):
            if condition is not None:
                settings.problems.append(
                    f"{prefix}.{table[:_SHOWN_CHARACTERS]}.{name} goes with {STATIC}, but here the records name their tables"
                )
        if table not in named:
            settings.problems.append(
                f"settings are given for table {table[:_SHOWN_CHARACTERS]!r}, which {template[:_SHOWN_CHARACTERS]!r} never "
                "names: names of records' tables have lower-case letters, digits and '_' only"
            )


# Names of tables from a template and a route value.


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
