"""What messages mean to Kafka Connect: their schemas, and the conversions into the columns of those."""
