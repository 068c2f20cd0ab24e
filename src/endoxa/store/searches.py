"""Searches in the database: their events, who may see them, and what they teach later searches of the collection.

Each event is one short transaction. Its page makes its key, so that sending it again changes nothing, and says which
event it saw last, so that two tabs of one search do not run into each other.
"""

from __future__ import annotations

import math
import secrets
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.dialects import postgresql, sqlite

from endoxa.errors import RefusedError, absent, did_you_mean, needed
from endoxa.frozen import dataclass
from endoxa.images.corpus import Corpus
from endoxa.searches import session
from endoxa.searches.arms import Arm, Features
from endoxa.searches.priors import EVEN, START, Counts
from endoxa.searches.session import Event
from endoxa.store import people
from endoxa.store import schema as s
from endoxa.store.catalogue import count_rows, insert

TITLE = 200  # characters
MANY = 1e9  # a count above this was not counted


@dataclass(frozen=True)
class Record:
    """A search as the database has it, without its events.

    name        random, as in its address
    owner       the number of the invitation of the person who searches; None on the command line
    nickname    of that person
    collection  the folder of the pictures, under which its prior is learnt
    features    the digest of the index that it began with
    forked      the name of the search that it was forked from
    """

    id: int
    name: str
    owner: int | None
    nickname: str | None
    title: str
    collection: str
    features: str
    forked: str | None
    created_at: float
    taught_at: float | None


# ---- searches -----------------------------------------------------------------------------------------


def collection_of(corpus: Corpus) -> str:
    """Under which searches of a corpus teach one another: the folder of its pictures."""
    return str(Path(corpus.root).resolve())


def begin(
    connection: Connection, start: Mapping[str, Any], *, collection: str, owner: int | None = None, title: str = "",
    key: str | None = None, now: float,
) -> Record:  # fmt: skip
    """A new search with its first event, `start` (`seeking.start_detail`). The same key again gives the same search."""
    detail = session.checked("start", start)
    if (there := _begun(connection, owner, key)) is not None:
        return there
    number, name = _insert(connection, detail["features"], collection, owner, title, now=now)
    _add(connection, number, Event(1, "start", detail, key or str(uuid.uuid4()), now))
    return find(connection, name)


def fork(
    connection: Connection, search: Record, number: int, *, owner: int | None, key: str | None = None, now: float
) -> Record:
    """A new search of `owner` that begins with the first events of another, up to `number`."""
    if (there := _begun(connection, owner, key)) is not None:
        return there
    copied = session.forked(events(connection, search), search.name, number)
    made, name = _insert(connection, search.features, search.collection, owner, search.title, forked=search.id, now=now)
    for at, event in enumerate(copied, start=1):
        mine = event.key if event.kind not in {"start", "fork"} else str(uuid.uuid4())
        if event.kind == "start" and key is not None:
            mine = key
        _add(connection, made, Event(at, event.kind, event.detail, mine, event.at or now))
    return find(connection, name)


def _begun(connection: Connection, owner: int | None, key: str | None) -> Record | None:
    """The search that this person began with this key."""
    if owner is None or key is None:
        return None
    # Of two clicks at once, the second waits here and finds what the first made.
    connection.execute(sa.select(s.invitations.c.id).where(s.invitations.c.id == owner).with_for_update()).one()
    e = s.search_events
    begun = _records().join(e, e.c.search_id == s.searches.c.id)
    return _one(connection, begun.where(s.searches.c.invitation_id == owner, e.c.number == 1, e.c.key == key))


def _insert(
    connection: Connection, features: str, collection: str, owner: int | None, title: str, *,
    forked: int | None = None, now: float,
) -> tuple[int, str]:  # fmt: skip
    name = secrets.token_urlsafe(12)
    while name.startswith("-"):  # a name on the command line is no option
        name = secrets.token_urlsafe(12)
    number = insert(
        connection, s.searches, name=name, invitation_id=owner, title=_title(title), collection=collection,
        features=features, forked_id=forked, created_at=now,
    )  # fmt: skip
    return number, name


def _title(title: str) -> str:
    kept = " ".join(title.replace("\0", " ").split())
    if len(kept) > TITLE:
        raise RefusedError(f"a title has at most {TITLE} characters; this one has {len(kept)}", 422)
    return kept


def _records() -> sa.Select[Any]:
    mine, other = s.searches.c, s.searches.alias("other")
    return (
        sa.select(
            mine.id, mine.name, mine.invitation_id, s.invitations.c.nickname, mine.title, mine.collection,
            mine.features, other.c.name.label("forked"), mine.created_at, mine.taught_at,
        )
        .outerjoin(s.invitations, s.invitations.c.id == s.searches.c.invitation_id)
        .outerjoin(other, other.c.id == s.searches.c.forked_id)
    )  # fmt: skip


