"""The verbs for pictures: open a corpus, index it, run engines over it, search it.

from endoxa import appraise, pictures

if __name__ == "__main__":  # pictures are described by several processes, which read a script anew
    pictures.index("photos", ["keywords", "histograms"])
    ran = pictures.run("photos", ["keywords", "histograms"], sample=60)
    print(appraise(ran.run).summary)
"""

from endoxa.pictures.indexing import Indexed, available, index
from endoxa.pictures.labels import categories, same_leaf
from endoxa.pictures.opening import home_of, open_corpus
from endoxa.pictures.running import Ran, Seen, load, run, search

__all__ = [
    "Indexed", "Ran", "Seen", "available", "categories", "home_of", "index", "load", "open_corpus", "run", "same_leaf",
    "search",
]  # fmt: skip
