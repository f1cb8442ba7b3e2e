"""The control topic: the events in it and their bytes."""
