"""Why a text is no filter: the place where the parser stops, as a code, a sentence, and its line and column.

The parser only says which token it could not take. When it fails, the text is parsed once more, step by step, to learn
what stands before that token and what could stand in its place; `schemas.filter_hints` then says what a person is
likely to have meant.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Any, Final

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from schemas.errors import Refused
from schemas.filter_hints import HINTS
from schemas.filter_scene import Scene, quoted
from schemas.filter_words import FREE_WORDS, SIGNS, WORDS

_WORD = re.compile(r"[\w.]+")
_SIGN_RUN = re.compile(r"!?~~?\*|[=<>!&|~:]+")
_SIGN_KINDS: Final = ("", "_EQUAL", "_UNEQUAL", "COMPARE", "NOT", "AND", "OR")


def syntax_refusal(parser: Lark, text: str) -> Refused:
    """Return why the parser does not take a text that it has refused already.

    Parameters
    ----------
    parser
        The parser of filters.
    text
        A text that is no filter.
    """
    scene = _scene(parser, text)
    for hint in HINTS:
        answer = hint(scene)
        if answer is not None:
            code, sentence, *start = answer
            return Refused(code, sentence, place_in(text, *start or (scene.start,)))
    found = "the filter ends" if scene.kind == "$END" else f"{quoted(scene.found)} was found"
    return Refused("filter.syntax", f"{found} where {_wanted(scene)} was expected", place_in(text, scene.start))


def place_in(text: str, start: int) -> str:
    """Return a place in a text as the path of a refusal; lines and columns count from 1."""
    return f"line {text.count(chr(10), 0, start) + 1}, column {start - text.rfind(chr(10), 0, start)}"


def _scene(parser: Lark, text: str) -> Scene:
    stepper: Any = parser.parse_interactive(text)  # half of its methods are not typed
    stepper.parser_state.parse_conf.callbacks = {}  # nothing is built, which would take a third of the time
    last: deque[Token] = deque(maxlen=3)
    try:
        for token in stepper.iter_parse():
            last.append(token)
        stepper.feed_eof(last[-1] if last else None)
    except UnexpectedCharacters as error:
        kind, start = "", error.pos_in_stream or 0
        word = _WORD.match(text, start)
        end = start + 1 if word is None else word.end()
    except UnexpectedToken as error:
        if last and error.token is last[-1]:
            last.pop()
        kind, start, end = error.token.type, error.token.start_pos or 0, error.token.end_pos or 0
        if kind == "$END":
            start = end  # it has borrowed the place of the last token
    else:
        raise AssertionError("the text is a filter")
    if kind in FREE_WORDS:
        kind = "NAME"
    first, after = _sign_run(text, start)
    if kind in _SIGN_KINDS and text[first:after] in SIGNS:
        kind, start, end = "", first, after
    return Scene(text, start, end, kind, stepper.accepts(), tuple(last)[-2:])


def _sign_run(text: str, start: int) -> tuple[int, int]:
    """Return the beginning and end of the longest run of signs around a place: "=>" are two tokens, but one thought."""
    run = _SIGN_RUN.match(text, start)
    end = start + 1 if run is None else run.end()
    while run is not None and start > 0 and _SIGN_RUN.match(text, start - 1, start):
        start -= 1
    return start, end


def _wanted(scene: Scene) -> str:
    if scene.wanted >= {"NAME", "BOOLEAN", "NOT"}:
        return "a predicate, such as origin = 'JFK',"
    if scene.value_wanted:
        return "a value (a string in single quotes, a number, true or false)"
    if scene.operator_wanted:
        return "an operator, such as =, !=, <, in, between, contains, like or exists,"
    if scene.wanted == {"NUMBER"}:
        return "the weight, a number," if scene.before_kind == "CIRCUMFLEX" else "a number"
    *words, last = (word for kind, word in WORDS.items() if kind in scene.wanted)
    return f"{', '.join(words)} or {last}" if words else last
