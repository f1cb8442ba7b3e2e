"""Regular expressions as Java reads them, matched in a time that is bounded."""
