"""Links: whom they let in, as whom, how often, until when."""

import threading
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pytest
from itsdangerous import URLSafeSerializer
from store_samples import DAY, NOW, Judge, held_of, study_of

from endoxa.errors import RefusedError
from endoxa.store import people, records
from endoxa.tables import Opinions


def invite(place, study, nickname=None, role="judge", *, days=30, now=NOW):
    with place.store.writing() as connection:
        return people.invite(connection, place.key, study, role, nickname=nickname, days=days, now=now)


def join(place, token, nickname="", *, now=NOW):
    with place.store.writing() as connection:
        return people.join(connection, people.invitation_of(connection, place.key, token), nickname, now=now)


def visitor(place, secret, *, now=NOW):
    with place.store.reading() as connection:
        return people.visitor_of(connection, secret, now=now)


def test_a_link_opens_the_same_judge_again_and_again(place):
    study = study_of(place, main=2)
    _, token = invite(place, study, "ana")
    first, second = join(place, token), join(place, token, "somebody else", now=NOW + DAY)
    assert first != second
    one, two = visitor(place, first), visitor(place, second, now=NOW + DAY)
    assert one == two
    assert (one.role, one.nickname, one.study_id) == ("judge", "ana", study.id)


def test_only_digests_are_kept(place):
    study = study_of(place, main=1)
    _, token = invite(place, study, "ana")
    secret = join(place, token)
    import sqlalchemy as sa

    from endoxa.store import schema as s

    plain = URLSafeSerializer(place.key, salt="invitation").loads(token)
    with place.store.reading() as connection:
        kept = [str(row) for table in (s.invitations, s.sessions) for row in connection.execute(sa.select(table))]
    assert not any(plain in row or secret in row or token in row for row in kept)


def test_the_key_of_a_join_is_long_and_not_kept(place):
    study = study_of(place, main=1)
    _, token = invite(place, study, "ana")
    key = "k" * people.KEY
    with place.store.writing() as connection:
        found = people.invitation_of(connection, place.key, token)
        secrets = {people.join(connection, found, "", key=key, now=NOW) for _ in range(3)}
        assert len(secrets) == 1
        assert people.join(connection, found, "", key="l" * people.KEY, now=NOW) not in secrets
        with pytest.raises(RefusedError, match="characters or more"):
            people.join(connection, found, "", key=key[1:], now=NOW)
        kept = [str(row) for row in connection.exec_driver_sql("select * from sessions")]
    assert not any(key in row or secret in row for row in kept for secret in secrets)


def test_a_judge_who_chooses_a_nickname_keeps_it(place):
    study = study_of(place, main=1)
    _, token = invite(place, study)
    first = join(place, token, "  Zoë  the\u200b judge\n")
    assert visitor(place, first).nickname == "Zoë the judge"
    assert visitor(place, join(place, token, "another")) == visitor(place, first)


@pytest.mark.parametrize("days", [0, -1, 4000, float("nan")])
def test_links_hold_for_some_days(place, days):
    study = study_of(place, main=1)
    with pytest.raises(RefusedError, match="days"):
        invite(place, study, days=days)


def test_an_expired_link_opens_no_more_and_ends_its_sessions(place):
    study = study_of(place, main=1)
    _, token = invite(place, study, "ana", days=2)
    secret = join(place, token)
    assert visitor(place, secret, now=NOW + 2 * DAY - 1) is not None
    assert visitor(place, secret, now=NOW + 2 * DAY) is None
    with pytest.raises(RefusedError, match=r"expired.*Your answers are saved") as refused:
        join(place, token, now=NOW + 2 * DAY)
    assert refused.value.status == 410


def test_a_withdrawn_link_opens_no_more_and_ends_its_sessions(place):
    study, other = study_of(place, main=1), study_of(place, main=1)
    number, token = invite(place, study, "ana")
    secret = join(place, token)
    with pytest.raises(RefusedError, match="no invitation"), place.store.writing() as connection:
        people.withdraw(connection, other, number, now=NOW)  # another study's organiser page
    assert visitor(place, secret) is not None
    with place.store.writing() as connection:
        people.withdraw(connection, study, number, now=NOW)
    assert visitor(place, secret) is None
    with pytest.raises(RefusedError, match="withdrawn") as refused:
        join(place, token)
    assert refused.value.status == 410


def test_whoever_is_invited_again_goes_on_as_the_same_judge(place):
    study = study_of(place, main=3)
    number, token = invite(place, study, "Ana")
    before = visitor(place, join(place, token))
    with place.store.writing() as connection:
        people.withdraw(connection, study, number, now=NOW)
    _, token = invite(place, study, "ANA")
    assert visitor(place, join(place, token)).rater_id == before.rater_id


def test_forged_links_and_links_never_given_out_get_the_same_answer(place):
    study = study_of(place, main=1)
    _, token = invite(place, study, "ana")
    signer = URLSafeSerializer(place.key, salt="invitation")
    wrong = [
        "", "x", token[:-1], token + "A", token.swapcase(), "." + token, "ü" * 50, "a.b.c", "\x00",
        URLSafeSerializer("another key" * 5, salt="invitation").dumps("secret"),
        URLSafeSerializer(place.key, salt="session").dumps(signer.loads(token)),
        signer.dumps("never given out"), signer.dumps(["a", "list"]), signer.dumps(None),
    ]  # fmt: skip
    for one in wrong:
        with pytest.raises(RefusedError, match="not known here") as refused:
            join(place, one)
        assert refused.value.status == 404


