"""Catalogs of metastores, whose clients write metadata files: PyIceberg's, with what floe adds to them."""
