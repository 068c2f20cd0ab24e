"""Machine judges: what a model is sent, what a command is called with, and the grade that either gives."""

from __future__ import annotations

import base64
import math
import threading
from pathlib import Path
from typing import Any

import pytest
from chat_server import Server, completion, pair_of, prompt_of, refusal, serving
from page_samples import script

from endoxa.errors import CallError, FileError
from endoxa.io.chat import Chat, ChatError
from endoxa.io.commands import CommandError, command_of
from endoxa.io.graders import PROMPT, ChatGrader, CommandGrader, Shown, prompt_in, refuse_odd_pictures, scale_of

QUERY, ITEM = Shown("blue cars"), Shown("A car is a car.")
PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)


def grader(server: Server, prompt: str = PROMPT, **settings: Any) -> ChatGrader:
    known = {"temperature": 0.0, "seed": 1, "structured": True, "probabilities": False, "more": {}}
    chat = Chat(server.url, "m", seconds=10.0, stopped=threading.Event())
    return ChatGrader(chat, prompt, (0, 3), **{**known, **settings})


def by_command(typed: str, scale: tuple[int, int] = (0, 3)) -> CommandGrader:
    return CommandGrader(command_of(typed, "query", "item"), scale, 20.0, threading.Event())


# ---- a model ------------------------------------------------------------------------------------------


def test_a_model_is_asked_by_the_prompt_with_explicit_settings() -> None:
    with serving(lambda _body, _n: completion('{"grade": 2}')) as server:
        reply = grader(server, temperature=0.5, seed=7, more={"top_p": 0.9, "max_tokens": None}).grade(QUERY, ITEM, 3)
    assert (reply.grade, reply.text, reply.tokens_in, reply.tokens_out) == (2, '{"grade": 2}', 50, 3)
    (body,) = server.bodies
    assert pair_of(body) == ("blue cars", "A car is a car.")
    assert (body["temperature"], body["seed"], body["top_p"], body["model"]) == (0.5, 9, 0.9, "m")
    assert "max_tokens" not in body
    with serving(lambda _body, _n: completion("2")) as server:
        judge = grader(server, more={"seed": None, "temperature": 1})
        judge.grade(QUERY, ITEM, 1)
    assert "seed" not in server.bodies[0] and server.bodies[0]["temperature"] == 1
    assert judge.settings["parameters"] == "max_tokens=1024 method=structured temperature=1"
    schema = body["response_format"]["json_schema"]
    assert schema["strict"] and schema["schema"]["properties"] == {"grade": {"type": "integer", "enum": [0, 1, 2, 3]}}


def test_the_settings_say_all_that_a_grading_depends_on() -> None:
    with serving(lambda _body, _n: completion("1")) as server:
        usual = grader(server).settings
        assert usual["parameters"] == "max_tokens=1024 method=structured seed=1 temperature=0.0"
        assert usual["scale"] == "0-3" and len(usual["prompt"]) == 16
        others = [
            grader(server, seed=2), grader(server, temperature=1.0), grader(server, structured=False),
            grader(server, probabilities=True), grader(server, more={"a": {"b": 1}}), grader(server, "{query} {item}"),
        ]  # fmt: skip
        assert len({tuple(one.settings.values()) for one in others} | {tuple(usual.values())}) == 7


def test_blanks_in_texts_stay_and_braces_of_a_prompt_too() -> None:
    with serving(lambda _body, _n: completion("1")) as server:
        grader(server, '{query}|{item}|{"grade": N} {other}').grade(Shown("{item}"), Shown("{query}"), 1)
    assert prompt_of(server.bodies[0]) == '{item}|{query}|{"grade": N} {other}'


def test_a_server_without_schemas_is_asked_without_from_then_on() -> None:
    def reply(body: Any, _n: int) -> Any:
        return refusal(400, "unknown field response_format") if "response_format" in body else completion("3")

    with serving(reply) as server:
        judge = grader(server)
        assert [judge.grade(QUERY, ITEM, repeat).grade for repeat in (1, 2)] == [3, 3]
        assert ["response_format" in body for body in server.bodies] == [True, False, False]
    with serving(lambda _body, _n: refusal(400, "the text is too long")) as server:
        judge = grader(server)
        with pytest.raises(ChatError, match="too long"):
            judge.grade(QUERY, ITEM, 1)
        assert judge.structured  # the schema was not what the server refused


def test_a_schema_is_not_sent_if_not_wanted() -> None:
    with serving(lambda _body, _n: completion("final score: 0")) as server:
        assert grader(server, structured=False).grade(QUERY, ITEM, 1).grade == 0
    assert "response_format" not in server.bodies[0]


