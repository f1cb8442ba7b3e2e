"""How a step ends, as the exit code of its process."""

DONE = 0
RETRYABLE = 1
"""An error of floe's that may pass."""
TERMINAL = 2
"""An error of floe's that needs a manual action."""
BROKEN = 3
"""An error that floe did not raise on purpose."""
