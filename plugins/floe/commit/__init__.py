"""The commit: from announcements to one snapshot per table, idempotently; then the position."""
