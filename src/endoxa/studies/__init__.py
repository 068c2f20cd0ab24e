"""Studies with people: design, sampling of pairs, and analysis of the answers."""