def _one(connection: Connection, wanted: sa.Select[Any]) -> Record | None:
    row = connection.execute(wanted).one_or_none()
    return None if row is None else Record(*row)


def find(connection: Connection, name: str) -> Record:
    """The search of that name, whoever it belongs to; for the command line and the organiser."""
    found = _one(connection, _records().where(s.searches.c.name == name))
    if found is None:
        known = connection.scalars(sa.select(s.searches.c.name)).all()
        hint = did_you_mean(name, known) or "endoxa search list shows them"
        raise RefusedError(f"no search is called {name!r}", 404, remedy=hint)
    return found


def owned(connection: Connection, name: str, owner: int) -> Record:
    """A person's own search of that name. Another's search is refused as if it did not exist."""
    mine = _records().where(s.searches.c.name == name, s.searches.c.invitation_id == owner)
    return needed(_one(connection, mine), "search")


def listed(connection: Connection, *, owner: int | None = None, collection: str | None = None) -> list[Record]:
    """Searches, the newest first: all, those of a person, those of a collection."""
    wanted = _records().order_by(s.searches.c.id.desc())
    if owner is not None:
        wanted = wanted.where(s.searches.c.invitation_id == owner)
    if collection is not None:
        wanted = wanted.where(s.searches.c.collection == collection)
    return [Record(*row) for row in connection.execute(wanted)]


# ---- events -------------------------------------------------------------------------------------------


def events(connection: Connection, search: Record, *, after: int = 0) -> list[Event]:
    """The events of a search in order, or those after a number."""
    e = s.search_events.c
    wanted = sa.select(s.search_events).where(e.search_id == search.id, e.number > after).order_by(e.number)
    return [_event(row) for row in connection.execute(wanted)]


def _event(row: Any) -> Event:
    return Event(row.number, row.kind, row.detail, row.key, row.at)


def append(connection: Connection, search: Record, key: str, after: int, event: Event) -> Event:
    """Add an event behind the one numbered `after`; returns it as it is stored.

    The same key again changes nothing. If another event came in between, it is refused (409): another tab went on.
    """
    connection.execute(sa.select(s.searches.c.id).where(s.searches.c.id == search.id).with_for_update()).one()
    e = s.search_events.c
    same = sa.select(s.search_events).where(e.search_id == search.id, e.key == key)
    if (there := connection.execute(same).one_or_none()) is not None:
        if there.kind != event.kind:
            raise RefusedError("this key belongs to another event of this search", remedy="reload the page")
        return _event(there)
    last = connection.scalar(sa.select(sa.func.max(e.number)).where(e.search_id == search.id)) or 0
    if after != last:
        raise RefusedError(
            f"this search went on elsewhere: its last event is {last}, not {after}",
            remedy="reload the page to go on from there",
        )
    stored = Event(last + 1, event.kind, session.checked(event.kind, event.detail), key, event.at)
    _add(connection, search.id, stored)
    return stored


def _add(connection: Connection, search_id: int, event: Event) -> None:
    if not 0 < len(event.key) <= 36:
        raise RefusedError("the key of an event has 1 to 36 characters", 422, remedy="use a UUID")
    row = {"number": event.number, "key": event.key, "kind": event.kind, "detail": dict(event.detail), "at": event.at}
    connection.execute(sa.insert(s.search_events).values(search_id=search_id, **row))


