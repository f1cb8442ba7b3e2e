"""Manifests and manifest lists, as Iceberg's specification says."""
