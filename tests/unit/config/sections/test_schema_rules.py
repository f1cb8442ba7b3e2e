"""How schemas follow the records, as configured."""

import pytest

from floe.config.sections.schema_rules import SchemaRules


def test_every_rule_is_read(connector):
    over = {
        "iceberg.tables.evolve-schema-enabled": "true",
        "iceberg.tables.schema-case-insensitive": True,
        "floe.schema.on-conflict": "string",
        "floe.partition.on-unsuitable": "unpartitioned",
        "iceberg.tables.schema-force-optional": "true",
        "floe.debezium.types": "true",
        "floe.schema.case": "sensitive",
    }
    expected = SchemaRules(
        evolve=True,
        case_insensitive=True,
        on_conflict="string",
        on_unsuitable="unpartitioned",
        force_optional=True,
        debezium_types=True,
        case_twins=True,
    )
    assert connector(over).schema == expected


@pytest.mark.parametrize("choice", ["dead-letter", "string", "fail"])
def test_a_conflict_of_types_has_three_ends(connector, choice):
    assert connector({"floe.schema.on-conflict": choice}).schema.on_conflict == choice


@pytest.mark.parametrize("choice", ["fail", "unpartitioned"])
def test_an_unsuitable_partitioning_has_two(connector, choice):
    assert connector({"floe.partition.on-unsuitable": f" {choice} "}).schema.on_unsuitable == choice


def test_names_that_differ_by_case_only_are_no_two_columns_unless_asked_for(connector):
    assert not connector().schema.case_twins
    assert connector({"floe.schema.case": "sensitive"}).schema.case_twins


@pytest.mark.parametrize("key", ["floe.schema.on-conflict", "floe.partition.on-unsuitable", "floe.schema.case"])
@pytest.mark.parametrize("value", ["", "drop", "FAIL"])
def test_any_other_is_refused(problems, key, value):
    (problem,) = problems({key: value})
    assert problem.startswith(f"{key} {value!r} is not supported: set ")
