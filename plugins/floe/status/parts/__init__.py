"""The parts of a status record, each looked up by itself and bounded by itself."""
