"""What holds for all unit tests."""

from hypothesis import settings

# tests run side by side: how long an example takes says nothing
settings.register_profile("floe", deadline=None)
settings.load_profile("floe")
