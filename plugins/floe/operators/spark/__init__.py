"""Starting Spark: its code, its settings, its log."""
