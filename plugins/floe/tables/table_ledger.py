"""A table's ledger for one branch: looked up, checked against history, refused where it is not conclusive."""

from collections.abc import Iterable

from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import FixedType

from floe.catalogs.providers.registry import provider_of
from floe.model.ledger import Ledger
from floe.model.ledger_codec import property_name, read_properties
from floe.model.plan import Plan
from floe.model.ranges import OffsetRange
from floe.model.route_hash import MAIN_BRANCH, branch_route
from floe.tables.exceptions import TableRefused
from floe.tables.history import branch_history, check_ledger_present, check_unchanged_history
from floe.tables.snapshot_summary import committed_offsets, offsets_property

NEWEST_FORMAT = 2
"""The newest table format that PyIceberg writes."""


def ledger_of(table: Table, branch: str, plan: Plan) -> Ledger:
    """Return the ledger that a plan's connector has of a branch. Raises TableRefused."""
    return branch_ledger(table, branch, plan.group_id, plan.cluster_id)


def branch_ledger(table: Table, branch: str, group_id: str, cluster_id: str) -> Ledger:
    """Return a group's ledger of a branch, an empty one if there is none, after the table's history was checked.

    A branch that does not exist yet, or that was made of a main that contains all its ledger says, begins with what main
    contains. Raises TableRefused.
    """
    name = ".".join(table.name())
    metadata = table.metadata
    ref = metadata.refs.get(branch)
    if ref is not None and ref.snapshot_ref_type != SnapshotRefType.BRANCH:
        msg = f"{branch!r} of table {name!r} is a tag, not a branch: correct iceberg.tables.default-commit-branch"
        raise TableRefused(msg, code="FLOE-413")
    provider_of(table).check_branch(table, branch)
    if metadata.format_version > NEWEST_FORMAT:
        msg = (
            f"table {name!r} has format version {metadata.format_version}, floe writes up to {NEWEST_FORMAT}: write to a "
            "table of version 2"
        )
        raise TableRefused(msg, code="FLOE-413")
    _check_partition_values(name, metadata)
    origin = origin_of(metadata, branch, group_id)
    ledger = read_properties(property_name(group_id, origin), metadata.properties)
    if ledger is None:
        check_ledger_present(name, metadata, origin, group_id)
        return Ledger(cluster_id)
    if ledger.cluster_id != cluster_id:
        msg = (
            f"table {name!r} contains offsets of cluster {ledger.cluster_id!r} for {group_id!r}, this is cluster "
            f"{cluster_id!r}: check the Kafka connection; to read the new cluster as a new generation, trigger the DAG "
            'with reset_topics=["*"]'
        )
        raise TableRefused(msg, code="FLOE-219")
    check_unchanged_history(table, origin, group_id, ledger)
    if origin == branch:
        return ledger
    return ledger.rerouted({route: branch_route(route, branch) for route in ledger.routes()})


def _check_partition_values(name: str, metadata: TableMetadata) -> None:
    """Refuse partitions by the values of a fixed column: no two libraries read those alike.

    In manifests, Iceberg's Java library (1.12.0) puts a length before such a value, where its own schema for it has none.
    So neither can it read what others write, nor others what it writes.
    """
    schema = metadata.schema()
    for field in metadata.spec().fields:
        column = schema.find_column_name(field.source_id)
        if column is None or not isinstance(field.transform, IdentityTransform):
            continue
        if isinstance(schema.find_type(field.source_id), FixedType):
            msg = (
                f"table {name!r} is partitioned by the values of {column!r}, which is of type "
                f"{schema.find_type(field.source_id)}: Spark, Trino and Flink could not read the table once floe has written "
                f"to it. Nothing was written. Replace the partition field {field.name!r} by buckets of its column: in "
                "Spark's SQL bucket(16, column)"
            )
            raise TableRefused(msg, code="FLOE-413")


def check_seeded(table: Table, branch: str, plan: Plan, ledger: Ledger) -> None:
    """Raise TableRefused for a table that a Kafka Connect sink filled and whose ledger does not contain those offsets.

    A replay that skips what is contained would duplicate its rows.
    """
    name = offsets_property(plan.control_topic, plan.group_id)
    if ledger.holdings or committed_offsets(table.metadata, branch, name).offsets == {}:
        return
    msg = (
        f"table {'.'.join(table.name())!r} was filled by a Kafka Connect sink of {plan.group_id!r} and is not taken over: "
        "floe cannot determine which offsets it contains. Nothing was read. Run a takeover with the table in "
        "iceberg.tables, or add all rows of the range again (overlap=append)."
    )
    raise TableRefused(msg, code="FLOE-225")


def origin_of(metadata: TableMetadata, branch: str, group_id: str) -> str:
    """Return the branch whose ledger refers to what ``branch`` contains: its own, or main's where it was made of it.

    A branch that is gone but has a ledger was dropped, with the rows that the ledger refers to.
    """
    if property_name(group_id, branch) in metadata.properties:
        return branch
    if branch not in metadata.refs:
        return MAIN_BRANCH
    main = read_properties(property_name(group_id, MAIN_BRANCH), metadata.properties)
    anchor = main.anchor.snapshot_id if main is not None and main.anchor is not None else None
    is_made_of_main = any(s.snapshot_id == anchor for s in branch_history(metadata, branch))
    return MAIN_BRANCH if is_made_of_main else branch


def check_ledger_routes(
    table: str, ledger: Ledger, ranges: Iterable[tuple[OffsetRange, str]], *, is_replay: bool
) -> None:
    """Raise TableRefused when the table contains offsets that were routed otherwise.

    Offsets at or above a range would be skipped or duplicated by reading on. A replay that skips what is contained checks
    only those inside the range.
    """
    for r, route in ranges:
        if is_replay:
            others = ledger.elsewhere(r, route)
            remedy = (
                "Replay the rest of the range, replace it (overlap=replace), or add all rows again (overlap=append)."
            )
        else:
            others = ledger.other_routes(r, route)
            remedy = (
                "The connector was changed between a failed run and this one. Put the old configuration back until a run "
                "succeeds, then change it."
            )
        if others:
            msg = (
                f"table {table!r} contains offsets {list(others)[:20]} of {r.tp} that were written under other routes. "
                f"Nothing was written. {remedy}"
            )
            raise TableRefused(msg, code="FLOE-414")
