"""PyIceberg's Glue catalog, with floe's commits.

A commit names the version of Glue's table that it is based on. Glue refuses it with ConcurrentModificationException if
there is another one by then.
"""

import threading
from typing import Any, Final

from botocore.awsrequest import AWSHTTPConnection, AWSHTTPSConnection
from pyiceberg.catalog.glue import GlueCatalog
from pyiceberg.table import Table
from pyiceberg.typedef import Identifier

from floe.catalogs.exceptions import TableUnsuitable
from floe.catalogs.providers.staged_commit import DatabaseTables
from floe.config.catalogs.glue import GLUE
from floe.http_answers import Deadline, TimedResponse

MAX_ANSWER: Final = 64 << 20
"""Bytes: a page of a list has some hundred tables."""


class CheckedGlueCatalog(DatabaseTables, GlueCatalog):
    """The Glue catalog that floe opens instead of PyIceberg's."""

    service = "Glue"
    migration = "Migrate it"

    def __init__(self, name: str, client: Any = None, **properties: Any) -> None:
        super().__init__(name, client, **properties)
        _bound_answers(self.glue)

    def create_table(self, identifier: str | Identifier, *args: Any, **kwargs: Any) -> Table:
        """Create a table. Raises TableUnsuitable for a name that Glue does not take."""
        name = ".".join(self.identifier_to_tuple(identifier))
        if problem := GLUE.name_problem(name):
            msg = f"table {name!r} cannot be created in Glue: {problem}. Nothing was created"
            raise TableUnsuitable(msg)
        return super().create_table(identifier, *args, **kwargs)

    def _convert_glue_to_iceberg(self, glue_table: Any) -> Table:
        name = (str(glue_table.get("DatabaseName")), glue_table["Name"])
        return self.table_at(name, glue_table.get("Parameters", {}))


def _bound_answers(client: Any) -> None:
    """Give each answer of a client of AWS one deadline, and a size: botocore's time limits are for each read alone."""
    # without a deadline, which only this client's requests have, it is the class that was there before
    AWSHTTPConnection.response_class = TimedResponse
    AWSHTTPSConnection.response_class = TimedResponse
    seconds, under_way = client.meta.config.connect_timeout + client.meta.config.read_timeout, threading.local()

    def begin(**_: Any) -> None:
        under_way.deadline = Deadline(seconds, MAX_ANSWER)
        under_way.deadline.__enter__()

    def end(**_: Any) -> None:
        under_way.deadline.__exit__()

    client.meta.events.register("before-send.glue", begin)
    client.meta.events.register("response-received.glue", end)
