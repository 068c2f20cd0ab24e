"""What people read of an evaluation: pages, figures, tables for papers, trec_eval's lines.

Everything here is pure: it returns text or a matplotlib figure, and writes no file.
"""
