"""Topics, tables and branch of one run: within those of the connector file, never beyond."""

from collections.abc import Iterator, Sequence

from floe.config.connector import Connector
from floe.config.expressions.java_regex import compile_expression
from floe.config.sections.error_policy import DEAD_LETTER_TOPIC
from floe.config.sections.table_template import VALUE
from floe.config.sections.tables import STATIC
from floe.config.sections.topics import REGEX, TOPICS

_SHOWN_CHARACTERS = 200
_NARROW = "A run may leave some out. Add others to the connector file first"


def narrowed_topics(file: Connector, regex: str) -> tuple[str, ...]:
    """Return the topics of a file's list that an expression of one run matches as a whole."""
    try:
        pattern = compile_expression(regex)
    except ValueError:
        return ()  # the parser reports the problem of the expression
    return tuple(topic for topic, is_match in zip(file.topics, pattern.matches(file.topics), strict=True) if is_match)


def widened_topics(run: Connector, file: Connector) -> Iterator[str]:
    """Yield messages about topics of a run that the file does not name."""
    if run.topics_regex is not None:
        if run.topics_regex != file.topics_regex:
            yield (
                f"{REGEX} {run.topics_regex[:_SHOWN_CHARACTERS]!r} is not the connector file's: floe cannot determine "
                f"whether it matches fewer topics. Name the topics in {TOPICS}"
            )
        return
    beyond = _unread(file, run.topics)
    if beyond:
        yield f"{TOPICS}: {_listed(beyond)} is not among the connector's topics ({_short(file.source)}). {_NARROW}"


def widened_tables(run: Connector, file: Connector) -> Iterator[str]:
    """Yield messages about tables of a run that the file does not write to."""
    if run.routing.template is not None:
        if not _within(run.routing.template, file.routing.template):
            yield (
                f"tables named {run.routing.template[:_SHOWN_CHARACTERS]!r} go beyond the connector's "
                f"({file.destination[:_SHOWN_CHARACTERS]}). {_NARROW}"
            )
        return
    beyond = [table for table in run.tables if not _writes(file, table)]
    if beyond:
        yield f"{STATIC}: {_listed(beyond)} is not among the connector's tables ({_short(file.destination)}). {_NARROW}"


def widened_branches(run: Connector, file: Connector) -> Iterator[str]:
    """Yield messages about branches of a run that the file does not commit to, and tables that it does not write on main."""
    own = _branches(file)
    beyond = sorted(_branches(run) - own)
    if beyond:
        yield (
            f"branch {_listed(beyond)} is not among the connector's branches ({_listed(sorted(own))}). The replay DAG's "
            "param `branch` writes to another one"
        )

    known = {name for settings in (run.settings, file.settings) for name, _ in settings.known}
    published = sorted(name for name in known if run.table(name).branch is None and file.table(name).branch is not None)
    if run.settings.default.branch is None and file.settings.default.branch is not None:
        published.append("all others")
    if published:
        yield f"branch main: the connector file commits {_listed(published)} to another branch. Leave its branch as it is"


def _unread(file: Connector, topics: Sequence[str]) -> list[str]:
    """Return the topics that a file does not name."""
    if file.topics_regex is None:
        named = frozenset(file.topics)
        return [topic for topic in topics if topic not in named]
    own = {file.control_topic, file.properties.get(DEAD_LETTER_TOPIC, "").strip()}
    matches = compile_expression(file.topics_regex).matches(topics)
    return [
        topic
        for topic, is_match in zip(topics, matches, strict=True)
        if not is_match or topic.startswith("__") or topic in own
    ]


def _writes(file: Connector, table: str) -> bool:
    if file.routing.template is None:
        return table in file.tables
    return file.may_name(file.topics, table)


def _within(template: str, file: str | None) -> bool:
    if file is None:
        return False
    if template == file or file == VALUE:
        return True
    # any template in a fixed namespace names a part of its tables
    namespace, _, name = file.rpartition(".")
    return name == VALUE and "{" not in namespace and template.rpartition(".")[0] == namespace


def _branches(connector: Connector) -> frozenset[str]:
    settings = (connector.settings.default, *(one for _, one in connector.settings.known))
    return frozenset(one.branch or "main" for one in settings)


def _listed(names: list[str]) -> str:
    return _short(", ".join(repr(name) for name in names))


def _short(text: str) -> str:
    return text[:_SHOWN_CHARACTERS]
