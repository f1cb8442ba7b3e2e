"""Dates as text, as ``java.text.SimpleDateFormat`` reads and writes them in UTC and in English."""

from floe_job.types.java_dates.simple_date import SimpleDate

__all__ = ["SimpleDate"]
