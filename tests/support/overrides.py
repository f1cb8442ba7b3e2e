"""What runs may set: the classes of keys, and a file with a secret and two tables."""

from floe.config import KeyClass

CANARY = "hunter2-canary"
TOKEN = {"iceberg.catalog.token": CANARY}
TWO = {"topics": "a,b", "iceberg.tables": "db.one,db.two", "floe.table.db.two.topics": "b"}
LIVE, REPLAY, FILE = KeyClass
