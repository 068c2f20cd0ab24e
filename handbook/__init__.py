"""The documentation site: tutorials that are run, pages made from the registries, screenshots."""
