"""Routes of plugins: the sink, whose classes floe answers to, with its keys and their check."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Query, Response

import floe
from floe.api.access import Caller
from floe.api.connect.access import require_maker
from floe.api.connect.check_queue import CHECKS
from floe.api.connect.http import ConnectError, answer, checked_body, flag, text_map
from floe.api.connect.validation import definitions, validate
from floe.config.converters.converter_classes import CONVERTERS
from floe.config.parser import CLASSES
from floe.config.stored.stored_connector import MAX_NAME
from floe.config.transforms.kafka_records import PREDICATES
from floe.config.transforms.transform_classes import TRANSFORMS

router = APIRouter(prefix="/connector-plugins")
SINK: Final = CLASSES[0]


@router.get("")
def plugins(only_connectors: Annotated[list[str] | None, Query(alias="connectorsOnly")] = None) -> Response:
    """List the sink; with ``connectorsOnly=false`` converters, transforms and predicates too."""
    found = [_plugin(SINK, "sink")]
    if not flag(only_connectors, default=True):
        found += [_plugin(name, "converter") for name in CONVERTERS]
        found += [_plugin(name, "transformation") for name in TRANSFORMS]
        found += [_plugin(name, "predicate") for name in PREDICATES]
    return answer(found)


@router.get("/{plugin}/config")
def plugin_config(plugin: str) -> Response:
    """Describe the keys of the sink."""
    if plugin not in CLASSES:
        msg = f"Unknown plugin {plugin}."
        raise ConnectError(404, msg)
    return answer(definitions())


@router.put("/{plugin}/config/validate")
def validate_config(plugin: str, user: Caller, body: Annotated[Any, Depends(checked_body)]) -> Response:
    """Check a configuration, for those who may make connectors. Nothing is looked up, and nothing is changed."""
    found = text_map(body, "The body")
    require_maker(user, (found.get("name") or "")[:MAX_NAME])
    if plugin not in CLASSES:
        msg = f"Failed to find any class that implements Connector and which name matches {plugin}: there is {SINK}"
        raise ConnectError(400, msg)
    named = found.get("connector.class")
    if named is not None and not _short(named).endswith(_short(plugin)):
        msg = f"Included connector type {named} does not match request type {plugin}"
        raise ConnectError(400, msg)
    with CHECKS.turn():
        return answer(validate(named or plugin, found))


def _short(plugin: str) -> str:
    """Return the name of a class without ``Connector`` at its end, as Connect compares them."""
    return plugin.removesuffix("Connector") or plugin


def _plugin(name: str, kind: str) -> dict[str, str]:
    return {"class": name, "type": kind, "version": floe.__version__}
