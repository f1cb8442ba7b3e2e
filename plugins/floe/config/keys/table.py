"""The table of keys: every key that a connector may hold stands here, and nowhere else.

A key of the Iceberg sink keeps its name, type and default. The tables in ``docs/reference/configuration.md`` are printed from
this one (``python -m floe.config keys``), and a test compares them. Of several patterns the first match counts.

A new key is of class ``file``: a run may set it only once its row says so.
"""

from typing import Final

from floe.config.keys.connect_keys import CONNECT
from floe.config.keys.floe_keys import FLOE
from floe.config.keys.key import Key
from floe.config.keys.sink_keys import SINK

KEYS: Final[tuple[Key, ...]] = CONNECT + SINK + FLOE
