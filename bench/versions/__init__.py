"""Is this version as fast as older ones? Both in one run, in alternation, over the same topics and the same catalog."""
