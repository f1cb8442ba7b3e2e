"""The words of the kinds of slices, in stored plans, headers and summaries."""

import pytest

from floe.model.plan import SliceKind

STORED = ["live", "catch-up", "skip", "append", "replace", "redrive"]
"""The words that plans, headers and summaries have had since the first release; they never change."""


def test_kinds_have_every_stored_word() -> None:
    assert [kind.value for kind in SliceKind] == STORED


def test_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'upsert'; floe knows append, catch-up, live, redrive, replace, skip"):
        SliceKind("upsert")
