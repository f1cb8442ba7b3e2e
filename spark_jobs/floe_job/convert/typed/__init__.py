"""Values that come with a schema: what their decoders have in common, and how their columns become a table's."""
