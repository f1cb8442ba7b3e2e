"""Events of every kind, for Hypothesis."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from hypothesis import strategies as st

from floe.control.wire.events import (
    CommitComplete,
    CommitToTable,
    DataComplete,
    DataFile,
    DataWritten,
    Event,
    FileContent,
    PartitionFieldType,
    PartitionType,
    PartitionValue,
    Payload,
    StartCommit,
    TableReference,
    TopicPartitionOffset,
)

INT = st.integers(-(2**31), 2**31 - 1)
LONG = st.integers(-(2**63), 2**63 - 1)
COUNT = st.integers(0, 2**63 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NAME = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)
TIME = st.datetimes(timezones=st.just(UTC), min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31))  # noqa: DTZ001

SIMPLE: dict[str, st.SearchStrategy[PartitionValue]] = {
    "boolean": st.booleans(),
    "int": INT,
    "long": LONG,
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "string": TEXT,
    "binary": st.binary(max_size=20),
    "date": INT,
    "time": LONG,
    "timestamp": LONG,
    "timestamptz": LONG,
    "timestamp_ns": LONG,
    "timestamptz_ns": LONG,
    "uuid": st.uuids(),
    "unknown": st.none(),
}
DECIMALS = st.integers(1, 38).flatmap(lambda p: st.integers(0, p).map(lambda s: f"decimal({p},{s})"))
TYPES = st.sampled_from(sorted(SIMPLE)) | DECIMALS | st.integers(1, 40).map(lambda n: f"fixed[{n}]")


def values_of(type_: str) -> st.SearchStrategy[PartitionValue]:
    """Return the values of a type, None among them."""
    if type_.startswith("decimal"):
        precision, scale = map(int, type_[8:-1].split(","))
        unscaled = st.integers(1 - 10**precision, 10**precision - 1)
        return st.none() | unscaled.map(lambda u: Decimal((int(u < 0), tuple(map(int, str(abs(u)))), -scale)))
    if type_.startswith("fixed"):
        length = int(type_[6:-1])
        return st.none() | st.binary(min_size=length, max_size=length)
    return st.none() | SIMPLE[type_]


@st.composite
def partition_types(draw: st.DrawFn, names: st.SearchStrategy[str] = NAME) -> PartitionType:
    """Draw partition types whose names stay different when Avro's rules are applied to them."""
    found = draw(st.lists(names, max_size=5))
    fields = (PartitionFieldType(1000 + i, f"{name}{i}", draw(TYPES)) for i, name in enumerate(found))
    return PartitionType(tuple(fields))


def data_files(partition_type: PartitionType, contents: list[FileContent]) -> st.SearchStrategy[DataFile]:
    """Return files with some, all or none of the optional fields."""
    counts = st.none() | st.dictionaries(INT, LONG, max_size=3)
    bounds = st.none() | st.dictionaries(INT, st.binary(max_size=9), max_size=3)
    return st.builds(
        DataFile,
        content=st.sampled_from(contents),
        file_path=TEXT,
        file_format=st.sampled_from(["PARQUET", "AVRO", "ORC", "PUFFIN"]),
        spec_id=st.none() | INT,
        partition=st.tuples(*(values_of(field.type) for field in partition_type.fields)),
        record_count=COUNT,
        file_size_in_bytes=COUNT,
        column_sizes=counts,
        value_counts=counts,
        null_value_counts=counts,
        nan_value_counts=counts,
        lower_bounds=bounds,
        upper_bounds=bounds,
        key_metadata=st.none() | st.binary(max_size=9),
        split_offsets=st.none() | st.lists(LONG, max_size=3).map(tuple),
        equality_ids=st.none() | st.lists(INT, max_size=3).map(tuple),
        sort_order_id=st.none() | INT,
        first_row_id=st.none() | LONG,
        referenced_data_file=st.none() | TEXT,
        content_offset=st.none() | LONG,
        content_size_in_bytes=st.none() | LONG,
    )


REFERENCES = st.builds(
    TableReference, TEXT, st.lists(NAME, max_size=3).map(tuple), NAME, table_uuid=st.none() | st.uuids()
)
OFFSETS = st.builds(TopicPartitionOffset, TEXT, INT, st.none() | LONG, st.none() | TIME)


@st.composite
def data_written(draw: st.DrawFn) -> DataWritten:
    """Draw announcements of files under any partition type."""
    partition_type = draw(partition_types())
    data = st.lists(data_files(partition_type, [FileContent.DATA]), max_size=3).map(tuple)
    contents = [FileContent.POSITION_DELETES, FileContent.EQUALITY_DELETES]
    deletes = st.lists(data_files(partition_type, contents), max_size=2).map(tuple)
    return DataWritten(
        draw(st.uuids()), draw(REFERENCES), draw(st.none() | data), draw(st.none() | deletes), partition_type
    )


PAYLOADS: st.SearchStrategy[Payload] = st.one_of(
    st.builds(StartCommit, st.uuids()),
    data_written(),
    st.builds(DataComplete, st.uuids(), st.none() | st.lists(OFFSETS, max_size=4).map(tuple)),
    st.builds(CommitToTable, st.uuids(), REFERENCES, st.none() | LONG, st.none() | TIME),
    st.builds(CommitComplete, st.uuids(), st.none() | TIME),
)
EVENTS = st.builds(Event, st.uuids(), TIME, TEXT, PAYLOADS)