def test_a_grade_by_token_probabilities() -> None:
    alternatives = [{"token": token, "logprob": math.log(p)} for token, p in (("1", 0.3), ("3", 0.3), ("x", 0.4))]
    place = {"token": "3", "logprob": math.log(0.3), "top_logprobs": alternatives}
    with serving(lambda _body, _n: completion("3", logprobs={"content": [place]})) as server:
        reply = grader(server, probabilities=True).grade(QUERY, ITEM, 1)
    assert reply.grade == pytest.approx(2) and reply.probabilities == pytest.approx([0, 0.3, 0, 0.3])
    assert server.bodies[0]["top_logprobs"] == 20 and "response_format" not in server.bodies[0]
    with (
        serving(lambda _body, _n: completion("3")) as server,
        pytest.raises(ChatError, match="no token prob") as caught,
    ):
        grader(server, probabilities=True).grade(QUERY, ITEM, 1)
    assert caught.value.final
    with serving(lambda _body, _n: completion("x", logprobs={"content": [{**place, "token": "x"}]})) as server:
        reply = grader(server, probabilities=True).grade(QUERY, ITEM, 1)
    assert (reply.text, reply.grade, reply.probabilities) == ("x", None, None)


def test_pictures_are_parts_below_the_prompt(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    with serving(lambda _body, _n: completion("1")) as server:
        grader(server).grade(QUERY, Shown("a caption", tmp_path / "a.png"), 1)
    parts = server.bodies[0]["messages"][0]["content"]
    assert [part["type"] for part in parts] == ["text", "text", "image_url"]
    assert pair_of(server.bodies[0]) == ("blue cars", "a caption (see the picture of the item below)")
    assert parts[1]["text"] == "The picture of the item:"
    assert parts[2]["image_url"]["url"] == "data:image/png;base64," + base64.b64encode(PNG).decode()


@pytest.mark.parametrize("raw", [b"\xff\xd8\xff\xe0", PNG, b"GIF89a", b"RIFF0000WEBPVP8 "])
def test_kinds_of_pictures_that_models_take(raw: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(raw)
    refuse_odd_pictures([Shown(None, tmp_path / "a.png"), Shown("text")])


def test_other_pictures_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.bmp").write_bytes(b"BM")
    with pytest.raises(FileError, match=r"a\.bmp: is not a JPEG, PNG, GIF or WebP, which models take; convert it"):
        refuse_odd_pictures([Shown(None, tmp_path / "a.bmp")])
    with pytest.raises(FileError, match="cannot be read"):
        refuse_odd_pictures([Shown(None, tmp_path / "b.png")])


def test_a_prompt_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "prompt.txt"
    path.write_text("{query} and {item}")
    assert prompt_in(path) == "{query} and {item}"
    path.write_text("{query} and {Item}")
    with pytest.raises(FileError, match=r"prompt\.txt: the prompt lacks \{item\}; put it where"):
        prompt_in(path)
    path.write_bytes(b"\xff{query}{item}")
    with pytest.raises(FileError, match="is not UTF-8 text"):
        prompt_in(path)
    with pytest.raises(FileError, match="cannot be read"):
        prompt_in(tmp_path / "none.txt")


def test_what_a_grading_depends_on_of_what_is_shown(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "b.png").write_bytes(PNG)
    one, same, other = Shown("x", tmp_path / "a.png"), Shown("x", tmp_path / "b.png"), Shown("x")
    assert one.digest == same.digest != other.digest


def test_scales() -> None:
    assert scale_of("0-3") == (0, 3) and scale_of("1-10") == (1, 10)
    for typed in ("3-0", "0", "a-b", "", "-1-3", "1-1", "0-5000"):
        with pytest.raises(CallError, match="expected the least and the greatest grade"):
            scale_of(typed)


# ---- a command ----------------------------------------------------------------------------------------


def test_a_command_gets_texts_and_paths_without_a_shell(tmp_path: Path) -> None:
    own = script(tmp_path, "own", f'printf "%s|" "$@" > "{tmp_path}/called"; echo "final score: 2"')
    (tmp_path / "a.png").write_bytes(PNG)
    odd = "a\"; touch hacked; $(x) {item} 'b"
    judge = by_command(f"{own} -q {{query}} {{item}}")
    reply = judge.grade(Shown(odd), Shown("caption", tmp_path / "a.png"), 1)
    assert (reply.grade, reply.text, reply.tokens_in) == (2, "final score: 2\n", None)
    assert (tmp_path / "called").read_text() == f"-q|{odd}|{tmp_path / 'a.png'}|"
    assert not (tmp_path / "hacked").exists() and not Path("hacked").exists()
    assert judge.settings["model"] == f'["{own}", "-q", "{{query}}", "{{item}}"]'
    assert judge.length(QUERY, ITEM) == 0


def test_a_command_without_a_grade_and_one_that_fails(tmp_path: Path) -> None:
    assert by_command("echo {query} {item}").grade(QUERY, ITEM, 1).grade is None
    assert by_command("sh -c 'echo .7' {query} {item}", (0, 10)).grade(QUERY, ITEM, 1).grade == 0.7
    with pytest.raises(CommandError, match="ended with status 3: no model"):
        by_command("sh -c 'echo no model >&2; exit 3' {query} {item}").grade(QUERY, ITEM, 1)
    with pytest.raises(CallError, match=r"lacks \{item\}; as in 'mytool \{query\} \{item\}'"):
        by_command("echo {query}")
