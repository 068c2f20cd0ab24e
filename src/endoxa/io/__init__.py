"""Readers and writers of files. A reader parses a file and calls the `of` of its table; it decides nothing else."""
