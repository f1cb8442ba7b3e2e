"""The dead letters of one task: counted, logged, and stored."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from floe.model.accounting import TableCounts
from floe.model.holding import LogId
from floe.parquet.budget import WriteBudget
from floe_job.contract.dead_letter import DeadLetter
from floe_job.contract.result import DeadLetterResult
from floe_job.contract.task import DeadLetterRules
from floe_job.dead_letters.limits import NAMED_DEAD_LETTERS
from floe_job.exceptions import clip
from floe_job.write.task_files import TargetFiles

if TYPE_CHECKING:
    from floe_job.dead_letters.topic import DeadLetterTopic


BATCH_ROWS = 1_000
KEPT_BYTES = 32 * 1024 * 1024
"""Size of the dead letters for the topic that wait for the task's end; above it, they are sent at once."""


class DeadLetterCollector:
    """Collects dead letters; they are stored only by ``close``."""

    def __init__(self, rules: DeadLetterRules, task_index: int, budget: WriteBudget | None = None) -> None:
        self._rules = rules
        self._task_index = task_index
        self._log = DeadLetterLog(messages=rules.policy.log_messages) if rules.policy.log else None
        self._files = TargetFiles(rules.target, task_index, budget) if rules.target is not None else None
        self._waiting: list[DeadLetter] = []
        self._unsent: list[DeadLetter] = []
        self._waiting_bytes = self._unsent_bytes = 0
        self._topic: DeadLetterTopic | None = None
        self._named: list[DeadLetter] = []
        self._dead = self._held = 0
        self._reasons: Counter[str] = Counter()

    def take(self, dead_letters: Sequence[DeadLetter]) -> None:
        """Collect dead letters. Raises WriteFailed, DeadLetterRefused, DeadLetterUndelivered."""
        if not dead_letters:
            return
        self._dead += len(dead_letters)
        self._reasons.update(one.error for one in dead_letters)
        room = NAMED_DEAD_LETTERS - len(self._named)
        self._named += [replace(one, key=None, value=None, headers=()) for one in dead_letters[: max(room, 0)]]
        if self._log is not None:
            self._log.note(dead_letters)
        fresh = [one for one in dead_letters if not self._is_known(one)] if self._rules.known else dead_letters
        self._held += len(dead_letters) - len(fresh)
        if self._files is not None:
            for one in fresh:
                self._waiting.append(one)
                self._waiting_bytes += one.size
                if len(self._waiting) >= BATCH_ROWS or self._waiting_bytes > KEPT_BYTES:
                    self._write()
        if self._rules.policy.topic is not None:
            for one in fresh:
                self._unsent.append(one)
                self._unsent_bytes += one.size
                if self._unsent_bytes > KEPT_BYTES:
                    self._send()

    def _is_known(self, one: DeadLetter) -> bool:
        """Return whether a dead letter is open already; of a record that is refused before routing, for any table."""
        known = self._rules.known
        tables = (None, *known.tables) if one.table is None else (one.table,)
        return any(known.at(table, _log_of(one)).has(one.offset) for table in tables)

    def close(self, *, complete: bool) -> DeadLetterResult:
        """Store the dead letters. Without ``complete`` the task runs again, and finds them again."""
        if not complete:
            self.abort()
            return DeadLetterResult(self._dead, tuple(self._named))
        if self._log is not None:
            self._log.close()
        files, rows = None, 0
        if self._files is not None:
            self._write()
            files, rows = self._files.close()
        self._send()
        if self._topic is not None:
            self._topic.flush()
        in_table = self._rules.target is not None
        counts = TableCounts(assigned=self._dead, rows=rows, held=self._held) if in_table else TableCounts()
        return DeadLetterResult(self._dead, tuple(self._named), counts, files, dict(self._reasons))

    def abort(self) -> None:
        """Drop what is not stored yet."""
        self._waiting, self._unsent = [], []
        self._waiting_bytes = self._unsent_bytes = 0
        if self._files is not None:
            self._files.abort()

    def _write(self) -> None:
        target = self._rules.target
        if not self._waiting or self._files is None or target is None or target.metadata is None:
            return
        from floe_job.dead_letters.table_rows import dead_letters_to_arrow  # not above: most tasks have none

        rules = self._rules
        rows = dead_letters_to_arrow(
            self._waiting, target.metadata.schema(), rules.connector, rules.commit_id, table=target.name
        )
        self._files.write(rows)
        self._waiting, self._waiting_bytes = [], 0

    def _send(self) -> None:
        policy = self._rules.policy
        if not self._unsent or policy.topic is None:
            return
        if self._topic is None:
            from floe_job.dead_letters.topic import DeadLetterTopic

            self._topic = DeadLetterTopic.open(
                self._rules.conf,
                policy.topic,
                policy.context_headers,
                self._rules.connector,
                task_index=self._task_index,
            )
        self._topic.send(self._unsent)
        self._unsent, self._unsent_bytes = [], 0


def _log_of(dead_letter: DeadLetter) -> LogId:
    return LogId(dead_letter.topic, dead_letter.topic_id, dead_letter.partition)


# Bad records in the log, one line each, up to a number.


log = logging.getLogger(__name__)

MAX_LINES = 100
"""Maximum lines of one task: a topic that contains only bad records must not fill the disk."""

VALUE_CHARACTERS = 200
_VALUE_BYTES = VALUE_CHARACTERS * 4


class DeadLetterLog:
    """Logs what one task could not use; ``messages`` shows the beginning of the values, too."""

    def __init__(self, *, messages: bool, most: int = MAX_LINES) -> None:
        self._messages = messages
        self._most = most
        self._lines = 0
        self._rest = 0

    def note(self, dead_letters: Iterable[DeadLetter]) -> None:
        """Log dead letters, one WARNING each, until the maximum is reached."""
        for dead_letter in dead_letters:
            if self._lines == self._most:
                self._rest += 1
                continue
            self._lines += 1
            value = f"; value {_readable(dead_letter.value)}" if self._messages else ""
            log.warning(
                "bad record: %s, stage %s: %s%s",
                dead_letter.place,
                dead_letter.stage,
                _one_line(dead_letter.reason),
                value,
            )

    def close(self) -> None:
        """Log how many dead letters got no line."""
        if self._rest:
            log.warning("%s more bad records are not logged one by one", self._rest)
            self._rest = 0


def _readable(value: bytes | None) -> str:
    """Return the beginning of a value on one line: the producer of the value must not be able to write log lines."""
    if value is None:
        return "null"
    return clip(repr(value[:_VALUE_BYTES].decode("utf-8", "backslashreplace")), VALUE_CHARACTERS)


def _one_line(text: str) -> str:
    return text if text.isprintable() else repr(text)
