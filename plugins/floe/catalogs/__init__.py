"""Catalogs and tables, through PyIceberg."""
