"""The parsing of DAG files: each in a fork that has Airflow's imports and none of floe's, as in Airflow's DAG processor.

Usage: ``parse_dags.py FOLDER``, with the folders of a version of floe in PYTHONPATH. Prints ``ready``; at each line on
standard input, parses the files of the folder that read connectors, and prints one line of JSON: the seconds and CPU seconds
of the forks together, and how many DAGs they made. Ends with its input, or with an error if a file cannot be parsed.
"""

import json
import os
import runpy
import sys
import time
from pathlib import Path

import airflow.sdk.execution_time.context
import airflow.serialization.serialized_objects

FILES = ("broken_connectors.py", "sink.py", "replay.py")
"""Those that read connector files."""


def parsed(file: Path) -> dict[str, float]:
    """Parse one file in a fork."""
    read, write = os.pipe()
    began = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        found = runpy.run_path(str(file))
        os.write(write, str(sum(isinstance(one, airflow.sdk.DAG) for one in found.values())).encode())
        os._exit(0)
    _, status, used = os.wait4(pid, 0)
    seconds = time.perf_counter() - began
    os.close(write)
    with os.fdopen(read) as said:
        dags = said.read()
    if status:
        sys.exit(f"{file} was not parsed")
    return {"seconds": seconds, "cpu_seconds": used.ru_utime + used.ru_stime, "dags": int(dags)}


def main(argv: list[str]) -> None:
    """Parse as often as asked."""
    print("ready", flush=True)
    for _ in sys.stdin:
        found = [parsed(Path(argv[1], name)) for name in FILES]
        print(json.dumps({name: sum(one[name] for one in found) for name in found[0]}), flush=True)


if __name__ == "__main__":
    main(sys.argv)
