"""The table of keys: the only list of all keys that a connector may have.

A key of the Iceberg sink keeps its name, type and default. The tables in ``docs/reference/configuration.md`` are printed from
this one (``python -m floe.config keys``), and a test compares them. Of several patterns the first match counts.

A new key is of class ``file``: a run may set it only if its row says so.
"""

from typing import Final

from floe.config.keys.connect_keys import CONNECT
from floe.config.keys.dag_keys import DAG
from floe.config.keys.floe_keys import FLOE
from floe.config.keys.key import Key
from floe.config.keys.sink_keys import SINK

KEYS: Final[tuple[Key, ...]] = CONNECT + SINK + FLOE + DAG
