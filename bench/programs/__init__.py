"""Programs that a system runs in a process of its own, so that it alone is measured."""
