"""What spark-submit runs: in a folder of its own, which it puts on the path of the driver."""
