"""What the FileIOs of floe's own share: one file system of Arrow for each place, and none that goes to a worker."""

from __future__ import annotations

from abc import abstractmethod
from functools import lru_cache
from typing import Any

from pyarrow.fs import FileSystem
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.typedef import EMPTY_DICT, Properties


class ArrowFileIO(PyArrowFileIO):
    """PyIceberg's FileIO with another way to a file system; it goes to Spark's workers without those it has made."""

    def __init__(self, properties: Properties = EMPTY_DICT) -> None:
        super().__init__(properties)
        self.fs_by_scheme = lru_cache(self.file_system)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.fs_by_scheme = lru_cache(self.file_system)

    @abstractmethod
    def file_system(self, _: str, netloc: str | None = None) -> FileSystem:
        """Return the file system of a location's scheme and host. Raises ValueError."""
