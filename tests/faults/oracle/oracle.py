"""The oracle: gathers the evidence, has every check look at it, and reports.

Its knowledge is Kafka's raw log, the tables' files and floe's documented formats; no line of floe's code is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from tests.faults.oracle.checks import CHECKS, Check, orphans
from tests.faults.oracle.evidence import Evidence, TableEvidence
from tests.faults.oracle.table_files import Pointer, Snapshot, TableFiles
from tests.faults.oracle.watcher import Sample

SHOWN = 5
"""Findings of one check that a report shows."""


@dataclass(frozen=True)
class Verdict:
    """What one check says."""

    check: str
    findings: tuple[str, ...]

    @property
    def is_green(self) -> bool:
        return not self.findings


@dataclass(frozen=True)
class Report:
    """The verdicts, and how much they rest on."""

    records: int
    aborted: int
    snapshots: int
    looks: int
    faults: Mapping[str, int]
    orphans: Mapping[str, list[str]]
    verdicts: tuple[Verdict, ...]

    @property
    def is_green(self) -> bool:
        return all(verdict.is_green for verdict in self.verdicts)

    def red(self) -> list[str]:
        """Return the findings of all checks."""
        return [f"{v.check}: {finding}" for v in self.verdicts for finding in v.findings]

    def __str__(self) -> str:
        lost = sum(map(len, self.orphans.values()))
        lines = [
            f"{self.records} records, {self.aborted} aborted, {self.snapshots} snapshots, {self.looks} looks, "
            f"{lost} orphan files (listed, not judged)"
        ]
        if self.faults:
            total = sum(self.faults.values())
            lines.append(f"{total} faults of {len(self.faults)} kinds:")
            lines += [f"  {count:4d}  {kind}" for kind, count in sorted(self.faults.items())]
        for verdict in self.verdicts:
            lines.append(f"  {'ok ' if verdict.is_green else 'RED'} {verdict.check}")
            lines += [f"        {finding}" for finding in verdict.findings[:SHOWN]]
            if len(verdict.findings) > SHOWN:
                lines.append(f"        … {len(verdict.findings) - SHOWN} more")
        return "\n".join(lines)


@dataclass
class Oracle:
    """Judges one connector's tables."""

    files: TableFiles = field(default_factory=TableFiles)

    def look_at(self, name: str, pointer: Pointer, samples: Iterable[Sample] = ()) -> TableEvidence:
        """Read a table as it is now, with what was seen of it before."""
        location = pointer.location()
        metadata = self.files.metadata(location) if location is not None else None
        history = tuple(metadata.history())[::-1] if metadata is not None else ()
        known = {snapshot.snapshot_id for snapshot in history}
        seen: dict[int, Snapshot] = {}
        for sample in samples:
            head = sample.heads.get(name)
            if head is not None and head.snapshot_id not in known:
                seen[head.snapshot_id] = head
        return TableEvidence(name, metadata, history, tuple(seen.values()))

    def judge(self, evidence: Evidence, faults: Mapping[str, int] | None = None) -> Report:
        """Run every check."""
        return Report(
            records=evidence.kafka.values,
            aborted=sum(len(acks.aborted) for acks in evidence.acks),
            snapshots=sum(len(table.snapshots) for table in evidence.tables),
            looks=evidence.looks,
            faults=dict(faults or {}),
            orphans=orphans(evidence),
            verdicts=tuple(_verdict(check, evidence) for check in CHECKS),
        )


def _verdict(check: Check, evidence: Evidence) -> Verdict:
    name = " ".join((check.__doc__ or check.__name__).split()).rstrip(".")
    try:
        findings = tuple(islice(check(evidence), 1000))
    except (OSError, ValueError) as error:
        # a file that is gone or broken is a finding of whoever comes upon it
        findings = (f"could not be done: {error}",)
    return Verdict(name, findings)
