"""One version of floe, from a folder with its files: what is needed of it is started once it is used."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, Self

from bench.measurement import Measurement
from bench.program import Program, environment_of
from bench.records import PIZZA
from bench.scenario import Scenario
from bench.site import Site
from bench.systems.floe import Floe
from stack.progress import step
from stack.settings import REPOSITORY

CONNECTORS: Final = 200
PARSE: Final = REPOSITORY / "bench" / "programs" / "parse_dags.py"


@dataclass
class Side:
    """``name``: old or new; ``tree``: the folder of its files; ``connectors``: as many are parsed. Within it, what was
    started is up.
    """

    site: Site
    name: str
    tree: Path
    connectors: int = CONNECTORS
    _up: ExitStack = field(default_factory=ExitStack, init=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._up.close()

    @cached_property
    def warm(self) -> Floe:
        """It on a Spark Connect server of its own."""
        return self._started(is_warm=True)

    @cached_property
    def cold(self) -> Floe:
        """It by spark-submit."""
        return self._started(is_warm=False)

    def parse(self, number: int) -> Measurement:
        """Parse the DAG files that read connectors."""
        self._parser.write_line()
        took = self._parser.read_result()
        if took["dags"] < self.connectors:
            msg = f"the {self.name} version made {took['dags']:.0f} DAGs of {self.connectors} connectors"
            raise RuntimeError(msg)
        return Measurement("parsing", "floe", number, self.connectors, took["seconds"], took["cpu_seconds"])

    @cached_property
    def _parser(self) -> Program:
        folder = self.site.work(f"parse-{self.site.namespace()}")
        connectors = folder / "connectors"
        connectors.mkdir()
        for number in range(self.connectors):
            name = f"orders-{number:03d}"
            keys = {"name": name, **self.site.catalog_keys, **Scenario(name, PIZZA, name, 0).keys(f"shop_{number:03d}")}
            (connectors / f"{name}.json").write_text(json.dumps(keys))
        home = str(self.site.folder / "airflow-home")
        environment = environment_of(self.tree, FLOE_CONNECTORS_DIR=str(connectors), AIRFLOW_HOME=home)
        command = [str(PARSE), str(self.tree / "dags")]
        return self._up.enter_context(Program.of(command, environment, folder / "parse.log"))

    def _started(self, *, is_warm: bool) -> Floe:
        floe = Floe(self.site, is_warm, self.tree)
        with step(f"the {self.name} version, {floe.name}"):
            self._up.enter_context(floe.warm())
        return floe
