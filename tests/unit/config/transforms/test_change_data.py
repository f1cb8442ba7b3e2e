"""The keys of the transforms of change data."""

from __future__ import annotations

from typing import Any

import pytest

from floe.config.keys.reader import Settings
from floe.config.sections.transform_reader import read_transforms
from floe.config.transforms.confluent import path_of
from floe.config.transforms.debezium import Deletes, EventReference

UNWRAP = "io.debezium.transforms.ExtractNewRecordState"


def read(kind: str, **keys: str) -> tuple[Any, list[str]]:
    given = {f"transforms.x.{key.replace('_', '.')}": value for key, value in keys.items()}
    settings = Settings({"transforms": "x", "transforms.x.type": kind, **given})
    specs = read_transforms(settings)
    return specs[0].options if specs else None, settings.problems


@pytest.mark.parametrize(
    ("keys", "deletes", "keeps"),
    [
        ({}, Deletes.TOMBSTONE, False),
        ({"drop_tombstones": "false"}, Deletes.DROP, True),
        ({"delete_handling_mode": "none"}, Deletes.TOMBSTONE, False),
        ({"delete_handling_mode": "rewrite", "drop_tombstones": "false"}, Deletes.REWRITE, True),
        ({"delete_tombstone_handling_mode": "delete-to-tombstone"}, Deletes.TOMBSTONE, False),
        ({"delete_tombstone_handling_mode": "REWRITE", "delete_handling_mode": "rewrite"}, Deletes.REWRITE, False),
        (
            {"delete_tombstone_handling_mode": "rewrite-with-tombstone", "drop_tombstones": "false"},
            Deletes.REWRITE,
            True,
        ),
    ],
)
def test_deletes_are_read_from_both_spellings(keys: dict[str, str], deletes: Deletes, keeps: bool) -> None:
    options, problems = read(UNWRAP, **keys)
    assert problems == []
    assert (options.deletes, options.keeps_tombstones) == (deletes, keeps)


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"delete_tombstone_handling_mode": "drop", "delete_handling_mode": "none"}, "contradicts"),
        ({"delete_tombstone_handling_mode": "drop", "drop_tombstones": "false"}, "contradicts"),
        ({"delete_handling_mode": "keep"}, "is none of drop, rewrite, none"),
        ({"add_fields": "op:a,db:a"}, "gives the name '__a' twice"),
        ({"add_fields": "a:b:c"}, "is no part of an event"),
        ({"add_headers": ".x"}, "is no part of an event"),
        ({"add_field": "op"}, "did you mean transforms.x.add.fields?"),
    ],
)
def test_wrong_keys_are_refused(keys: dict[str, str], problem: str) -> None:
    _, problems = read(UNWRAP, **keys)
    assert len(problems) == 1
    assert problem in problems[0]


def test_references_are_read_as_debezium_does() -> None:
    options, problems = read(
        UNWRAP, add_fields="op, table:t,source.lsn,total_order,a.b.c,,", add_headers_prefix="", add_headers="ts_ms"
    )
    assert problems == []
    assert options.fields == (
        EventReference(None, "op", "__op"),
        EventReference("source", "table", "__t"),
        EventReference("source", "lsn", "__source_lsn"),
        EventReference("transaction", "total_order", "__total_order"),
        EventReference("a", "b", "__a_b"),
    )
    assert options.headers == (EventReference(None, "ts_ms", "ts_ms"),)


def test_tabular_names_run_the_same() -> None:
    options, problems = read("io.tabular.iceberg.connect.transforms.DebeziumTransform", cdc_target_pattern="a.{table}")
    assert problems == []
    assert options == read("DebeziumTransform", cdc_target_pattern="a.{table}")[0]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("$.a.b", ("a", "b")),
        ('$["f1"]["f3"]', ("f1", "f3")),
        ("$['a b'][3].c", ("a b", 3, "c")),
        (r"$['a\'b']", ("a'b",)),
        *(
            (wrong, None)
            for wrong in ("a", "$", "$..a", "$.a[*]", "$.a[?(@.b)]", "$.a[-1]", "$.a.", "$.length()", "$.a" * 2)
        ),
    ],
)
def test_json_paths_lead_to_one_value(text: str, path: tuple[str | int, ...] | None) -> None:
    assert path_of(text) == path


@pytest.mark.parametrize(
    ("kind", "keys", "problem"),
    [
        ("ExtractTopic$Header", {}, "transforms.x.field is missing"),
        ("ExtractTopic$Header", {"field": "h", "field_format": "JSON_PATH"}, "a header has no fields"),
        ("ExtractTopic$Value", {"field": "$..a", "field_format": "JSON_PATH"}, "is no path to one field"),
        ("TombstoneHandler", {"behavior": "keep"}, "is none of ignore, warn, fail"),
        ("CopyValue", {"source_field": "a"}, "transforms.x.target.field is missing"),
        ("DmsTransform", {"x": "y"}, "unknown key"),
    ],
)
def test_wrong_keys_of_others_are_refused(kind: str, keys: dict[str, str], problem: str) -> None:
    _, problems = read(kind, **keys)
    assert len(problems) == 1
    assert problem in problems[0]
