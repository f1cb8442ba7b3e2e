"""The records and the chains that transforms are measured with."""
