"""The complete connectors on the pages of catalogs are read as they are."""

import json
import re
from pathlib import Path

import pytest

from floe.config.catalogs.catalog_types import TYPES, type_named
from floe.config.catalogs.markdown import catalog_page
from floe.config.catalogs.stores import STORE_KEYS

PAGES = Path(__file__).parents[4] / "docs" / "reference" / "catalogs"
BLOCK = re.compile(r"```(?:json)?\n(\{.*?)```", re.DOTALL)


@pytest.mark.parametrize("name", [*TYPES, "unity"])
def test_page_has_a_connector_that_is_read(connector, name):
    block = BLOCK.findall((PAGES / f"{name}.md").read_text())[0]
    config = json.loads(re.sub(r"\$\{env:\w+\}", "what-the-environment-has", block))["config"]
    made = connector(config)
    kind = {"unity": "rest"}.get(name, name)
    assert made.catalog.type == kind
    assert type_named(config["iceberg.catalog.type"]) is TYPES[kind]
    assert [one for one in made.warnings if "key.converter" not in one] == []


def test_page_of_keys_is_what_the_code_says():
    assert (PAGES / "keys.md").read_text() == catalog_page(), "python -m floe.config catalogs > docs/…/keys.md"


def test_page_of_stores_has_a_connector_that_is_read(connector):
    (block,) = BLOCK.findall((PAGES / "stores.md").read_text())
    text = re.sub(r"\$\{env:\w+\}", "what-the-environment-has", block)
    made = connector(json.loads(text)["config"])
    assert made.catalog.for_pyiceberg()["s3.force-virtual-addressing"] == "false"
    assert [warning for warning in made.warnings if "io-impl" not in warning] == []


def test_page_of_stores_names_every_key_that_is_translated():
    page = (PAGES / "stores.md").read_text()
    named = {key.name for key in STORE_KEYS if key.status.value == "translated"}
    assert [name for name in named if name.rpartition(".")[2] not in page] == []
