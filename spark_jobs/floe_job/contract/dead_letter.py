"""A dead letter: one record that could not become a row, whole, with why."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from floe_job.contract.rejected_record import Rejected
from floe_job.exceptions import REASON_LENGTH, clip
from floe_job.source.record_batch import UNREADABLE, Records


@dataclass(frozen=True)
class DeadLetter:
    """A record as it was read, in full, and the reason for which it was refused.

    ``topic_id``: the topic's incarnation; offsets start again in a re-created topic. ``timestamp``: epoch ms. ``table``: the
    table it was meant for, None before routing. ``stage``: the step that refused it, as in ``Rejected``. ``error``: the
    error's class name. ``repr`` does not contain the record itself.
    """

    topic: str
    topic_id: str
    partition: int
    offset: int
    timestamp: int | None
    key: bytes | None = field(repr=False)
    value: bytes | None = field(repr=False)
    headers: tuple[tuple[str, bytes | None], ...] = field(repr=False)
    table: str | None
    stage: str
    error: str
    reason: str

    @property
    def place(self) -> str:
        """Topic, partition and offset, for messages."""
        return f"topic {self.topic!r} partition {self.partition} offset {self.offset}"

    @property
    def size(self) -> int:
        """The approximate size of the record in memory, in bytes."""
        in_headers = sum([len(name) + len(value or b"") for name, value in self.headers])
        return len(self.value or b"") + len(self.key or b"") + in_headers + 200

    @property
    def short_reason(self) -> str:
        """The reason, limited in length. It can be encoded as UTF-8 whatever the record contains."""
        reason = clip(self.reason, REASON_LENGTH)
        return reason if reason.isascii() else reason.encode("utf-8", "replace").decode()


def dead_letters_of(records: Records, refused: Iterable[Rejected], table: str | None) -> list[DeadLetter]:
    """Make dead letters of all records at once. The metadata of all records is read together."""
    refused = list(refused)
    if not refused:
        return []
    tp, topic_id = records.part.range.tp, records.part.range.topic_id
    indices = [one.index for one in refused]
    messages, values = records.messages.select(indices), records.values.select(indices)
    beside = zip(messages.timestamps(), messages.keys(), values, messages.headers(), strict=True)
    return [
        DeadLetter(
            topic=tp.topic,
            topic_id=topic_id,
            partition=tp.partition,
            offset=records.offsets[one.index],
            timestamp=timestamp,
            key=key,
            value=value,
            headers=tuple(headers or ()),
            table=table,
            stage=one.stage,
            error=one.error,
            reason=one.reason if headers is not None else f"{one.reason} (and {UNREADABLE})",
        )
        for one, (timestamp, key, value, headers) in zip(refused, beside, strict=True)
    ]
