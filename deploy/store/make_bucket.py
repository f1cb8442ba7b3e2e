"""Make the bucket of the warehouse, unless it is there. Any S3-compatible store will do."""

from __future__ import annotations

import os

from pyarrow.fs import FileSelector, FileType, S3FileSystem


def main() -> None:
    """Make the bucket and look into it, so that wrong credentials show here and not in the first run."""
    bucket = os.environ["S3_BUCKET"]
    store = S3FileSystem(
        endpoint_override=os.environ["S3_ENDPOINT"],
        access_key=os.environ["S3_ACCESS_KEY"],
        secret_key=os.environ["S3_SECRET_KEY"],
        region=os.environ["S3_REGION"],
        allow_bucket_creation=True,
    )
    if store.get_file_info(bucket).type == FileType.NotFound:
        store.create_dir(bucket)
    entries = store.get_file_info(FileSelector(bucket))
    print(f"bucket {bucket!r} is there, {len(entries)} entries at its top")


if __name__ == "__main__":
    main()
