"""Transforms of fields, applied to the columns of one table: JSON without schemas is decoded as columns all the same."""
