"""Records made to be expensive, and what runs them through a task."""
