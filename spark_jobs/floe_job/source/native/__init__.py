"""Records in the memory of librdkafka, a known version of it."""
