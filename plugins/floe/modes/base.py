"""How an announced slice stands to a table's ledger, and the ledger after it."""

from floe.control.announcement import Announcement, TableShare
from floe.model.intervals import Intervals
from floe.model.ledger import Ledger, LogId, Standing
from floe.model.plan import Plan, Slice
from floe.model.slice_kind import WriteModeName


def standing_of(ledger: Ledger, plan: Plan, piece: Slice, announcement: Announcement, share: TableShare) -> Standing:
    """Compare the slice with the ledger: by its offsets, or, where they may be held already, by the replay's id.

    Letters that have become rows since they were written for are another run's: two that were planned at once read them.
    A replacement would take such rows out, and has none in their place.

    Dead letters are of single tables: those of a caught up table are new at offsets that are held, so the slice tells.
    """
    if share.table == plan.letters:
        is_known = piece.index < ledger.next_of_replay(plan.plan_id) if piece.is_replay else False
        if is_known or plan.slice_id(piece) in ledger.slices:
            return Standing.LANDED
        is_same = all(ledger.net(r, share.routes[r.topic]) == net for r, net in share.nets)
        return Standing.FRESH if is_same else Standing.STALE
    if piece.is_by_id and piece.index < ledger.next_of_replay(plan.plan_id):
        return Standing.LANDED
    if piece.mode is WriteModeName.RECOVER:
        revived = (ledger.revived(r) & announcement.revived.at(share.table, LogId.of(r)) for r, _ in share.nets)
        return Standing.STALE if any(revived) else Standing.FRESH
    if piece.mode is WriteModeName.REPLACE:
        unseen = (ledger.revived(r) - share.seen.get(LogId.of(r), Intervals()) for r, _ in share.nets)
        return Standing.STALE if any(unseen) else Standing.FRESH
    if piece.is_by_id:
        return Standing.FRESH
    return ledger.standing((r, share.routes[r.topic], net) for r, net in share.nets)


def stale_reason(plan: Plan, piece: Slice, announcement: Announcement, share: TableShare) -> str:
    """Say why a stale slice is not committed, and what to do."""
    match piece.mode:
        case _ if share.table == plan.letters:
            what = (
                "another run committed letters of its range meanwhile. Nothing of it is committed; the next run plans anew, "
                "a replay is to be triggered again."
            )
        case WriteModeName.RECOVER:
            what = (
                "another run wrote the rows of some of its dead letters meanwhile. Nothing of it is committed to the table; "
                "trigger the re-drive again, it takes what is left."
            )
        case WriteModeName.REPLACE:
            what = (
                "another run made rows of dead letters of its range meanwhile, and those would be taken out. Nothing of it "
                "is committed to the table; trigger the replay again, it reads the range as it is now."
            )
        case _:
            what = "another run committed meanwhile. Nothing of this slice is committed, the next run plans anew."
    return f"table {share.table!r} holds other offsets than when slice {announcement.slice_id} was written: {what}"


def ledger_after(ledger: Ledger, plan: Plan, piece: Slice, announcement: Announcement, share: TableShare) -> Ledger:
    """Return the ledger with the slice in it."""
    if share.table == plan.letters:
        ledger = ledger.with_slice(plan.slice_id(piece))
    revived = announcement.revived.by_table.get(share.table, {})
    ranges = [(r, share.routes[r.topic]) for r, _ in share.nets]
    if not piece.is_replay:
        live = plan.live_ranges(r for r, _ in ranges)
        return ledger.with_live((one, share.routes[one.range.topic]) for one in live).with_revived(revived)
    if share.table == plan.letters:
        return ledger.with_replayed(ranges).with_replay(plan.plan_id, piece.index)
    match piece.mode:
        case WriteModeName.RECOVER:
            grown = ledger.with_redriven((r, share.routes[r.topic], net) for r, net in share.nets)
        case WriteModeName.REPLACE:
            grown = ledger.with_replaced(ranges)
        case _:
            grown = ledger.with_replayed(ranges)
    grown = grown.with_revived(revived)
    return grown.with_replay(plan.plan_id, piece.index) if piece.is_by_id else grown
