"""The folder of Spark that ``spark-submit`` of this Python's PySpark starts."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

HOME: Final = "SPARK_HOME"
SUBMIT: Final = "spark-submit"


def spark_home(environ: Mapping[str, str]) -> Path:
    """Return the folder that is set, or that of PySpark; an empty path where there is none."""
    if environ.get(HOME):
        return Path(environ[HOME])
    spec = importlib.util.find_spec("pyspark")
    return Path(next(iter(spec.submodule_search_locations or []), "")) if spec else Path()


def home_of_submit(environ: Mapping[str, str], binary: str) -> dict[str, str]:
    """Return the variable that PySpark's ``spark-submit`` would start a Python for; nothing where that may find another.

    That is where one is set, where the ``binary`` or the one on the path is not of PySpark, and where PySpark has another
    distribution beside its own, which would come first.
    """
    found = shutil.which(binary, path=environ.get("PATH"))
    if (
        environ.get(HOME)
        or binary != SUBMIT
        or found is None
        or not Path(found).with_name("find_spark_home.py").is_file()
    ):
        return {}
    home = spark_home(environ)
    is_whole = (home / "bin" / SUBMIT).is_file() and (home / "jars").is_dir()
    return {HOME: str(home)} if is_whole and not (home / "spark-distribution").exists() else {}