def following_key(search: Record, number: int) -> str:
    """The key of an event that the server adds behind `number`, such as a page: of two servers, one adds it."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"endoxa search {search.name} {number}"))


# ---- people -------------------------------------------------------------------------------------------


def come_back(connection: Connection, key: str, nickname: str, *, days: float = 30, now: float) -> str:
    """The token of a new link for one person, who has searches of that nickname already or begins now."""
    i = s.invitations.c
    mine = (i.study_id.is_(None), i.role == "searcher", i.nickname == nickname, i.withdrawn_at.is_(None))
    number = connection.scalar(sa.select(i.id).where(*mine).order_by(i.id.desc()).limit(1))
    if number is None:
        return people.invite(connection, key, None, "searcher", nickname=nickname, days=days, now=now)[1]
    return people.renew(connection, key, number, days=days, now=now)


def join(
    connection: Connection, key: str, invitation: people.Invitation, nickname: str, *, join_key: str | None = None,
    now: float,
) -> tuple[str, str | None]:  # fmt: skip
    """Open a session by a link: its secret, and the token of a new personal link for one who came by the open link.

    A personal link, and the link of a viewer, open the same person's searches again. So does the same `join_key` with
    the same nickname by the open link, which the browser sends again if it got no reply.
    """
    people.need_open(invitation, now)
    if invitation.role == "viewer" or invitation.nickname is not None:
        return people.join(connection, invitation, "", key=join_key, now=now), None
    # Two who choose the same nickname at once wait for each other here.
    connection.execute(sa.select(s.invitations.c.id).where(s.invitations.c.id == invitation.id).with_for_update()).one()
    name = people.checked(nickname)
    secret = join_key and people.secret_of(join_key, "link", invitation.id, people.folded(name))
    token = secret and people.token_of(key, secret)
    if not token or not count_rows(connection, s.invitations, s.invitations.c.digest == people.digest(secret or "")):
        days = (invitation.expires_at - now) / people.DAY
        try:
            _, token = people.invite(
                connection, key, None, "searcher", nickname=name, days=days, secret=secret, now=now
            )
        except RefusedError as refused:
            if refused.status == 409:
                raise RefusedError(f"the nickname {name!r} is taken", 422, remedy="choose another one") from None
            raise
    own = people.invitation_of(connection, key, token)
    return people.join(connection, own, "", key=join_key, now=now), token


def share(connection: Connection, key: str, search: Record, *, days: float = 30, now: float) -> str:
    """The token of a link that shows one search, read-only."""
    number, token = people.invite(connection, key, None, "viewer", days=days, now=now)
    connection.execute(sa.insert(s.search_shares).values(invitation_id=number, search_id=search.id))
    return token


def shared(connection: Connection, name: str, invitation_id: int) -> Record:
    """The search that a viewer's link shows; any other is refused as if it did not exist."""
    if name != shown_to(connection, invitation_id):
        raise absent("search")
    return find(connection, name)


def shown_to(connection: Connection, invitation_id: int) -> str | None:
    """The name of the search that a viewer's link shows."""
    return connection.scalar(
        sa.select(s.searches.c.name)
        .join(s.search_shares, s.search_shares.c.search_id == s.searches.c.id)
        .where(s.search_shares.c.invitation_id == invitation_id)
    )


# ---- what searches teach ------------------------------------------------------------------------------


def counts(connection: Connection, collection: str, features: Features) -> tuple[Counts, tuple[str, ...]]:
    """What earlier searches of a collection taught, and warnings; a count that cannot be is as before any search."""
    known, notes = dict(Counts.start(features).of), []
    a = s.arm_counts.c
    for row in connection.execute(sa.select(a.arm, a.above, a.below).where(a.collection == collection)):
        arm: Any = tuple(row.arm.rsplit("/", 1))
        if arm not in known:
            continue
        if all(value is not None and math.isfinite(value) and 0 < value < MANY for value in (row.above, row.below)):
            known[arm] = (row.above, row.below)
        else:
            notes.append(
                f"what earlier searches taught about {row.arm} is damaged and left out; endoxa search reset removes it"
            )
    return Counts(known), tuple(notes)


def teach(connection: Connection, search: Record, lesson: Mapping[Arm, float] | None, *, now: float) -> bool:
    """Add what a search taught (`Search.lesson`) to the prior of its collection, once; whether it was added now."""
    if lesson is None:
        return False
    taken = connection.execute(
        sa.update(s.searches)
        .where(s.searches.c.id == search.id, s.searches.c.taught_at.is_(None))
        .values(taught_at=now)
    )
    if not taken.rowcount:
        return False
    for arm, share in sorted(lesson.items()):
        connection.execute(_counted(connection, search.collection, arm, share))
    return True


def _counted(connection: Connection, collection: str, arm: Arm, share: float) -> Any:
    """Add (r, 1 - r) to the counts of an arm; a damaged count begins again."""
    above, below = START.get(arm[0], EVEN)
    first = {"collection": collection, "arm": "/".join(arm), "above": above + share, "below": below + 1 - share}
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    adding = dialect.insert(s.arm_counts).values(**first)
    a = s.arm_counts.c
    sound = sa.and_(a.above > 0, a.above < MANY, a.below > 0, a.below < MANY)
    return adding.on_conflict_do_update(
        index_elements=["collection", "arm"],
        set_={
            "above": sa.case((sound, a.above + share), else_=first["above"]),
            "below": sa.case((sound, a.below + 1 - share), else_=first["below"]),
        },
    )


def reset(connection: Connection, collection: str) -> int:
    """Forget what searches of a collection taught; the number of arms that had been learnt."""
    return int(connection.execute(sa.delete(s.arm_counts).where(s.arm_counts.c.collection == collection)).rowcount)
