"""What can be wrong around a connector: brokers, topics, registry, catalog, warehouse, Spark, this machine; a check each."""
