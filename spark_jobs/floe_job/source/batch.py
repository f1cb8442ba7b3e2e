"""Batches of records, as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from floe_job.source.messages import Messages
from floe_job.source.native import librdkafka
from floe_job.source.native.memory import BlockRefs, MessageBlock, Words, columns
from floe_job.source.values import Values


@dataclass(frozen=True)
class FetchedBatch:
    """Records of one partition: the same place in each column is the same record. Addresses are 0 where there is none."""

    refs: BlockRefs
    pointers: Words
    offsets: Words
    addresses: Words
    sizes: Words
    key_sizes: Words

    @classmethod
    def of(cls, block: MessageBlock) -> tuple[FetchedBatch, Words]:
        """Read the columns of messages; return the records, and those that are events."""
        errors, *found = columns(block.pointers, "err", "offset", "payload", "len", "key_len")
        batch = cls((block,), block.pointers, *found)
        if not errors.any():
            return batch, block.pointers[:0]
        return batch.where(errors == 0), block.pointers[errors != 0]

    @staticmethod
    def joined(parts: Sequence[FetchedBatch]) -> FetchedBatch:
        """Concatenate batches of one consumer."""
        return parts[0] if len(parts) == 1 else parts[0]._joined(parts)

    def _joined(self, parts: Sequence[FetchedBatch]) -> FetchedBatch:
        refs = tuple(block for part in parts for block in part.refs)
        return FetchedBatch(
            refs,
            np.concatenate([part.pointers for part in parts]),
            np.concatenate([part.offsets for part in parts]),
            np.concatenate([part.addresses for part in parts]),
            np.concatenate([part.sizes for part in parts]),
            np.concatenate([part.key_sizes for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.pointers)

    def where(self, mask: np.ndarray[Any, np.dtype[np.bool_]] | slice) -> FetchedBatch:
        """Return the records that a mask or a slice has."""
        return FetchedBatch(
            self.refs,
            self.pointers[mask],
            self.offsets[mask],
            self.addresses[mask],
            self.sizes[mask],
            self.key_sizes[mask],
        )

    def split(self, nbytes: int) -> Iterator[FetchedBatch]:
        """Divide the batch where its values reach so many bytes; a part has at least one record."""
        ends = np.cumsum(self.sizes + self.key_sizes)
        start = 0
        while start < len(self):
            taken = int(ends[start - 1]) if start else 0
            end = max(start + 1, int(np.searchsorted(ends, taken + nbytes, "right")))
            yield self.where(slice(start, end)) if end - start < len(self) else self
            start = end

    @property
    def nbytes(self) -> int:
        """Bytes of values and keys."""
        return int(self.sizes.sum() + self.key_sizes.sum())

    @property
    def last_epoch(self) -> int | None:
        """The leader epoch of the last record; None where the broker does not say it."""
        epoch = int(librdkafka.message_leader_epoch(int(self.pointers[-1])))
        return None if epoch < 0 else epoch

    @property
    def values(self) -> Values:
        """The values, None for tombstones."""
        return Values(self.refs, self.addresses, self.sizes)

    @property
    def messages(self) -> Messages:
        """Each record with its key, time and headers."""
        return Messages(self.refs, self.pointers)
