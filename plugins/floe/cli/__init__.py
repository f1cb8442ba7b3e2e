"""The command line: ``python -m floe check|doctor|status|keys|query``. ``check`` and ``keys`` need nothing but Python."""
