"""People: invitations by signed link, nicknames, sessions. Only digests of secrets are stored."""

from __future__ import annotations

import hmac
import json
import secrets
import unicodedata
from hashlib import sha256
from typing import Any

import sqlalchemy as sa
from itsdangerous import BadSignature, URLSafeSerializer
from sqlalchemy import Connection

from endoxa.errors import RefusedError, TextError
from endoxa.frozen import dataclass
from endoxa.store import schema as s
from endoxa.store import statements as q
from endoxa.store.catalogue import Study, count_rows, insert, note

ROLES = ("judge", "participant", "organiser", "searcher", "viewer")
SEARCHING = ("searcher", "viewer")  # people who search a collection, or look at one search; they belong to no study
UNNAMED = ("organiser", "viewer")  # they need no nickname
DAY = 86_400.0
SESSION = 30 * DAY
NICKNAME = 60  # maximum number of characters
KEY = 32  # minimum number of characters of the key of a join, which is a secret


@dataclass(frozen=True)
class Invitation:
    """An invitation by link."""

    id: int
    study_id: int | None
    role: str
    nickname: str | None
    expires_at: float
    withdrawn_at: float | None
    used_at: float | None

    def state(self, now: float) -> str:
        """One of open, used, withdrawn, expired."""
        if self.withdrawn_at is not None:
            return "withdrawn"
        if now >= self.expires_at:
            return "expired"
        return "used" if self.used_at is not None else "open"


@dataclass(frozen=True)
class Visitor:
    """The person whose browser sends a request."""

    role: str
    invitation_id: int
    study_id: int | None
    rater_id: int | None
    nickname: str


def digest(secret: str) -> str:
    """The digest of a secret, which is all that is stored of it."""
    return sha256(secret.encode()).hexdigest()


def invite(
    connection: Connection, key: str, study: Study | None, role: str, *, nickname: str | None = None, days: float = 30,
    secret: str | None = None, now: float,
) -> tuple[int, str]:  # fmt: skip
    """A new invitation: its number, and the token of its link, which cannot be shown again.

    The secret of the link is random unless it is given.
    """
    if role not in ROLES or (role in SEARCHING and study is not None):
        known = [name for name in ROLES if study is None or name not in SEARCHING]
        raise RefusedError(f"people are invited as {', '.join(known)}, not as {role!r}", 422)
    if not 0 < days <= 3650:
        raise RefusedError(f"a link is valid for up to 3650 days, not {days:g}", 422)
    study_id, i = study.id if study else None, s.invitations.c
    if nickname is not None:
        nickname = checked(nickname)
        if _is_invited(connection, study_id, nickname, i.withdrawn_at.is_(None), i.expires_at > now):
            raise RefusedError(
                f"{nickname!r} is invited already",
                remedy=f"withdraw that link first (invite --withdraw {nickname}), or choose another nickname",
            )
    secret = secret or secrets.token_urlsafe(24)
    number = insert(
        connection, s.invitations, study_id=study_id, role=role, nickname=nickname, digest=digest(secret),
        created_at=now, expires_at=now + days * DAY,
    )  # fmt: skip
    note(connection, study_id, "invited", now=now, invitation=number, role=role)
    return number, token_of(key, secret)


def token_of(key: str, secret: str) -> str:
    """The token of a link with that secret."""
    return str(URLSafeSerializer(key, salt="invitation").dumps(secret))


def renew(connection: Connection, key: str, number: int, *, days: float = 30, now: float) -> str:
    """A new token for an invitation; the old link no longer opens."""
    secret = secrets.token_urlsafe(24)
    changed = {"digest": digest(secret), "expires_at": now + days * DAY}
    connection.execute(sa.update(s.invitations).where(s.invitations.c.id == number).values(**changed))
    return token_of(key, secret)


def checked(nickname: str) -> str:
    """A nickname without invisible characters; refused if it is empty or too long."""
    kept = "".join(c for c in unicodedata.normalize("NFC", nickname) if unicodedata.category(c)[0] != "C")
    kept = " ".join(kept.split())
    if not kept:
        raise RefusedError("choose a nickname with at least one letter", 422)
    if len(kept) > NICKNAME:
        raise RefusedError(f"a nickname has at most {NICKNAME} characters; this one has {len(kept)}", 422)
    return kept


