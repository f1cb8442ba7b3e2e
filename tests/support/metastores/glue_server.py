"""moto's server, with the check of versions that Glue has and moto has not: run by its path, as a process of its own."""

from __future__ import annotations

import threading
from typing import Any

from moto.core.exceptions import JsonRESTError
from moto.glue.responses import GlueResponse
from moto.server import main

_ONE_AT_A_TIME = threading.Lock()
_update = GlueResponse.update_table


def update_table(self: GlueResponse) -> Any:
    """Refuse an update that is based on another version than the present one, as Glue does."""
    with _ONE_AT_A_TIME:
        name = (self.parameters["DatabaseName"], self.parameters["TableInput"]["Name"])
        present, expected = self.glue_backend.get_table(*name).as_dict()["VersionId"], self.parameters.get("VersionId")
        if expected is not None and expected != present:
            error = JsonRESTError("ConcurrentModificationException", f"version {expected} is not {present}")
            error.code = 400
            raise error
        return _update(self)


if __name__ == "__main__":
    GlueResponse.update_table = update_table  # type: ignore[method-assign]
    main()
