"""The search for records that may have one of some fields."""

import json
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from floe_job.source.values import Values
from floe_job.transform.field_steps.plan import Probes
from tests.support.job.memory import memory

NAMES = ("a", "ab", "b")


def rows(names: Sequence[str], values: Sequence[bytes]) -> list[int]:
    listed = np.flatnonzero(Probes(names).rows(list(values))).tolist()
    held = memory(values)
    assert isinstance(held.values, Values)
    assert np.flatnonzero(Probes(names).rows(held.values)).tolist() == listed
    return listed


def test_fields_are_found_in_their_records_only() -> None:
    assert rows(["b"], [b'{"a":1}', b'{"b":1}', b'{"ab":1}', b'{"a":{"b":1}}']) == [1, 3]


def test_every_record_with_a_field_is_found() -> None:
    assert rows(["a", "b"], [b'{"b":1,"b":2}', b'{"c":1}', b'{"a":1,"b":1}']) == [0, 2]


def test_name_across_two_values_is_no_field() -> None:
    assert rows(["ab"], [b'{"x":"a', b'b"}', b"", b'"ab"']) == [3]


def test_key_with_an_escape_may_be_any_field() -> None:
    assert rows(["b"], [b'{"\\u0062":1}', b'{"c":"\\u0062"}', b'{"a\\n" : 1}', b'{"c":"x\\\\"}']) == [0, 2]


def test_no_values_and_no_names() -> None:
    assert rows(["a"], []) == []
    assert rows(["a"], [b"", b""]) == []
    assert rows([], [b'{"a":1}']) == []


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from([*NAMES, "c", "abc", "\n"]), st.text('ab\\"\u00e9') | st.integers(), max_size=4
        ),
        max_size=6,
    )
)
def test_no_record_with_a_field_is_missed(records: list[dict[str, object]]) -> None:
    values = [json.dumps(record).encode() for record in records]
    for name in NAMES:
        assert {index for index, record in enumerate(records) if name in record} <= set(rows([name], values))