def folded(nickname: str) -> str:
    """The nickname without letter case. It is folded here, because databases differ in the letters that they know."""
    return nickname.casefold()[:120]


def _is_invited(connection: Connection, study_id: int | None, nickname: str, *which: sa.ColumnElement[bool]) -> bool:
    """Whether a nickname is among those invited. Locks the study, so that nobody else takes the nickname meanwhile."""
    connection.execute(
        sa.select(s.studies.c.id).where(s.studies.c.id == study_id).with_for_update(key_share=True)
    ).one_or_none()
    i = s.invitations.c
    names = connection.scalars(sa.select(i.nickname).where(i.study_id == study_id, i.nickname.is_not(None), *which))
    return folded(nickname) in {folded(name) for name in names}


def invitation_of(connection: Connection, key: str, token: str) -> Invitation:
    """The invitation of a link. A forged link gets the same refusal as an unknown one."""
    try:
        secret = URLSafeSerializer(key, salt="invitation").loads(token)
    except BadSignature:
        secret = None
    row = None
    if isinstance(secret, str):
        row = connection.execute(_invitations(s.invitations.c.digest == digest(secret))).one_or_none()
    if row is None:
        raise RefusedError("this link is not known here", 404, remedy="ask the organiser for a new one")
    return Invitation(*row)


def _invitations(*which: sa.ColumnElement[bool]) -> sa.Select[Any]:
    i = s.invitations.c
    columns = (i.id, i.study_id, i.role, i.nickname, i.expires_at, i.withdrawn_at, i.used_at)
    return sa.select(*columns).where(*which)


def need_open(invitation: Invitation, now: float) -> None:
    """Refuse a link that is no longer valid, with the reason: an organiser's works once, any other until it expires."""
    state = invitation.state(now)
    if state == "open" or (state == "used" and invitation.role != "organiser"):
        return
    why = {
        "withdrawn": ("this link was withdrawn", "ask the organiser for a new one"),
        "expired": ("this link has expired", "ask the organiser for a new one. Your answers are saved"),
        "used": ("this link works once and was used before", "endoxa study serve prints a new one at every start"),
    }
    problem, remedy = why[state]
    raise RefusedError(problem, 410, remedy=remedy)


def join(connection: Connection, invitation: Invitation, nickname: str, *, key: str | None = None, now: float) -> str:
    """Open a session by a link; returns its secret. A judge's first session creates the rater.

    The same key again, which the browser sends if it got no reply, gives the same session, also by a link that works
    once.
    """
    # Of two simultaneous clicks, the second waits here and finds the link used.
    mine = _invitations(s.invitations.c.id == invitation.id)
    invitation = Invitation(*connection.execute(mine.with_for_update()).one())
    if (secret := joined(connection, invitation, key, now=now)) is not None:
        return secret
    need_open(invitation, now)
    if invitation.role not in UNNAMED:
        _name(connection, invitation, nickname, now)
    connection.execute(
        sa.update(s.invitations)
        .where(s.invitations.c.id == invitation.id, s.invitations.c.used_at.is_(None))
        .values(used_at=now)
    )
    secret = secrets.token_urlsafe(32) if key is None else secret_of(key, "session", invitation.id)
    if count_rows(connection, s.sessions, s.sessions.c.digest == digest(secret)):
        secret = secrets.token_urlsafe(32)  # the session of this key has ended, and does not come back
    until = now + SESSION if invitation.role == "organiser" else min(invitation.expires_at, now + SESSION)
    connection.execute(
        sa.insert(s.sessions).values(
            digest=digest(secret), invitation_id=invitation.id, created_at=now, expires_at=until
        )
    )
    return secret


def joined(connection: Connection, invitation: Invitation, key: str | None, *, now: float) -> str | None:
    """The secret of the session that a join with this key opened; None where there is none, or it has ended."""
    secret = None if key is None else secret_of(key, "session", invitation.id)
    return secret if secret is not None and visitor_of(connection, secret, now=now) is not None else None


def secret_of(key: str, *parts: object) -> str:
    """The secret that a join with this key makes, the same every time; nobody can find it without the key."""
    if len(key) < KEY:
        raise RefusedError(f"the key of a join has {KEY} characters or more", 422, remedy="reload the page")
    return hmac.new(key.encode(), json.dumps(parts).encode(), sha256).hexdigest()


