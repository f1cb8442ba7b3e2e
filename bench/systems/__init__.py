"""What is measured: floe, the Kafka Connect sink, Spark's own Kafka source, and the floor."""
