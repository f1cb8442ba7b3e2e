"""Tables with snapshots that are old, for the tests of expiry."""

from dataclasses import replace

from pyiceberg.table.update import SetSnapshotRefUpdate

from floe.model.ledger import Ledger
from floe.model.ledger_codec import property_name, read_properties
from floe.tables.history import branch_history
from tests.support.tables.foreign_changes import rewrite_metadata
from tests.support.tables.lake import GROUP as OURS
from tests.support.tables.lake import Lake
from tests.support.tables.slices import Written, make_announcement, make_plan, write_share

THEIRS = "connect-toppings"
DAY = 86_400_000
COUNT = {"floe.expire.max-snapshots": "3"}
AGE = {"history.expire.max-snapshot-age-ms": str(5 * DAY)}


class AgingLake(Lake):
    """A lake in which snapshots can be made to be older than they are."""

    def commit(self, *runs: int, branch: str = "main", group: str = OURS, partition: int = 0) -> list[int]:
        """Land runs of one record each; return the snapshots."""
        return [self.written_run(run, branch, group, partition).land().snapshot_id or 0 for run in runs]

    def written_run(self, run: int, branch: str = "main", group: str = OURS, partition: int = 0) -> Written:
        plan = replace(make_plan((partition, run, run + 1), plan_id=f"{group}-{branch}-{run}"), group_id=group)
        return Written(self, plan, make_announcement(plan, write_share(self, plan, branch=branch)))

    def kept(self) -> list[int]:
        return [s.snapshot_id for s in self.load().metadata.snapshots]

    def history(self, branch: str = "main") -> list[int]:
        return [s.snapshot_id for s in branch_history(self.load().metadata, branch)]

    def make_older(self, days: float, *snapshots: int) -> None:
        """Let snapshots, all if none is named, be older than they are."""

        def change(fields: dict[str, list[dict[str, int]]]) -> None:
            for one in fields["snapshots"]:
                if not snapshots or one["snapshot-id"] in snapshots:
                    one["timestamp-ms"] -= int(days * DAY)

        rewrite_metadata(self, change)

    def set_ref(self, name: str, snapshot_id: int, kind: str = "tag", **own: int) -> None:
        fields = {"ref-name": name, "type": kind, "snapshot-id": snapshot_id, **own}
        table = self.of_others()
        table.catalog.commit_table(table, (), (SetSnapshotRefUpdate.model_validate(fields),))

    def set_property(self, name: str, value: str | None) -> None:
        with self.of_others().transaction() as transaction:
            transaction.remove_properties(name) if value is None else transaction.set_properties({name: value})

    def held_by(self, group: str = OURS, branch: str = "main") -> Ledger:
        found = read_properties(property_name(group, branch), self.load().properties)
        assert found is not None
        return found
