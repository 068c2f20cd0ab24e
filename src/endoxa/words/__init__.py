"""Words and pictures: how well regions predict words, and which words are visual. Everything here is pure."""
