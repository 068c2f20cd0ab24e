"""Pages of text: binarisation, damage, letters with a known text, what is found in a text, where readings differ."""
