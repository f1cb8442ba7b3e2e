"""Errors of the control topic's events.

Terminal
├── EventDecodeError         bytes that are not an event that floe can read
├── EventEncodeError         an event that cannot be written as the Java sink would write it
└── DataFileConversionError  a data file that an event or PyIceberg cannot represent
"""

from floe.exceptions import Terminal


class EventDecodeError(Terminal):
    """These bytes are not an event that floe can read."""

    code = "FLOE-801"


class EventEncodeError(Terminal):
    """This event cannot be written in the wire format of the Java sink."""

    code = "FLOE-802"


class DataFileConversionError(Terminal):
    """This data file would lose values in the conversion between its event and PyIceberg."""

    code = "FLOE-803"
