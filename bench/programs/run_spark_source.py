"""Spark's own way: the JVM's Kafka source, from_json, Iceberg's Spark writer, until all there is was written.

Usage: ``run_spark_source.py JARS CATALOG.json``. Prints ``ready`` when its session is up; then a job a line on its
standard input, as JSON; prints one JSON line for each. A job reads a topic by Structured Streaming with the trigger
``availableNow``, or as one batch, as ``how`` says.
"""

import json
import sys
import time
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, from_json


def session(jars: str, catalog: dict[str, str]) -> SparkSession:
    """Start a local session on two cores."""
    builder = SparkSession.builder.master("local[2]").config("spark.jars", jars)
    settings = {
        "spark.driver.memory": "2g",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.catalog.bench": "org.apache.iceberg.spark.SparkCatalog",
        **{f"spark.sql.catalog.bench.{key}": value for key, value in catalog.items()},
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def run(spark: SparkSession, job: dict[str, Any]) -> None:
    """Run one job: ``bootstrap``, ``topic``, ``schema`` (DDL), ``table``, ``checkpoint``, ``how``."""
    options = {"kafka.bootstrap.servers": job["bootstrap"], "subscribe": job["topic"], "startingOffsets": "earliest"}
    reader: Any = spark.readStream if job["how"] == "stream" else spark.read
    read = reader.format("kafka").options(**options).load()
    rows = read.select(from_json(col("value").cast("string"), job["schema"]).alias("v")).select("v.*")
    table = f"bench.{job['table']}"
    if job["how"] == "batch":
        rows.writeTo(table).append()
        return
    writer = rows.writeStream.format("iceberg").outputMode("append").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", job["checkpoint"]).option("fanout-enabled", "true")
    query = writer.toTable(table)
    query.awaitTermination()


def main(argv: list[str]) -> None:
    """Serve jobs until the input ends."""
    spark = session(argv[1], json.loads(argv[2]))
    spark.sparkContext.setLogLevel("ERROR")
    spark.sql("SHOW NAMESPACES IN bench").collect()
    print("ready", flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        began = time.perf_counter()
        run(spark, job)
        print(json.dumps({"seconds": time.perf_counter() - began}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv)
