"""Maintenance of tables: what may be tidied up in them, by independent jobs."""
