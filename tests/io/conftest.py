"""Reading and writing files takes as long as the disk pleases: no deadlines."""

from hypothesis import settings

settings.register_profile("files", deadline=None)
settings.load_profile("files")
