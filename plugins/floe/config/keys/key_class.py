"""The class of a key: which runs may set it with the param ``config``."""

import enum


class KeyClass(enum.Enum):
    """Who may set a key for one run. Each class permits those before it."""

    LIVE = "live"
    """Every run: the key cannot change which rows arrive, where they arrive, or who reads them."""
    REPLAY = "replay"
    """Replays too, within what the connector file names."""
    FILE = "file"
    """The connector file only: identity, connections, addresses, catalogs, secrets, keys that name code, and new keys."""

    def permits(self, other: "KeyClass") -> bool:
        """Whether a run that may set keys of this class may set one of the other."""
        return _ORDER[other] <= _ORDER[self]


_ORDER = {key_class: place for place, key_class in enumerate(KeyClass)}
