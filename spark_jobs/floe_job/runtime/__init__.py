"""The job's processes: driver, workers, their start and end."""
