"""A dead letter: one record that could not become a row, whole, with why."""

from dataclasses import dataclass, field

from floe_job.exceptions import REASON_LENGTH, clip


@dataclass(frozen=True)
class Letter:
    """A record as it was read, unbounded, and what refused it.

    ``topic_id``: the topic's incarnation, as offsets begin anew in the next. ``timestamp``: epoch ms. ``table``: the table
    it was meant for, None before routing. ``stage``: the step that refused it, as in ``Rejected``. ``error``: the error's
    class name. The record itself does not show in ``repr``.
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
        """What the record takes in memory, in bytes, about."""
        in_headers = sum([len(name) + len(value or b"") for name, value in self.headers])
        return len(self.value or b"") + len(self.key or b"") + in_headers + 200

    @property
    def short_reason(self) -> str:
        """The reason, bounded, and fit for UTF-8 whatever the record put into it."""
        reason = clip(self.reason, REASON_LENGTH)
        return reason if reason.isascii() else reason.encode("utf-8", "replace").decode()
