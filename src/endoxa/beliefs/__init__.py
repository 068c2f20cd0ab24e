"""From opinions to belief: what is held to be relevant, and how surely."""
