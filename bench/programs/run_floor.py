"""The speed of one part alone: one step, for one partition, in one process.

Usage: ``run_floor.py STEP BOOTSTRAP TOPIC PARTITION SHAPE FOLDER``, STEP one of consume, decode, encode. Prints ``ready``
when it has what the step needs, starts at a line on its standard input, prints one JSON line.
"""

import json
import sys
import time
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import parquet_path_to_id_mapping, schema_to_pyarrow

import bench.records
from floe.kafka.settings import KafkaSettings
from floe.parquet.dictionaries import with_dictionary
from floe_job.convert.json.decoder import CHUNK_BYTES
from floe_job.convert.json.framing import Text, joined
from floe_job.convert.json.template_reader import TemplateReader
from floe_job.memory_tuning import tuned_memory
from floe_job.source.native.consumer import Consumer
from floe_job.source.range_progress import POLL_RECORDS, POLL_SECONDS
from floe_job.source.values import Lines

FIRST_TABLES, DICTIONARY_BYTES = 20, 2 * 1024 * 1024
"""Tables from which the columns with dictionaries, and the limits of these, are determined as in floe."""


def consume(bootstrap: str, topic: str, partition: int) -> Iterator[Lines]:
    """Yield the values of a partition, as many as fit into the processor's cache, in the cheapest way."""
    settings = KafkaSettings({"bootstrap.servers": bootstrap}, {}, "the floor")
    consumer = Consumer.open(settings.reader(), POLL_RECORDS)
    consumer.assign(topic, partition, 0)
    ended = False
    while not ended:
        batch, events = consumer.consume(POLL_SECONDS)
        ended = bool(events)
        size = max(1, CHUNK_BYTES * len(batch) // max(1, batch.nbytes))
        for i in range(0, len(batch), size):
            yield joined(batch.values[i : i + size])
    del batch
    consumer.close()


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


def main(argv: list[str]) -> None:
    """Do one step, timed."""
    step, bootstrap, topic, partition, shape, folder = argv[1:]
    columns = schema_to_pyarrow(getattr(bench.records, shape.upper()).schema, include_field_ids=False)
    schema = pa.schema([field.with_type(plain(field.type)) for field in columns])
    texts = [] if step == "consume" else list(consume(bootstrap, topic, int(partition)))
    tables = list(decode(texts, schema)) if step == "encode" else []
    print("ready", flush=True)
    sys.stdin.readline()
    began, cpu = time.perf_counter(), time.process_time()
    count = 0
    if step == "consume":
        count = sum(len(lines.starts) for lines in consume(bootstrap, topic, int(partition)))
    elif step == "decode":
        count = sum(table.num_rows for table in decode(texts, schema))
    else:
        paths = parquet_path_to_id_mapping(getattr(bench.records, shape.upper()).schema)
        dictionaries = with_dictionary(schema, pa.concat_tables(tables[:FIRST_TABLES]), paths, DICTIONARY_BYTES)
        path = f"{folder}/{partition}.parquet"
        with pq.ParquetWriter(
            path,
            schema,
            compression="zstd",
            use_dictionary=dictionaries,
            dictionary_pagesize_limit=DICTIONARY_BYTES,
        ) as writer:
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
    with tuned_memory():
        main(sys.argv)
