"""Arrow rows to Parquet files, as Iceberg wants them."""
