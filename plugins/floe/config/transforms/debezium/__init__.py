"""The settings of Debezium's transforms: a module for each."""
