"""Whether a null in a column is one in the text, or a field that is not there: the parser of columns does not say."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np

from floe_job.convert.json.key_aliases import ESCAPED_KEY
from floe_job.source.values import Packed, packed

_NULL: Final = b"null"
_BLANKS: Final = (b"", b" ")
_ODD_BLANKS: Final = (b"\t", b"\n", b"\r", b'" :', b"  :", b":  ")
"""Where none of these is in a text, a colon has no blank before it, and one space behind it at most."""


class PackedText:
    """The text of records, copied into one buffer when it is first asked for.

    Answers are made from the bytes; where these leave a doubt, they are yes.
    """

    def __init__(self, values: Sequence[bytes]) -> None:
        self._values = values

    @cached_property
    def _packed(self) -> Packed:
        return packed(self._values)

    @cached_property
    def _text(self) -> bytes:
        return self._packed.data.tobytes()

    def may_have(self, names: Collection[str | None], token: bytes) -> bool:
        """Return whether a field of one of the names may have a value that begins with ``token``; None: an element."""
        text = self._text
        if token not in text:
            return False
        if any(name is None or json.dumps(name, ensure_ascii=False) != f'"{name}"' for name in names):
            return True
        may_be_escaped = b"\\u" in text or (b"\\/" in text and any("/" in str(name) for name in names))
        if may_be_escaped and ESCAPED_KEY.search(text):
            return True
        keys = [f'"{name}"'.encode() for name in set(names)]
        if any(blank in text for blank in _ODD_BLANKS):
            between = rb"[ \t\n\r]*:[ \t\n\r]*"
            return any(re.search(re.escape(key) + between + re.escape(token), text) for key in keys)
        return any(key + b":" + blank + token in text for key in keys for blank in _BLANKS)

    def with_null(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the indices of the records that have a null somewhere, or the word in a text."""
        data = self._packed.data
        found = data[: 1 - len(_NULL)] == _NULL[0]
        for place in range(1, len(_NULL)):
            found &= data[place : len(data) + 1 - len(_NULL) + place] == _NULL[place]
        places = np.flatnonzero(found)
        starts, ends = self._packed.starts, self._packed.ends
        return np.flatnonzero(np.searchsorted(places, starts) < np.searchsorted(places, ends))
