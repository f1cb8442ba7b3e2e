"""The table between (reason, mode) and the words in stored plans, headers and summaries."""

from itertools import product

import pytest

from floe.model.plan import Slice
from floe.model.slice_kind import KINDS, ReadReason, WriteModeName, kind_of, reason_and_mode

STORED = {"live", "catch-up", "skip", "append", "replace", "redrive"}
"""The words that plans, headers and summaries have had since the first release; they never change."""


def test_kinds_have_every_stored_word_once() -> None:
    assert sorted(KINDS.values()) == sorted(STORED)


def test_kinds_have_every_reason_and_every_mode() -> None:
    assert {reason for reason, _ in KINDS} == set(ReadReason)
    assert {mode for _, mode in KINDS} == set(WriteModeName)


@pytest.mark.parametrize("kind", sorted(STORED))
def test_kind_read_and_written_again_is_the_same(kind: str) -> None:
    reason, mode = reason_and_mode(kind)
    assert kind_of(reason, mode) == kind
    assert Slice(0, reason, mode, (), ()).kind == kind


@pytest.mark.parametrize("both", list(product(ReadReason, WriteModeName)))
def test_slice_of_any_pair_has_a_word_or_is_refused(both: tuple[ReadReason, WriteModeName]) -> None:
    if both in KINDS:
        assert reason_and_mode(Slice(0, *both, (), ()).kind) == both
        return
    with pytest.raises(ValueError, match="no slice is read for"):
        Slice(0, *both, (), ())


def test_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'upsert'; floe knows append, catch-up, live, redrive, replace, skip"):
        reason_and_mode("upsert")


def test_only_replays_that_repeat_offsets_go_by_their_id() -> None:
    by_id = {kind for kind in STORED if Slice(0, *reason_and_mode(kind), (), ()).is_by_id}
    assert by_id == {"append", "replace", "redrive"}
