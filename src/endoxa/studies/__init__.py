"""The human half: what to ask, of whom, and what the answers say."""
