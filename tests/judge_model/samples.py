"""Questions and passages of our own, graded by hand: what a machine judge is compared with.

Every question has three passages of its subject: one answers it (3), one in part (2), one is about the same subject and
does not answer it (1). The passages of other subjects have the grade 0, of which each question gets three.
"""

from __future__ import annotations

SUBJECTS: list[tuple[str, str, str, str]] = [  # question, answer, part of an answer, same subject
    (
        "how long do you boil an egg so that the yolk is soft",
        "For a soft yolk, lower the egg into boiling water and take it out after six minutes. Large eggs need seven.",
        "The longer an egg stays in boiling water, the firmer the yolk gets: after ten minutes it is hard.",
        "Eggs should be kept in the fridge, with the round end up, and are good for about four weeks.",
    ),
    (
        "why is the sky blue",
        "Air scatters short waves of sunlight far more than long ones. So blue light reaches us from all over the sky.",
        "Molecules of air scatter light, and not every colour is scattered to the same degree.",
        "Old painters ground lapis lazuli to powder when they needed a blue for the sky in their pictures.",
    ),
    (
        "how to remove rust from a bicycle chain",
        "Brush the chain with white vinegar, wait half an hour until the rust loosens, rinse, dry it and put on oil.",
        "A chain with a little rust can be saved with a brush and oil; one with stiff links should be replaced.",
        "A bicycle chain has about a hundred links, and stretches by one percent over two thousand kilometres.",
    ),
    (
        "what causes tides in the ocean",
        "The moon pulls more strongly at the near side of the earth than at the far one. That raises two bulges of "
        "water; as the earth turns under them, the sea rises and falls twice a day. The sun adds to it.",
        "Tides follow the moon: they come about fifty minutes later each day, as the moon does.",
        "At low tide people of the coast walk out on the flats to dig for clams and worms.",
    ),
    (
        "can dogs eat chocolate",
        "No. Chocolate holds theobromine, which dogs break down slowly. Small amounts make them ill, larger ones kill.",
        "Some food of people is harmful to dogs, among it grapes, onions and sweets with cocoa.",
        "A grown dog should be fed twice a day, always at the same hours, and needs fresh water.",
    ),
    (
        "how does a vaccine protect against a disease",
        "A vaccine shows the immune system a harmless piece of the germ. The body makes antibodies and memory cells, "
        "so that it stops the real germ before it spreads.",
        "After a vaccination the blood has antibodies against the germ for months or years.",
        "Vaccines must be kept cold on the way from the factory to the surgery, or they lose their effect.",
    ),
    (
        "when was the first railway for passengers opened",
        "The Stockton and Darlington Railway carried passengers behind a steam engine on 27 September 1825, as the "
        "first public railway in the world.",
        "Public railways with steam engines began in England in the first half of the nineteenth century.",
        "A sleeper carries the rails and keeps them at the right distance; it was of oak and is now of concrete.",
    ),
    (
        "how to grow tomatoes on a balcony",
        "Take a pot of twenty litres for each plant, put it in full sun under a roof, tie the plant to a stick, water "
        "it every day at the root, and feed it each week once it flowers.",
        "Tomatoes need much sun and regular water; bush varieties stay small enough for a pot.",
        "Tomatoes came to Europe from America in the sixteenth century and were long thought to be poisonous.",
    ),
    (
        "what is the difference between a virus and a bacterium",
        "A bacterium is a living cell that feeds and divides by itself. A virus is no cell: it is genes in a shell, "
        "and multiplies only within the cells of others. Antibiotics work on bacteria only.",
        "Bacteria are cells a thousandth of a millimetre long; they multiply by division.",
        "Washing your hands for half a minute with soap removes most germs from them.",
    ),
    (
        "how do noise cancelling headphones work",
        "A microphone picks up the noise outside, and the headphones play the same wave upside down. The two cancel "
        "each other at the ear; this works best for steady, low sounds.",
        "Noise cancelling headphones have microphones and need a battery, because they add a sound of their own.",
        "Headphones that lie on the ear are lighter than those that enclose it, but press more.",
    ),
    (
        "why do leaves turn yellow in autumn",
        "In autumn trees break down the green chlorophyll in their leaves and store its parts. The yellow carotenoids, "
        "which were there all the time, become visible.",
        "The colour of a leaf depends on its pigments; chlorophyll is green and carotenoids are yellow.",
        "Wet leaves on the rails make trains slip in autumn, so that they have to brake earlier.",
    ),
    (
        "how many litres of water should a person drink a day",
        "Grown people should drink about one and a half to two litres a day, and more in heat or when they do sports.",
        "How much one has to drink depends on the weather, on work and on age; thirst is a good guide.",
        "A water meter counts the litres that run through a pipe; it is read once a year.",
    ),
]  # fmt: skip
OTHERS = (1, 5, 8)  # whose passages stand beside a question's own, counted from it


def pairs() -> list[tuple[str, str, int]]:
    """Query, item, grade."""
    rows = []
    for at in range(len(SUBJECTS)):
        rows += [(f"q{at:02d}", f"d{at:02d}-{grade}", grade) for grade in (3, 2, 1)]
        others = [(at + step) % len(SUBJECTS) for step in OTHERS]
        rows += [(f"q{at:02d}", f"d{other:02d}-{3 - place}", 0) for place, other in enumerate(others)]
    return rows


def queries() -> dict[str, str]:
    """The questions by name."""
    return {f"q{at:02d}": subject[0] for at, subject in enumerate(SUBJECTS)}


def items() -> dict[str, str]:
    """The passages by name."""
    return {f"d{at:02d}-{4 - place}": subject[place] for at, subject in enumerate(SUBJECTS) for place in (1, 2, 3)}
