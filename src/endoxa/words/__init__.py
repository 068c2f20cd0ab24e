"""Words and pictures: which words are visual. Everything here is pure: arrays and names in, frozen tables out."""
