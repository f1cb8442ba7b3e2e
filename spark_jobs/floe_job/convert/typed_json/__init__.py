"""JSON whose schema is known: to columns of that schema's types, for JSON Schema and other formats that write JSON."""
