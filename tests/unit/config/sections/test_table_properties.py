"""Values of table properties that no file, table or commit could be made with are refused, by name."""

from __future__ import annotations

import pytest

from floe.config.sections.table_properties import unusable_for_commits, unusable_for_files

CREATE, WRITE = "iceberg.tables.auto-create-props.", "iceberg.tables.write-props."


@pytest.mark.parametrize(
    ("name", "value", "needed"),
    [
        ("write.parquet.page-row-limit", "0", "a whole number of at least 1 is needed"),
        ("write.parquet.page-size-bytes", "1MB", "a whole number of at least 1 is needed"),
        ("write.target-file-size-bytes", "-1", "a whole number of at least 1 is needed"),
        ("write.target-file-size-bytes", "9" * 5000, "a whole number of at least 1 is needed"),
        ("history.expire.max-snapshot-age-ms", "5d", "a whole number of at least 0 is needed"),
        ("floe.expire.max-snapshots", "1.5", "a whole number of at least 0 is needed"),
        ("commit.manifest.min-count-to-merge", "x", "a whole number is needed"),
        ("commit.manifest.target-size-bytes", "1_000", "a whole number is needed"),
        ("write.metadata.previous-versions-max", "\u0665", "a whole number is needed"),
        ("commit.manifest-merge.enabled", "maybe", "true or false is needed"),
        ("write.object-storage.enabled", "ja", "true or false is needed"),
        ("format-version", "3", "floe writes tables of version 1 and 2"),
        ("format-version", "", "floe writes tables of version 1 and 2"),
        ("schema.name-mapping.default", "garbage", "a JSON list of names and field ids is needed"),
        ("schema.name-mapping.default", "[" * 100_000, "a JSON list of names and field ids is needed"),
    ],
)
@pytest.mark.parametrize("prefix", [CREATE, WRITE])
def test_a_value_that_cannot_be_used_is_refused_in_the_file(problems, prefix, name, value, needed):
    (problem,) = problems({f"{prefix}{name}": value})
    assert problem == f"{prefix}{name} {value[:100]!r}: {needed}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("write.parquet.page-row-limit", " 20000 "),
        ("write.parquet.page-row-limit", ""),
        ("commit.manifest.min-count-to-merge", "-1"),
        ("commit.manifest-merge.enabled", "TRUE"),
        ("format-version", "1"),
        ("schema.name-mapping.default", '[{"field-id": 1, "names": ["a"]}]'),
        ("owner", "me"),
        ("comment", "x" * 10_000),
    ],
)
def test_any_other_value_passes(name, value):
    assert unusable_for_files({name: value}) == []
    assert unusable_for_commits({name: value}) == []


def test_format_of_a_table_is_no_property_of_files(connector):
    (warning,) = [one for one in connector({f"{WRITE}format-version": "2"}).warnings if "format-version" in one]
    assert warning.startswith(f"{WRITE}format-version has no effect")
    assert f"{CREATE}format-version" in warning
    assert not any("format-version" in one for one in connector({f"{CREATE}format-version": "2"}).warnings)


@pytest.mark.parametrize("names", [" , ", "db.a,,db.b", "db.a,"])
def test_empty_name_of_a_list_is_named_once(problems, names):
    found = [one for one in problems({"iceberg.tables": names}) if one.startswith("iceberg.tables")]
    assert found[0] == "iceberg.tables has an empty name before or behind a comma: remove it"
    assert not any("twice" in one or "namespace" in one for one in found)
