"""What runs inside the Spark job: record values in, Parquet files with Iceberg field ids out."""
