"""What the FileIOs of floe's own share: one file system of Arrow for each place, and none that goes to a worker."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pyarrow.fs import FileSystem
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.typedef import EMPTY_DICT, Properties

from floe.catalogs.exceptions import StoreAddressRefused
from floe.config.catalogs.store_address import place_problem, setting_problems


def check_place(scheme: str, place: str) -> None:
    """Check what stands between a location's scheme and its path, before a client sees it. Raises StoreAddressRefused."""
    if problem := place_problem(scheme, place):
        msg = (
            f"the location {scheme}://… is refused: {problem}. Nothing was read or written there. Correct the location"
        )
        raise StoreAddressRefused(msg)


def check_settings(properties: Mapping[str, Any]) -> None:
    """Check properties that become a part of an address. Raises StoreAddressRefused."""
    if found := next(setting_problems(properties), None):
        key, problem = found
        msg = (
            f"{key} is refused: {problem}. Nothing was sent. Correct it in iceberg.catalog.* or PyIceberg's "
            "environment; if the catalog answers with it, there"
        )
        raise StoreAddressRefused(msg)


class ArrowFileIO(PyArrowFileIO):
    """PyIceberg's FileIO with another way to a file system; it goes to Spark's workers without those it has made."""

    def __init__(self, properties: Properties = EMPTY_DICT) -> None:
        super().__init__(properties)
        self.fs_by_scheme = lru_cache(self._checked)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.fs_by_scheme = lru_cache(self._checked)

    def _checked(self, scheme: str, netloc: str | None = None) -> FileSystem:
        check_place(scheme, netloc or "")
        return self.file_system(scheme, netloc)

    @abstractmethod
    def file_system(self, _: str, netloc: str | None = None) -> FileSystem:
        """Return the file system of a location's scheme and host. Raises ValueError."""
