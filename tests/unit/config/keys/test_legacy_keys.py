"""Keys that connectors in the field have although the sink reads none of them: accepted, each with its reason."""

import pytest

LEGACY = {
    "consumer.auto.offset.reset": "latest",
    "transaction.timeout.ms": "900000",
    "retries": "3",
    "max.block.ms": "60000",
    "iceberg.control.group-id-prefix": "cg-control-x",
    "iceberg.control.commitIntervalMs": "60000",
}


@pytest.mark.parametrize("key", LEGACY)
def test_a_legacy_key_has_no_effect_and_a_reason(connector, key):
    made = connector({key: LEGACY[key]})
    (warning,) = made.warnings
    assert warning.startswith(f"{key} has no effect: ")
    assert made.committing.interval_ms == 300_000 and made.offset_reset == "earliest"
