"""The settings of each kind of transform: one module per family."""
