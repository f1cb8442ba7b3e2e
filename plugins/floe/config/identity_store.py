"""The identities of a folder's connector files when they were last valid: only names and schedules.

One small JSON file per folder, 0600, in the cache folder of the deployment. It only decides under which name and schedule a
broken connector fails; losing or changing it has no other effect.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from floe.config.identity import DEFAULT_INTERVAL_MS, INTERVAL, Identity, identity_of
from floe.config.sections.schedule import SCHEDULE, TIMEZONE

_MAX_BYTES = 10 << 20
_FOLDER = "connectors"


class IdentityStore:
    """Keeps the identities of one folder of connectors, by file name."""

    def __init__(self, cache: Path, connectors: Path) -> None:
        of_folder = hashlib.sha256(os.fsencode(connectors.absolute())).hexdigest()[:32]
        self.path = cache / _FOLDER / f"{of_folder}.json"

    def load(self) -> dict[str, Identity]:
        """Return the stored identities; empty if there are none or they cannot be read."""
        try:
            with self.path.open("rb") as stream:
                kept = json.loads(stream.read(_MAX_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        if not isinstance(kept, dict):
            return {}
        return {file: _identity(fields) for file, fields in kept.items() if isinstance(fields, dict)}

    def save(self, identities: Mapping[str, Identity]) -> None:
        """Replace the stored identities atomically.

        :raises OSError: the folder cannot be written.
        """
        folder = self.path.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fields = {file: _fields(one) for file, one in sorted(identities.items())}
        descriptor, temporary = tempfile.mkstemp(dir=folder)  # of mode 0600
        try:
            with open(descriptor, "w") as stream:  # noqa: PTH123 - mkstemp has opened it
                json.dump(fields, stream)
            Path(temporary).replace(self.path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


def _identity(fields: Mapping[str, object]) -> Identity:
    """Read a stored identity by the rules for connector files: the store is input, too."""
    keys = {"name": fields.get("name"), INTERVAL: fields.get("interval-ms", DEFAULT_INTERVAL_MS)}
    known = ((SCHEDULE, "schedule"), (TIMEZONE, "timezone"))
    return identity_of({**keys, **{key: fields[name] for key, name in known if name in fields}})


def _fields(identity: Identity) -> dict[str, object]:
    fields: dict[str, object] = {"name": identity.name, "interval-ms": identity.interval_ms}
    if identity.schedule is not None and not identity.schedule.is_interval:
        fields |= {"schedule": identity.schedule.text, "timezone": identity.schedule.timezone}
    return fields
