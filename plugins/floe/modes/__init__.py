"""How rows are written: appended, or in the place of others."""
