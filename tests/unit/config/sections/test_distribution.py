"""``write.distribution-mode`` among the properties that the connector gives tables."""

import pytest

KEY = "iceberg.tables.write-props.write.distribution-mode"


@pytest.mark.parametrize("mode", ["none", "hash", "HASH"])
def test_a_mode_that_is_kept_is_no_matter_for_a_warning(connector, mode):
    assert connector({KEY: mode}).warnings == ()


def test_range_is_taken_as_hash_with_a_warning(connector):
    assert connector({KEY: "range"}).warnings == (
        f"{KEY} range is taken as hash: a stream has no ranges to sort by; set hash",
    )


@pytest.mark.parametrize("key", [KEY, "iceberg.tables.auto-create-props.write.distribution-mode"])
def test_a_mode_that_there_is_not_is_refused(problems, key):
    assert problems({key: "hsah"}) == (f"{key} 'hsah': there is none, hash and range, set one of them",)
