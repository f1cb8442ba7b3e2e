"""The driver's part of the job: one slice, its tables, its tasks, its announcement."""
