"""The application of interactive search: the page, its API, pictures and uploads."""
