"""Routing: which tables each record goes to, by its field, header, key or topic."""