def test_a_session_that_was_left_is_over(place):
    study = study_of(place, main=1)
    _, token = invite(place, study, "ana")
    one, two = join(place, token), join(place, token)
    with place.store.writing() as connection:
        people.leave(connection, one, now=NOW)
    assert visitor(place, one) is None
    assert visitor(place, two) is not None
    assert visitor(place, "never") is None


def test_an_organisers_link_works_once_even_for_two_at_the_same_moment(place):
    for _ in range(3):
        _, token = invite(place, None, role="organiser", days=1)
        barrier = threading.Barrier(4)

        def redeem(_, token=token, barrier=barrier):
            barrier.wait(timeout=30)
            try:
                return join(place, token)
            except RefusedError as error:
                return error

        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(redeem, range(4)))
        refused = [one for one in found if isinstance(one, RefusedError)]
        assert len(refused) == 3
        assert all(one.status == 410 and "works once" in str(one) for one in refused)
        (secret,) = [one for one in found if isinstance(one, str)]
        assert visitor(place, secret).role == "organiser"


def test_two_who_choose_the_same_nickname_at_the_same_moment_are_two(place):
    for role in ("judge", "participant"):
        study = study_of(place, main=1)
        tokens = [invite(place, study, role=role)[1] for _ in range(4)]
        barrier = threading.Barrier(4)

        def come(token, barrier=barrier):
            barrier.wait(timeout=30)
            try:
                return join(place, token, "Émile")
            except RefusedError as error:
                return error

        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(come, tokens))
        refused = [one for one in found if isinstance(one, RefusedError)]
        assert len(refused) == 3
        assert all(one.status == 422 and "choose another nickname" in str(one) for one in refused)


@pytest.mark.parametrize(
    ("first", "second"),
    [("ana", "ana"), ("ana", "ANA"), ("Émile", "Émile"), ("Émile", "émile"), ("straße", "STRASSE"), ("ana", " ana\t")],
)
def test_nobody_can_take_the_nickname_of_another(place, first, second):
    """Whoever chose it would go on with the other's answers."""
    study = study_of(place, main=3)
    _, hers = invite(place, study, first)
    _, free = invite(place, study)
    mine = visitor(place, join(place, hers))
    with pytest.raises(RefusedError, match="choose another nickname") as refused:
        join(place, free, second)
    assert refused.value.status == 422
    with pytest.raises(RefusedError, match="invited already"):
        invite(place, study, second)
    assert visitor(place, join(place, hers)) == mine
    # in another study the name is free
    other = study_of(place, main=1)
    assert visitor(place, join(place, invite(place, other)[1], second)).rater_id != mine.rater_id


def test_nobody_can_take_the_nickname_of_a_judge_whose_answers_were_imported(place):
    study = study_of(place, main=1)
    table = Opinions.of(pl.DataFrame({"source": ["ana"], "query": ["red"], "item": ["item-0-0"], "grade": [4.0]}))
    with place.store.writing() as connection:
        records.add_opinions(connection, study, table, now=NOW)
    _, free = invite(place, study)
    with pytest.raises(RefusedError, match="choose another nickname"):
        join(place, free, "ana")
    ana = Judge(place, study, "ana")  # but the organiser may say that it is she
    ana.answer(ana.tasks()[0], 5)
    assert held_of(place, study)["source"].unique().to_list() == ["ana"]


@pytest.mark.parametrize("nickname", ["", "   ", "\u200b\u200b", "\n", "x" * 61])
def test_nicknames_that_are_none(place, nickname):
    study = study_of(place, main=1)
    with pytest.raises(RefusedError, match="nickname") as refused:
        join(place, invite(place, study)[1], nickname)
    assert refused.value.status == 422


@pytest.mark.parametrize(
    "nickname", ["x", "x" * 60, "ΐ" * 60, "ﬃ" * 60, "<script>alert(1)</script>", "a' or 1=1 --", "李雷"]
)
def test_nicknames_that_are_fine(place, nickname):
    study = study_of(place, main=1)
    assert visitor(place, join(place, invite(place, study)[1], nickname)).nickname == nickname


def test_a_link_that_was_refused_is_not_used_up(place):
    study = study_of(place, main=1)
    number, token = invite(place, study)
    with pytest.raises(RefusedError):
        join(place, token, "")
    with place.store.reading() as connection:
        found = {one.id: one for one in people.invitations(connection, study)}[number]
    assert (found.state(NOW), found.nickname) == ("open", None)


def test_people_are_invited_as_something(place):
    with pytest.raises(RefusedError, match="judge, participant, organiser"):
        invite(place, study_of(place, main=1), role="boss")


def test_a_participant_is_no_judge(place):
    study = study_of(place, main=1)
    found = visitor(place, join(place, invite(place, study, "lab", "participant")[1]))
    assert (found.role, found.rater_id) == ("participant", None)
