"""From Java's client settings to librdkafka's: for the worker file, Airflow connections and connectors alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from floe.config.kafka.jaas import JaasUnusable
from floe.config.kafka.java_names import CODE_OF_LOGIN, KNOWN_CODE, RENAMED, SYSTEMS_SIZE, WITHOUT_EFFECT
from floe.config.kafka.login_modules import login_settings
from floe.config.kafka.msk import IS_MSK, LOGIN_HANDLER, MECHANISM
from floe.config.kafka.tls import JAVA_NAMES as OF_STORES
from floe.config.kafka.tls import note_stores
from floe.config.secrets.detection import is_reference

_JAAS: Final = "sasl.jaas.config"
_MECHANISMS: Final = ("sasl.mechanism", "sasl.mechanisms")
_VERIFIED_NAME: Final = "ssl.endpoint.identification.algorithm"

TRANSLATED: Final = frozenset({_JAAS, *RENAMED, *OF_STORES, *CODE_OF_LOGIN})
"""Java's names that mean something here, and that librdkafka does not know."""


@dataclass(frozen=True)
class Translated:
    """Settings in librdkafka's names, beside those of Java's stores: :func:`take_stores` follows once all places are merged.

    ``problems``: by Java's name, what to set instead. ``without_effect``: likewise, the reasons.
    """

    conf: dict[str, Any] = field(default_factory=dict, repr=False)
    problems: dict[str, str] = field(default_factory=dict)
    without_effect: dict[str, str] = field(default_factory=dict)


def translate(given: Mapping[str, Any], *, may_refer: bool = False, is_java: bool = False) -> Translated:
    """Translate the settings of one place. Others pass as they are.

    ``may_refer``: values may be references, of which there is nothing to say yet. ``is_java``: the settings were written
    for Java's clients. JSON's null is no value. Where a name of librdkafka's and
    one of Java's say the same, librdkafka's counts.
    """
    given = {name: value for name, value in given.items() if value is not None}
    references = {name: value for name, value in given.items() if may_refer and is_reference(str(value))}
    conf = {name: value for name, value in given.items() if name not in references}
    found = Translated(conf)
    for name in sorted(WITHOUT_EFFECT.keys() & conf.keys()):
        del conf[name]
        found.without_effect[name] = WITHOUT_EFFECT[name]
    for name in sorted(CODE_OF_LOGIN.keys() & conf.keys()):
        value = str(conf.pop(name))
        if value.strip() == LOGIN_HANDLER:
            conf[IS_MSK] = "true"
        if value.strip() and not is_known_code(name, value):
            found.problems[name] = f"it names Java's code: {CODE_OF_LOGIN[name]}"
    _rename(conf)
    _take_login(found)
    note_stores(conf, found.problems, is_java=is_java)
    if _VERIFIED_NAME in conf:
        conf[_VERIFIED_NAME] = str(conf[_VERIFIED_NAME]).strip().lower() or "none"
    return found


def _rename(conf: dict[str, Any]) -> None:
    for name in sorted(RENAMED.keys() & conf.keys()):
        value = conf.pop(name)
        if name not in SYSTEMS_SIZE or str(value).strip() != "-1":
            conf.setdefault(RENAMED[name], value)


def _take_login(found: Translated) -> None:
    conf = found.conf
    if any(str(conf.get(name, "")).strip().upper() == MECHANISM for name in _MECHANISMS):
        for name in _MECHANISMS:
            conf.pop(name, None)
        conf |= {"sasl.mechanism": "OAUTHBEARER", IS_MSK: "true"}
    jaas = str(conf.pop(_JAAS, None) or "")
    if not jaas.strip():
        return
    try:
        login = login_settings(jaas)
    except JaasUnusable as error:
        found.problems[_JAAS] = str(error)
        return
    for name, value in login.conf.items():
        conf.setdefault(name, value)
    found.without_effect.update({f"{_JAAS} ({name})": why for name, why in login.unused.items()})


def is_known_code(name: str, value: str) -> bool:
    """Whether a setting names Java's code for logging in whose work is done here."""
    return value.strip() in KNOWN_CODE.get(name, ())
