"""What a record transform has to see of values."""

from enum import Enum


class Reads(Enum):
    """What a record transform has to see of values: nothing; columns where they are, else objects; objects always."""

    NOTHING = "nothing"
    COLUMNS = "columns"
    OBJECTS = "objects"
