"""Keys of records as text: of the whole key, or of one of its fields."""
