"""What a table may ask for that floe cannot write.

FloeError
├── UnsupportedColumn       Terminal: the table has a column that floe cannot write
└── UnsupportedFileFormat   Terminal: the table asks for files that floe cannot write
"""

from floe.exceptions import Terminal


class UnsupportedColumn(Terminal):
    """The table has a column that floe cannot write, by its type or its name."""

    code = "FLOE-415"


class UnsupportedFileFormat(Terminal):
    """A property of the table names a format or a codec that floe cannot write."""

    code = "FLOE-416"
