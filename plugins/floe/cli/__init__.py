"""The command line: ``python -m floe check|doctor|status|keys``. ``check`` and ``keys`` need nothing but Python."""
