"""The speed of each part alone, for one partition: consume, decode, encode, each in a fork that has done nothing else.

Usage: ``run_floor.py BOOTSTRAP TOPIC PARTITION SHAPE FOLDER``. Prints ``ready``; then for each part ``ready`` when it has
what the part needs, starts it at a line on its standard input, prints one JSON line.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import parquet_path_to_id_mapping, schema_to_pyarrow

import bench.records
from bench.records import Shape
from floe.kafka.settings import KafkaSettings
from floe.parquet.data_file import with_dictionary
from floe_job.convert.json.decoder import CHUNK_BYTES
from floe_job.convert.json.framing import Text, joined
from floe_job.convert.json.template import TemplateReader
from floe_job.memory_tuning import tuned_memory
from floe_job.source.native.consumer import Consumer
from floe_job.source.range_reader import POLL_RECORDS, POLL_SECONDS
from floe_job.source.values import Lines, Values

STEPS = ("consume", "decode", "encode")
FIRST_TABLES, DICTIONARY_BYTES = 20, 2 * 1024 * 1024
"""Tables from which the columns with dictionaries, and the limits of these, are determined as in floe."""


def batches(bootstrap: str, topic: str, partition: int) -> Iterator[Values]:
    """Yield the values of a partition as they come."""
    settings = KafkaSettings({"bootstrap.servers": bootstrap}, {}, "the floor")
    consumer = Consumer.open(settings.reader(), POLL_RECORDS)
    consumer.assign(topic, partition, 0)
    ended = False
    while not ended:
        batch, events = consumer.consume(POLL_SECONDS)
        ended = bool(events)
        if len(batch):
            yield batch.values
    del batch
    consumer.close()


def consume(bootstrap: str, topic: str, partition: int) -> Iterator[Lines]:
    """Yield the values of a partition, as many as fit into the processor's cache, in the cheapest way."""
    for values in batches(bootstrap, topic, partition):
        size = max(1, CHUNK_BYTES * len(values) // max(1, values.nbytes))
        for i in range(0, len(values), size):
            yield joined(values[i : i + size])


def decode(texts: list[Lines], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield a table for each text, in the cheapest way."""
    options = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")

    def parse(text: Text) -> pa.Table:
        read = pj.ReadOptions(use_threads=False, block_size=len(text) + 1)
        return pj.read_json(pa.BufferReader(text), read, options)

    template_reader = TemplateReader(schema)
    for lines in texts:
        table = template_reader.read(lines, parse)
        yield parse(lines.text) if table is None else table


def plain(kind: pa.DataType) -> pa.DataType:
    """Return the type with small lists instead of large ones: the parser takes no others."""
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(plain(field.type)) for field in kind])
    return pa.list_(plain(kind.value_type)) if pa.types.is_large_list(kind) else kind


def write(tables: Sequence[pa.Table], schema: pa.Schema, shape: Shape, path: str) -> Iterator[int]:
    """Write tables into one file, as floe lays files out; yield the rows of each."""
    paths = parquet_path_to_id_mapping(shape.schema)
    dictionaries = with_dictionary(schema, pa.concat_tables(tables[:FIRST_TABLES]), paths, DICTIONARY_BYTES)
    with pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        use_dictionary=dictionaries,
        dictionary_pagesize_limit=DICTIONARY_BYTES,
    ) as writer:
        for table in tables:
            writer.write_table(table)
            yield table.num_rows


@dataclass
class Count:
    """Records so far."""

    records: int = 0

    def add(self, counts: Iterable[int]) -> None:
        """Count to the end."""
        self.records += sum(counts)


@contextmanager
def timed() -> Iterator[Count]:
    """Say that all is ready, wait for a line, then measure and print what it took."""
    print("ready", flush=True)
    sys.stdin.readline()
    began, cpu = time.perf_counter(), time.process_time()
    count = Count()
    yield count
    took = {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - cpu}
    print(json.dumps({"records": count.records, **took}), flush=True)


def each_step(work: Callable[[str], None]) -> None:
    """Do each step in a fork."""
    print("ready", flush=True)
    for step in STEPS:
        pid = os.fork()
        if pid == 0:
            with tuned_memory():
                work(step)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if status:
            sys.exit(f"{step} failed")


def main(step: str) -> None:
    """Do one step, timed."""
    bootstrap, topic, partition, name, folder = sys.argv[1:]
    shape: Shape = getattr(bench.records, name.upper())
    columns = schema_to_pyarrow(shape.schema, include_field_ids=False)
    schema = pa.schema([field.with_type(plain(field.type)) for field in columns])
    texts = [] if step == "consume" else list(consume(bootstrap, topic, int(partition)))
    tables = list(decode(texts, schema)) if step == "encode" else []
    with timed() as count:
        if step == "consume":
            count.add(len(lines.starts) for lines in consume(bootstrap, topic, int(partition)))
        elif step == "decode":
            count.add(table.num_rows for table in decode(texts, schema))
        else:
            count.add(write(tables, schema, shape, f"{folder}/{partition}.parquet"))


if __name__ == "__main__":
    each_step(main)
