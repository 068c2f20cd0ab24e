"""Every table and figure of the five sources, beside what Endoxa gives: `make sources`."""
