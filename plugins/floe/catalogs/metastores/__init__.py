"""Catalogs of metastores: PyIceberg's, with what floe adds to them."""
