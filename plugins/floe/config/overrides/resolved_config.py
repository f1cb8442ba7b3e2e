"""A connector with the values that its references mean, for one task. A plan has the references."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from floe.config.connector import Connector
from floe.config.exceptions import ConfigError
from floe.config.parser import parse_connector
from floe.config.properties import Properties
from floe.config.providers.resolution import Resolver, late_references


def resolve_config(
    connector: Connector, resolver: Resolver, learn: Callable[[Mapping[str, object]], object]
) -> Connector:
    """Build the connector with values in place of its references; the same one if it has none.

    ``learn`` gets the secrets among the values before anything else does.

    :raises ConfigError: a value that there is not, or that the connector cannot have.
    """
    texts = late_references(connector.properties)
    if not texts:
        return connector
    found = resolver.resolve(texts)
    learn({f"{number}.secret": value for number, value in enumerate(found.secrets)})
    learn(found.values)
    where = f"the references of connector {connector.name!r}"
    if found.problems:
        raise ConfigError(*(f"{problem}. Nothing was done" for problem in found.problems)).located(where)
    try:
        made = parse_connector({**connector.properties, **found.values}, narrowed=True)
    except ConfigError as error:
        raise error.located(where) from None
    return replace(made, references=Properties(texts))
