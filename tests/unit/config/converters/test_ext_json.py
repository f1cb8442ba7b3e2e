"""Apicurio's JSON converter of connector files."""

from __future__ import annotations

import pytest

from floe.config.converters.kinds import EXT_JSON
from floe.config.converters.with_registry import registry_of
from tests.support.registry.connector_keys import NONE, Make, with_apicurios

CLASS = "io.apicurio.registry.utils.converter.ExtJsonConverter"
KEYS = with_apicurios(CLASS)


def test_ext_json_class_is_taken_with_its_registry(connector: Make) -> None:
    found = connector({**KEYS, "value.converter.replace.null.with.default": "false"}, NONE)
    assert found.warnings == ()
    assert (found.value_converter.kind, found.value_converter.options["replace.null.with.default"]) == (
        EXT_JSON,
        "false",
    )
    settings = registry_of(found.value_converter)
    assert settings.addresses[0].url.startswith("http://registry:8080")
    assert (settings.ids.kind, settings.ids.in_headers) == ("globalId", False)


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("schemas.enable", "false"),
        ("decimal.format", "NUMERIC"),
        ("schemas.cache.size", "5"),
        ("apicurio.registry.use-id", "contentId"),
        ("apicurio.registry.as-confluent", "true"),
        ("apicurio.registry.headers.enabled", "true"),
        ("apicurio.registry.headers.value.globalId.name", "x"),
    ],
)
def test_ext_json_options_without_effect_are_named(connector: Make, option: str, text: str) -> None:
    keys = {**KEYS, "value.converter.replace.null.with.default": "false"}
    found = connector({**keys, f"value.converter.{option}": text}, () if option == "schemas.enable" else NONE)
    (warning,) = found.warnings
    assert warning.startswith(f"value.converter.{option} has no effect: ")
    settings = registry_of(found.value_converter)
    assert (settings.ids.kind, settings.ids.in_headers) == ("globalId", False)
