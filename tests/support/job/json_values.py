"""JSON values of every shape, for Hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

LEAVES: list[Any] = [True, 1, 1.5, "x"]


scalars = st.sampled_from([None, *LEAVES])


anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("pqr"), inner, max_size=3),
    max_leaves=6,
)
