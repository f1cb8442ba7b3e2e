"""Spark with Iceberg's runtime in a process of its own: a line of JSON with a query in, a line with its rows out.

The first argument: jars, Iceberg's runtime among them. A query reads views; ``{"view": name, "path": metadata.json}``
makes one.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

CONF = {
    # hundreds of small queries: what is compiled for one of them would run once
    "spark.driver.extraJavaOptions": (
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m "
        "-Xlog:disable -Xlog:all=warning:stderr"  # standard output is for answers
    ),
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
}


def main() -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.jars", sys.argv[1])
    for key, value in CONF.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            if "view" in asked:
                spark.read.format("iceberg").load(asked["path"]).createOrReplaceTempView(asked["view"])
                answer: object = []
            else:
                for key, value in asked.get("conf", {}).items():
                    spark.conf.set(key, value)
                answer = [list(row) for row in spark.sql(asked["sql"]).collect()]
        except Exception as error:  # noqa: BLE001 - reported to the test
            answer = {"error": f"{type(error).__name__}: {str(error)[:2000]}"}
        print(json.dumps(answer, default=str), flush=True)


if __name__ == "__main__":
    main()
