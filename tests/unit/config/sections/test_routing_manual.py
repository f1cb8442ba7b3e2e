"""The examples of the manuals on routing and dead letters are connectors."""

import json
import re

import pytest

from floe.config import parse_connector
from tests.support.repository import DOCS

MANUAL = (DOCS / "reference" / "routing.md").read_text()
EXAMPLES = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", MANUAL, re.DOTALL)]


DEAD_LETTERS = (DOCS / "how-to" / "dead-letters.md").read_text()
OTHERS = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", DEAD_LETTERS, re.DOTALL)]


@pytest.mark.parametrize("example", EXAMPLES + OTHERS, ids=lambda example: example["name"])
def test_an_example_is_a_connector_without_a_warning(example):
    made = parse_connector(example)
    assert made.warnings == ()
    assert made.tables or made.routing.is_dynamic


def test_the_manual_has_an_example_of_every_way():
    made = [parse_connector(example) for example in EXAMPLES]
    assert {one.routing.by for one in made} == {"none", "field", "header", "key"}
    assert {one.routing.is_dynamic for one in made} == {True, False}
    assert any(one.topics_regex for one in made)


def test_every_key_of_routing_is_in_the_manual():
    keys = ["by", "header", "template", "namespace", "on-unroutable", "max-new-tables"]
    assert [key for key in keys if f"floe.route.{key}" not in MANUAL] == []
