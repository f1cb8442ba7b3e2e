"""Kafka's predicates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from floe.config.expressions.java_regex import compile_expression
from floe.config.sections.transforms import PredicateSpec
from floe.config.transforms.predicates import NAME, PATTERN
from floe_job.source.messages import has_header
from floe_job.transform.batch import ParsedBatch

MAX_KNOWN: Final = 10_000
"""Topics whose match is kept: transforms may make any number of them."""


class TopicNameMatches:
    """Holds where the whole current topic matches an expression."""

    def __init__(self, spec: PredicateSpec) -> None:
        self._expression = compile_expression(spec.options[PATTERN])
        self._known: dict[str, bool] = {}

    def test(self, batch: ParsedBatch) -> Sequence[bool]:
        """Say of each record whether it does."""
        if batch.topics is None:
            return [self._matches(batch.source.topic)] * len(batch)
        return [self._matches(topic) for topic in batch.topics]

    def _matches(self, topic: str) -> bool:
        if topic not in self._known:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[topic] = self._expression.fullmatch(topic)
        return self._known[topic]


class HasHeaderKey:
    """Holds where a record has a header of a name, whatever its value."""

    def __init__(self, spec: PredicateSpec) -> None:
        self._name = spec.options[NAME].strip()

    def test(self, batch: ParsedBatch) -> Sequence[bool]:
        """Say of each record whether it does; one whose headers cannot be read has none."""
        if batch.headers is None:
            return batch.source_messages.have_header(self._name)
        return [has_header(headers, self._name) for headers in batch.headers]


class RecordIsTombstone:
    """Holds where a record has no value."""

    def __init__(self, spec: PredicateSpec) -> None:
        """Read nothing of ``spec``: it has no options."""

    def test(self, batch: ParsedBatch) -> Sequence[bool]:
        """Say of each record whether it does."""
        found: list[bool] = batch.is_tombstone.tolist()
        return found
