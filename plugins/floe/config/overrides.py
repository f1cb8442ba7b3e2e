"""The DAG param ``config``: any connector key for one run, validated like the file, secrets excepted.

Whoever may trigger a run is not therefore trusted with the credentials: params are stored in plain text, and a setting
that leads elsewhere would send the file's secrets there.
"""

import re
from collections.abc import Mapping

from floe.config.catalog import PREFIX as CATALOG_PREFIX
from floe.config.connector import Connector
from floe.config.exceptions import ConfigError, OverrideRefused
from floe.config.kafka_client import CONSUMER_PREFIX, CONTROL_PREFIX, param_problem
from floe.config.parser import parse_connector
from floe.config.properties import flatten
from floe.config.scalars import parse_list
from floe.config.secret import is_secret
from floe.config.tables import STATIC, table_of
from floe.config.topics import REGEX, TOPICS
from floe.config.vocabulary import canonical

_CATALOG_ELSEWHERE = re.compile(r".*(uri|url|endpoint|-impl)|.*(proxy|ssl|signer).*", re.IGNORECASE | re.DOTALL)

_SOURCE = "param config"


def override(connector: Connector, mapping: Mapping[str, object]) -> Connector:
    """Parse the connector anew with the keys of ``mapping`` over its own; its secrets stay.

    A list of topics goes over an expression, and the other way round; other tables go over the settings of those that
    they leave out.

    :raises OverrideRefused: a key that params may not set.
    :raises ConfigError: the result is not a valid connector.
    """
    if not isinstance(mapping, Mapping):
        msg = f"config must be an object of connector keys, not a {type(mapping).__name__}"
        raise OverrideRefused(msg).located(_SOURCE)
    flat, problems = flatten(mapping)
    problems += [problem for key, value in flat.items() if (problem := _refusal(key, value))]
    if problems:
        raise OverrideRefused(*problems).located(_SOURCE)
    replaced = {canonical(key) for key in flat}
    kept = {
        key: value
        for key, value in connector.properties.items()
        if canonical(key) not in replaced and not _is_left_out(key, flat)
    }
    try:
        return parse_connector({**kept, **flat}, narrowed=True)
    except ConfigError as error:
        raise error.located(_SOURCE) from None


def _is_left_out(key: str, flat: Mapping[str, str]) -> bool:
    if key in (TOPICS, REGEX):
        return bool(flat.get(REGEX if key == TOPICS else TOPICS, "").strip())
    if STATIC not in flat or (of_table := table_of(key)) is None:
        return False
    return of_table[0] not in parse_list(flat[STATIC])


def _refusal(key: str, value: str) -> str | None:
    if key == "name":
        return "name cannot be overridden: a connector is its name; trigger the other connector's DAG"
    if is_secret(key, value):
        return f"{key}: secrets do not go in params: put it into the connector file or the Airflow connection"
    for prefix in (CONTROL_PREFIX, CONSUMER_PREFIX):
        if key.startswith(prefix) and (reason := param_problem(key.removeprefix(prefix))):
            return f"{key} cannot be set by params: {reason}. Put it into the connector file or the Airflow connection"
    if key.startswith(CATALOG_PREFIX) and _CATALOG_ELSEWHERE.fullmatch(key.removeprefix(CATALOG_PREFIX)):
        return (
            f"{key} cannot be set by params: it decides where the catalog's credentials go or which code runs. "
            "Put it into the connector file"
        )
    return None
