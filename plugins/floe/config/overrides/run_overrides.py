"""The DAG param ``config``: connector keys for one run, by class, validated like the file.

A user who may trigger a run need not have access to the credentials or to other connectors. A setting with another
address would send the file's secrets there. A setting that names code would run it with all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from floe.config.connector import Connector
from floe.config.exceptions import ConfigError, OverrideRefused
from floe.config.expressions.java_regex import compile_expression
from floe.config.keys.key_class import KeyClass
from floe.config.keys.lookup import canonical, names_code
from floe.config.keys.values import parse_list
from floe.config.overrides.frozen_config import restore_config
from floe.config.overrides.run_keys import class_of, is_lifted, key_problems
from floe.config.parser import parse_connector
from floe.config.properties import Properties, flatten
from floe.config.secrets.detection import shown
from floe.config.sections.connections import SPARK_CONN_ID
from floe.config.sections.error_policy import DEAD_LETTER_TOPIC
from floe.config.sections.routing import VALUE
from floe.config.sections.tables import STATIC, table_of
from floe.config.sections.topics import REGEX, TOPICS
from floe.config.sections.transform_reader import TRANSFORM_NAMES, is_unowned

_SOURCE = "param config"
_SHOWN_CHARACTERS = 200


def override(connector: Connector, mapping: Mapping[str, object], allowed: KeyClass = KeyClass.LIVE) -> Connector:
    """Parse the connector again with the keys of ``mapping`` over its own; its secrets are kept.

    ``allowed``: the class of keys that the run may set. A list of topics replaces an expression; an expression selects
    from the file's list what it matches. Settings of tables and transforms that are not in a shorter list are dropped.

    :raises OverrideRefused: a key that the run may not set, or topics, tables or branches beyond the file's.
    :raises ConfigError: the result is not a valid connector.
    """
    if not isinstance(mapping, Mapping):
        msg = f"config must be an object of connector keys, not a {type(mapping).__name__}"
        raise OverrideRefused(msg).located(_SOURCE)
    flat, problems = flatten(mapping)
    problems += key_problems(
        ((key, value) for key, value in flat.items() if not _is_choice(key, value, connector)), allowed
    )
    if problems:
        raise OverrideRefused(*problems).located(_SOURCE)
    try:
        made = replace_keys(connector, _topics_by_name(connector, flat))
    except ConfigError as error:
        raise error.located(_SOURCE) from None
    widened = [*widened_topics(made, connector), *widened_tables(made, connector), *widened_branches(made, connector)]
    if widened:
        raise OverrideRefused(*widened).located(_SOURCE)
    return made


def replace_keys(connector: Connector, flat: Mapping[str, str]) -> Connector:
    """Parse the connector again with these keys, of any class, over its own.

    :raises ConfigError: the result is not a valid connector.
    """
    replaced = {canonical(key) for key in flat}
    kept = {
        key: value
        for key, value in connector.properties.items()
        if canonical(key) not in replaced and not _is_left_out(key, flat)
    }
    made = parse_connector({**kept, **flat}, narrowed=True)
    references = {key: text for key, text in connector.references.items() if key in kept}
    return replace(made, references=Properties(references))


def foreign_changes(frozen: Mapping[str, str], current: Connector, allowed: KeyClass) -> list[str]:
    """Return where a plan's frozen configuration differs from the current connector file beyond a class of keys.

    ``frozen``: as ``Connector.frozen`` made it. Each message names the key, its class and what to do. Topics and tables
    that the file names are not a difference: a run's ``config`` may omit some, and a plan names the topics that an
    expression matched. Nor is the branch of a replay. Empty when there is no difference.
    """
    today = current.frozen()
    keys = sorted({*frozen, *today})
    changed = [key for key in keys if frozen.get(key) != today.get(key) and not _is_left_out_of(key, frozen, today)]
    problems = [
        _change(key, frozen, today)
        for key in changed
        if not _may_change(key, allowed) and not _is_choice(key, frozen.get(key), current)
    ]
    return [*problems, *_beyond(frozen, current)]


def _is_choice(key: str, value: str | None, file: Connector) -> bool:
    """Whether a run chooses one of the alternatives that the file lists."""
    return (
        key == SPARK_CONN_ID
        and value is not None
        and value in (file.connections.spark, *file.connections.spark_choices)
    )


def _topics_by_name(connector: Connector, flat: Mapping[str, str]) -> dict[str, str]:
    """Replace an expression of one run by the topics of the file's list that it matches."""
    regex = flat.get(REGEX, "").strip()
    if not regex or flat.get(TOPICS, "").strip() or connector.topics_regex is not None:
        return dict(flat)
    topics = narrowed_topics(connector, regex)
    if not topics:
        return dict(flat)  # the parser or the comparison reports the problem
    return {**{key: value for key, value in flat.items() if key != REGEX}, TOPICS: ",".join(topics)}


def _is_left_out(key: str, flat: Mapping[str, str]) -> bool:
    if key in (TOPICS, REGEX):
        return bool(flat.get(REGEX if key == TOPICS else TOPICS, "").strip())
    if TRANSFORM_NAMES in flat and is_unowned(key, parse_list(flat[TRANSFORM_NAMES])):
        return True
    if STATIC not in flat or (of_table := table_of(key)) is None:
        return False
    return of_table[0] not in parse_list(flat[STATIC])


def _is_left_out_of(key: str, frozen: Mapping[str, str], today: Mapping[str, str]) -> bool:
    """Whether a key differs only because a run names its topics, or omits the table that the key is about."""
    if key in (TOPICS, REGEX):
        return TOPICS in frozen and REGEX in today and REGEX not in frozen
    return key not in frozen and _is_left_out(key, frozen)


def _may_change(key: str, allowed: KeyClass) -> bool:
    return allowed.permits(class_of(key)) or is_lifted(key)


def _change(key: str, frozen: Mapping[str, str], today: Mapping[str, str]) -> str:
    here, there = (_value(key, values) for values in (frozen, today))
    reason = "names code" if names_code(key) else f"is of class {class_of(key).value}"
    return (
        f"{key[:_SHOWN_CHARACTERS]!r} is {here} in the plan and {there} in the connector file; it {reason}, which this run "
        "may not set: start a new run"
    )


def _value(key: str, values: Mapping[str, str]) -> str:
    if key not in values:
        return "not given"
    return repr(shown(key, values[key])[:_SHOWN_CHARACTERS])


def _beyond(frozen: Mapping[str, str], current: Connector) -> list[str]:
    try:
        made = restore_config(frozen, current)
    except ConfigError as error:
        return list(error.problems)
    return [*widened_topics(made, current), *widened_tables(made, current)]


# Topics, tables and branch of one run: within those of the connector file, never beyond.


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
