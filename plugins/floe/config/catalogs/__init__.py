"""The types of catalogs that a connector may name, one module for each: their keys, as Java's catalogs have them."""
