"""floe warm of one version, measured as often as asked: a Spark Connect server and the bench of the version on its path.

Usage: ``serve_floe.py SITE.json``, with the version's folders in PYTHONPATH. Prints ``ready`` once its server is up, and has
done a small job; then for each line on standard input, the fields of a scenario as JSON, runs floe and prints the
measurement as one JSON line. Ends with its input. It uses only what the benches of both versions have in common.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from pyiceberg.catalog import Catalog, load_catalog

from bench import records
from bench.scenario import Scenario
from bench.site import CATALOG, Site
from bench.systems.floe import Floe
from bench.visible import Visible


@dataclass
class Shared(Site):
    """The broker and the catalog that another process started."""

    folder: Path
    address: str
    props: dict[str, str]
    database: Path
    pid: int

    @property
    def bootstrap(self) -> str:
        return self.address

    @property
    def catalog_props(self) -> dict[str, str]:
        return self.props

    @property
    def visible(self) -> Visible:
        return Visible(self.database)

    @property
    def catalog_process(self) -> psutil.Process:
        return psutil.Process(self.pid)

    def catalog(self) -> Catalog:
        return load_catalog(CATALOG, **self.props)


def main(argv: list[str]) -> None:
    """Serve until the input ends."""
    fields: dict[str, Any] = json.loads(Path(argv[1]).read_text())
    folder = Path(fields["folder"])
    site = Shared(folder, fields["bootstrap"], fields["catalog"], Path(fields["database"]), fields["pid"])
    floe = Floe(site, is_warm=True)
    with floe.warm():
        print("ready", flush=True)
        for number, line in enumerate(sys.stdin):
            asked = json.loads(line)
            scenario = Scenario(**{**asked, "shape": getattr(records, asked["shape"].upper())})
            print(json.dumps(floe.measure(scenario, number).to_json()), flush=True)


if __name__ == "__main__":
    main(sys.argv)