def _name(connection: Connection, invitation: Invitation, nickname: str, now: float) -> None:
    """Give a new person the nickname; a returning one keeps theirs."""
    name = invitation.nickname or checked(nickname)
    if invitation.nickname is None:
        # An existing judge of that name is somebody else, even one with imported answers only.
        if _is_invited(connection, invitation.study_id, name) or rater_named(connection, invitation.study_id, name):
            raise RefusedError(f"the nickname {name!r} is taken", 422, remedy="choose another nickname")
        connection.execute(sa.update(s.invitations).where(s.invitations.c.id == invitation.id).values(nickname=name))
    if invitation.role != "judge":
        return
    if count_rows(connection, s.raters, s.raters.c.invitation_id == invitation.id):
        return
    number = rater_named(connection, invitation.study_id, name) if invitation.nickname is not None else None
    if number is not None:  # invited again after the first link became invalid: the same judge
        connection.execute(sa.update(s.raters).where(s.raters.c.id == number).values(invitation_id=invitation.id))
        return
    add_rater(connection, invitation.study_id, name, invitation.id, now=now)
    note(connection, invitation.study_id, "joined", now=now, invitation=invitation.id)


def rater_named(connection: Connection, study_id: int | None, name: str) -> int | None:
    """The number of the rater of that nickname, in any letter case; None where there is none."""
    r = s.raters.c
    return connection.scalar(sa.select(r.id).where(r.study_id == study_id, r.folded == folded(name)))


def add_rater(
    connection: Connection, study_id: int | None, name: str, invitation_id: int | None = None, *, now: float
) -> int:
    """A new rater; returns the number. The seed of the study and the nickname fix the order of the rater's tasks."""
    settings: dict[str, Any] = connection.execute(
        sa.select(s.studies.c.settings).where(s.studies.c.id == study_id)
    ).scalar_one()
    fixed = sha256(f"{settings.get('seed', 0)} {folded(name)}".encode()).digest()
    seed = int.from_bytes(fixed[:8]) >> 2
    who = {"nickname": name, "folded": folded(name), "invitation_id": invitation_id, "seed": seed}
    return insert(connection, s.raters, study_id=study_id, **who, joined_at=now)


def visitor_of(connection: Connection, secret: str, *, now: float) -> Visitor | None:
    """The person of a session; None where it does not exist, has ended, or its link was withdrawn."""
    row = connection.execute(q.VISITOR, {"digest": digest(secret), "now": now}).one_or_none()
    if row is None:
        return None
    return Visitor(row.role, row.id, row.study_id, row.rater_id, row.nickname or "")


def leave(connection: Connection, secret: str, *, now: float) -> None:
    """End a session; the link opens a new one."""
    connection.execute(sa.update(s.sessions).where(s.sessions.c.digest == digest(secret)).values(ended_at=now))


def withdraw(connection: Connection, study: Study, number: int, *, now: float) -> None:
    """Withdraw a link, which ends its sessions. Answers are kept."""
    done = connection.execute(
        sa.update(s.invitations)
        .where(s.invitations.c.id == number, s.invitations.c.study_id == study.id)
        .values(withdrawn_at=now)
    )
    if not done.rowcount:
        raise RefusedError(f"study {study.name!r} has no invitation {number}", 404)
    note(connection, study.id, "withdrawn", now=now, invitation=number)


def invitations(connection: Connection, study: Study) -> list[Invitation]:
    """All invitations of a study."""
    rows = connection.execute(_invitations(s.invitations.c.study_id == study.id).order_by(s.invitations.c.id))
    return [Invitation(*row) for row in rows]


def numbers_of(invitations: list[Invitation], who: str, now: float) -> list[int]:
    """The number itself, or the numbers of the valid invitations with that nickname."""
    if who.isdigit():
        return [int(who)]
    found = [one.id for one in invitations if one.nickname == who and one.state(now) in {"open", "used"}]
    if not found:
        known = ", ".join(f"{one.id} {one.nickname or '(no nickname yet)'}" for one in invitations) or "none"
        raise TextError(f"nobody called {who!r} has a valid link", remedy=f"links of this study: {known}")
    return found
