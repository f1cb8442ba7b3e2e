"""Maintenance of tables: what may be tidied up in them, by jobs that each stand alone."""
