"""What the parts allow: one step alone, for one partition, in one process.

Usage: ``run_floor.py STEP BOOTSTRAP TOPIC PARTITION SHAPE FOLDER``, STEP one of consume, decode, encode. Prints ``ready``
when it has what the step needs, starts at a line on its standard input, prints one JSON line.
"""

import json
import sys
import time
from collections.abc import Iterator

import confluent_kafka as ck
import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import schema_to_pyarrow

import bench.records

BATCH = 10_000
CHUNK_BYTES = 1_500_000
CONSUMER = {
    "group.id": "floor",
    "enable.auto.commit": False,
    "isolation.level": "read_committed",
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
    "fetch.queue.backoff.ms": 1,
    "queued.min.messages": 500_000,
    "queued.max.messages.kbytes": 262_144,
}


def consume(bootstrap: str, topic: str, partition: int) -> Iterator[list[bytes]]:
    """Yield the values of a partition, in batches."""
    consumer = ck.Consumer({"bootstrap.servers": bootstrap, **CONSUMER})
    consumer.assign([ck.TopicPartition(topic, partition, 0)])
    ended = False
    while not ended:
        messages = consumer.consume(BATCH, 0.5)
        ended = any(m.error() is not None for m in messages[-1:])
        values = [m.value() or b"" for m in messages if m.error() is None]
        if values:
            yield values
    consumer.close()


def decode(batches: list[list[bytes]], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield tables of as many values as stay in the processor's cache."""
    options = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    for values in batches:
        size = max(1, CHUNK_BYTES * len(values) // sum(map(len, values)))
        for i in range(0, len(values), size):
            data = pa.py_buffer(b"\n".join(values[i : i + size]))
            read = pj.ReadOptions(use_threads=False, block_size=len(data) + 1)
            yield pj.read_json(pa.BufferReader(data), read, options)


def plain(kind: pa.DataType) -> pa.DataType:
    """Return the type with small lists for large ones: the parser takes no others."""
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(plain(field.type)) for field in kind])
    return pa.list_(plain(kind.value_type)) if pa.types.is_large_list(kind) else kind


def main(argv: list[str]) -> None:
    """Do one step, timed."""
    step, bootstrap, topic, partition, shape, folder = argv[1:]
    columns = schema_to_pyarrow(getattr(bench.records, shape.upper()).schema, include_field_ids=False)
    schema = pa.schema([field.with_type(plain(field.type)) for field in columns])
    batches = [] if step == "consume" else list(consume(bootstrap, topic, int(partition)))
    tables = list(decode(batches, schema)) if step == "encode" else []
    print("ready", flush=True)
    sys.stdin.readline()
    began, cpu = time.perf_counter(), time.process_time()
    count = 0
    if step == "consume":
        count = sum(map(len, consume(bootstrap, topic, int(partition))))
    elif step == "decode":
        count = sum(table.num_rows for table in decode(batches, schema))
    else:
        with pq.ParquetWriter(f"{folder}/{partition}.parquet", schema, compression="zstd") as writer:
            for table in tables:
                writer.write_table(table)
                count += table.num_rows
    print(
        json.dumps(
            {"records": count, "seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - cpu}
        ),
        flush=True,
    )


if __name__ == "__main__":
    main(sys.argv)
