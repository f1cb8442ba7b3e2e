"""What each kind of transform can be set to do: one module a family."""
