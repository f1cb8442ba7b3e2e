"""A real Hive metastore 3.1.3, on loopback, with a Derby database and a local warehouse."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from stack import jars
from stack.java import java
from tests.support.metastores.server import ServerProcess

LAUNCHER = Path(__file__).parents[1] / "java" / "Metastore.java"
READY_WITHIN = 600.0
PACKAGES = (
    "org.apache.hive:hive-standalone-metastore:3.1.3",
    "org.apache.hadoop:hadoop-client-api:3.4.1",
    "org.apache.hadoop:hadoop-client-runtime:3.4.1",
    "org.apache.logging.log4j:log4j-api:2.17.1",
    "commons-cli:commons-cli:1.5.0",
    "commons-collections:commons-collections:3.2.2",
)
PACKAGES_4 = (
    "org.apache.hive:hive-standalone-metastore-server:4.0.1",
    "org.apache.hadoop:hadoop-client-api:3.4.1",
    "org.apache.hadoop:hadoop-client-runtime:3.4.1",
    "commons-cli:commons-cli:1.5.0",
    "commons-collections:commons-collections:3.2.2",
    "org.apache.logging.log4j:log4j-api:2.18.0",
)
"""Of Hive 4, without the tables of locks: enough to be refused."""
# Hadoop's clients above have these in themselves; Pentaho's jar is not on Maven Central
EXCLUDED = (
    "org.apache.hadoop:hadoop-common",
    "org.apache.hadoop:hadoop-hdfs",
    "org.apache.hadoop:hadoop-mapreduce-client-core",
    "org.apache.hadoop:hadoop-distcp",
    "org.pentaho:pentaho-aggdesigner-algorithm",
)
_TASKS = "org.apache.hadoop.hive.metastore.events.EventCleanerTask"


class HiveMetastore:
    """Starts and stops the server. Its database outlives a restart."""

    def __init__(self, folder: Path, port: int, packages: Sequence[str] = PACKAGES) -> None:
        self._folder = folder
        self._packages = packages
        self.port = port
        self._process = ServerProcess("the Hive metastore", folder / "metastore.log")

    @property
    def uri(self) -> str:
        """The server's address."""
        return f"thrift://127.0.0.1:{self.port}"

    @property
    def warehouse(self) -> str:
        """The folder of its tables, as a URI."""
        return f"file://{self._folder}/warehouse"

    def start(self) -> None:
        """Start it and wait until it answers. Raises StartFailed."""
        found = jars.resolve(self._packages, exclude=EXCLUDED)
        (self._folder / "warehouse").mkdir(exist_ok=True)
        (self._folder / "metastore-site.xml").write_text(self._site())
        classpath = os.pathsep.join(map(str, (self._folder, *found)))
        derby = f"-Dderby.stream.error.file={self._folder}/metastore.log.derby"
        options = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", derby]
        main = str(LAUNCHER) if self._packages == PACKAGES else "org.apache.hadoop.hive.metastore.HiveMetaStore"
        command = [java(), *options, "-cp", classpath, main, "-p", str(self.port)]
        self._process.start(command, self._answers, READY_WITHIN, folder=self._folder)

    def stop(self) -> None:
        """End it."""
        self._process.stop()

    def _answers(self) -> bool:
        # it imports thrift, which other tests do not need
        from thrift.transport.TTransport import TTransportException

        from floe.catalogs.providers.hive.client import Metastore

        try:
            with Metastore([("127.0.0.1", self.port)]) as client:
                return "default" in client.get_all_databases()
        except TTransportException:
            return False

    def _site(self) -> str:
        settings = {
            "javax.jdo.option.ConnectionURL": f"jdbc:derby:{self._folder}/database;create=true",
            "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
            "datanucleus.schema.autoCreateAll": "true",
            "metastore.schema.verification": "false",
            "metastore.warehouse.dir": f"file://{self._folder}/managed",
            "metastore.warehouse.external.dir": self.warehouse,
            "metastore.thrift.bind.host": "127.0.0.1",
            "metastore.event.db.notification.api.auth": "false",
            "metastore.expression.proxy": "org.apache.hadoop.hive.metastore.DefaultPartitionExpressionProxy",
            "metastore.task.threads.always": _TASKS,
            "metastore.task.threads.remote": _TASKS,
        }
        rows = "".join(
            f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
            for name, value in settings.items()
        )
        return f"<configuration>\n{rows}</configuration>\n"
