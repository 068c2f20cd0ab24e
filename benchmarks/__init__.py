"""Speed and memory of Endoxa beside its peers: `make bench`."""
