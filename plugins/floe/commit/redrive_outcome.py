"""The outcome of a redrive: how many dead letters became rows, and how many failed again, and of what."""

import logging
from collections import Counter
from collections.abc import Iterable

from floe.control.announcement import Announcement
from floe.model.plan import Plan
from floe.model.slice_kind import SliceKind
from floe.tables.exceptions import DeadLettersLeft

log = logging.getLogger(__name__)


def report_redrive(plan: Plan, announcements: Iterable[Announcement]) -> None:
    """Log what became of the dead letters of a redrive. Raises DeadLettersLeft when every one of them failed again."""
    if not any(slice_.kind is SliceKind.REDRIVE for slice_ in plan.slices):
        return
    reasons: Counter[str] = Counter()
    rows = resolved = 0
    for announcement in announcements:
        reasons.update(announcement.reasons)
        resolved += announcement.resolved.count
        rows += sum(one.counts.rows for name, one in announcement.tables.items() if name != plan.dead_letters)
    failed = sum(reasons.values())
    why = ", ".join(
        f"{count} {error}" for error, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    )
    if failed and not rows and not resolved:
        msg = (
            f"all {failed} dead letters that were read again failed again ({why}): none became a row, and all stay open. "
            "With errors.log.enable, the log of the write task lists them. Fix the table, the connector or the transforms, "
            "then trigger the replay again"
        )
        raise DeadLettersLeft(msg)
    log.info("dead letters: %s became rows, %s failed again%s", rows, failed, f" ({why})" if why else "")
