"""Transforms: changes to records before they become rows."""
