"""Documents of MongoDB: from Extended JSON to structs with schemas."""
