"""What the connector files of a folder were known by when they were last good: names and intervals, nothing else of them.

One small JSON file per folder, 0600, in the cache folder of the deployment. It only decides under which name and schedule a
broken connector fails, so a lost or changed one costs no more than that.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from floe.config.identity import DEFAULT_INTERVAL_MS, Identity, identity_of

_MAX_BYTES = 10 << 20
_FOLDER = "connectors"


class IdentityStore:
    """Keeps the identities of one folder of connectors, by file name."""

    def __init__(self, cache: Path, connectors: Path) -> None:
        of_folder = hashlib.sha256(os.fsencode(connectors.absolute())).hexdigest()[:32]
        self.path = cache / _FOLDER / f"{of_folder}.json"

    def load(self) -> dict[str, Identity]:
        """Return what was kept; nothing where there is none, or where it cannot be read."""
        try:
            with self.path.open("rb") as stream:
                kept = json.loads(stream.read(_MAX_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        if not isinstance(kept, dict):
            return {}
        return {file: _identity(fields) for file, fields in kept.items() if isinstance(fields, dict)}

    def save(self, identities: Mapping[str, Identity]) -> None:
        """Keep these in the place of the ones before, at once or not at all.

        :raises OSError: the folder cannot be written.
        """
        folder = self.path.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fields = {file: {"name": one.name, "interval-ms": one.interval_ms} for file, one in sorted(identities.items())}
        descriptor, temporary = tempfile.mkstemp(dir=folder)  # of mode 0600
        try:
            with open(descriptor, "w") as stream:  # noqa: PTH123 - mkstemp has opened it
                json.dump(fields, stream)
            Path(temporary).replace(self.path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


def _identity(fields: Mapping[str, object]) -> Identity:
    """Read a kept identity by the rules of a connector file's: the store is input, too."""
    interval = fields.get("interval-ms", DEFAULT_INTERVAL_MS)
    return identity_of({"name": fields.get("name"), "iceberg.control.commit.interval-ms": interval})
