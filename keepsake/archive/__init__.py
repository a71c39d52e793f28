"""Older messages as encrypted Parquet files: they leave memory.db, and are read, changed and erased there."""
