"""A FileIO whose worker dies once: killed when it opens its second file, the first time that anybody does."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from pyiceberg.io import OutputFile
from pyiceberg.io.pyarrow import PyArrowFileIO


class FragileFileIO(PyArrowFileIO):
    """Leaves a file at ``fragile.marker`` when it has killed its process."""

    _opened = 0

    def new_output(self, location: str) -> OutputFile:
        """Open a file, or die."""
        marker = Path(self.properties["fragile.marker"])
        self._opened += 1
        if self._opened == 2 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().new_output(location)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_opened": 0}
