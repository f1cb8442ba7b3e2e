"""Connectors that the REST API made, read when DAGs are parsed: through Airflow's SDK, from its Variables.

Without the operator's switch nothing is looked up. What cannot be looked up is logged and left out: the connectors in files
do not depend on it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection

from floe.config import ConnectorFile
from floe.config.stored.budget import read_within
from floe.config.stored.operator_lists import OperatorLists
from floe.config.stored.stored_connector import CONNECTOR, groups_of, stored_file

log = logging.getLogger(__name__)

MAX_READ = 1000
"""Variables that are read: REST makes fewer, and others can be made by hand."""

_SHOWN = 20


def stored_connectors(files: Collection[ConnectorFile], wanted: str | None = None) -> list[ConnectorFile]:
    """Return the stored connectors, read like files; of the ``wanted`` one only, for a task.

    ``files``: the connectors in files. Their names and groups are theirs alone.
    """
    if not OperatorLists.of(os.environ).is_enabled:
        return []
    taken, groups = {file.name for file in files}, groups_of(files)
    names = _names() if wanted is None else [wanted]
    for name in taken.intersection(names) if wanted is None else ():
        log.warning("The connector %r made by REST is not used: a connector file has this name", name)
    texts = {name: text for name in names if name not in taken and (text := _text(name)) is not None}
    found = read_within(texts, lambda name, text: stored_file(name, text, os.environ, groups))
    left_out = [name for name, file in found.items() if file.is_left_out]
    if left_out:
        log.warning(
            "%s connectors made by REST are left out: %s. %s", len(left_out), _shown(left_out), found[left_out[0]].error
        )
    return list(found.values())


def _names() -> list[str]:
    from airflow.sdk import Variable

    try:
        keys = [str(key) for key in Variable.keys(prefix=CONNECTOR)]
    except Exception as error:  # noqa: BLE001 - whatever it is, the connectors in files are made
        log.warning(
            "Connectors made by REST are left out until the next parse, as Airflow does not list them: %s", error
        )
        return []
    names = sorted(key.removeprefix(CONNECTOR) for key in keys if key.startswith(CONNECTOR))
    if len(names) > MAX_READ:
        beyond = names[MAX_READ:]
        log.warning(
            "%s connectors made by REST are left out, as %s Variables are read: %s",
            len(beyond),
            MAX_READ,
            _shown(beyond),
        )
    return names[:MAX_READ]


def _shown(names: Collection[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(repr(name) for name in list(names)[:_SHOWN]) + more


def _text(name: str) -> str | None:
    from airflow.sdk import Variable

    try:
        text = Variable.get(CONNECTOR + name, default=None)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other connectors are made
        log.warning("The connector %r made by REST is left out, as its Variable cannot be read: %s", name, error)
        return None
    if text is None:
        log.debug("There is no Variable %s%s, or Airflow does not answer", CONNECTOR, name)
        return None
    return str(text)
