"""Keys of every catalog in Java: its own, and those of the stores behind it."""

from collections.abc import Iterator, Mapping
from typing import Final

from floe.config.catalogs import cloud_stores, s3
from floe.config.catalogs.base import PREFIX, CatalogKey, KeyTable, by_pyicebergs_names
from floe.config.catalogs.common import COMMON_KEYS
from floe.config.catalogs.store_address import PARTS, location_problem, setting_problems
from floe.config.secrets.detection import is_reference

STORE_KEYS: Final[tuple[CatalogKey, ...]] = (
    *COMMON_KEYS,
    *s3.CLASS_KEYS,
    *s3.SWITCH_KEYS,
    *s3.S3_KEYS,
    *cloud_stores.GCS_KEYS,
    *cloud_stores.ADLS_KEYS,
)
"""By Java's names. PyIceberg's own are in ``floe.config.libraries.library_settings``."""


_TABLE: Final = KeyTable(STORE_KEYS)


def store_problems(given: Mapping[str, str]) -> Iterator[str]:
    """Yield values that no store of floe's can have."""
    yield from s3.problems(given)
    made = by_pyicebergs_names(given, _TABLE)
    parts = {key: made[key].strip() for key in PARTS & made.keys() if not is_reference(made[key])}
    for key, problem in setting_problems(parts):
        yield f"{PREFIX}{key}: {problem}. Correct it: it becomes a part of an address"
    warehouse = given.get("warehouse", "").strip()
    if not is_reference(warehouse) and (wrong := location_problem(warehouse)):
        yield f"{PREFIX}warehouse: {wrong}"


def warehouse_problems(given: Mapping[str, str]) -> Iterator[str]:
    """Yield why a warehouse is no address of a store."""
    warehouse = given.get("warehouse", "").strip()
    if warehouse.startswith("arn:"):
        bucket = warehouse.partition(":s3:::")[2]
        what, address = ("a bucket", bucket) if bucket else ("something else", "BUCKET/PATH")
        yield f"{PREFIX}warehouse {warehouse[:200]!r} is Amazon's name of {what}, and no address: set s3://{address[:200]}"


def store_warnings(given: Mapping[str, str]) -> Iterator[str]:
    """Yield what floe is not tested with."""
    if given.get("warehouse", "").strip().lower().startswith(("hdfs:", "viewfs:")):
        yield (
            f"{PREFIX}warehouse is in HDFS, which no test of floe uses: Arrow needs Hadoop's native client (libhdfs) for it "
            "on Airflow's and Spark's workers. Without that, set an address in S3, GCS or ADLS"
        )


def store_values(given: Mapping[str, str], made: Mapping[str, str]) -> dict[str, str]:
    """Return values in PyIceberg's form; ``given``: as the file has them, ``made``: by PyIceberg's names."""
    return s3.to_pyiceberg(given, made)
