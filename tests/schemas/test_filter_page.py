"""Every example of ``docs/filters.md`` does what the page says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from index import oracle
from schemas.derived import PUBLIC_FUNCTIONS
from schemas.errors import Refused
from schemas.expression import And, Derive, Expression, Leaf, Not, Or
from schemas.filter_text import parse_filter
from schemas.json_codec import decode_event

PAGE = (Path(__file__).parents[2] / "docs" / "filters.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    """Return the fenced blocks of one kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def examples() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield each filter with its verdicts, pairs of what the page says and the event."""
    for block in blocks("filter"):
        text, *rest = re.split(r"^(matches.*?|does not match) +(?=\{)", block, flags=re.MULTILINE)
        yield text, list(zip(rest[::2], rest[1::2], strict=True))


def verdicts() -> list[Any]:
    return [
        pytest.param(text, said, event, id=f"{' '.join(text.split())[:40]} {said} {event.strip()}")
        for text, pairs in examples()
        for said, event in pairs
    ]


@pytest.mark.parametrize(("text", "said", "event"), verdicts())
def test_an_example_does_what_the_page_says(text: str, said: str, event: str) -> None:
    expression, decoded = parse_filter(text), decode_event(event.encode())
    assert oracle.matches(expression, decoded) == (said != "does not match")
    if said not in ("matches", "does not match"):
        points = float(said.removeprefix("matches with score "))
        assert oracle.as_score(oracle.score(expression, decoded)) == points


def nodes(tree: Expression) -> Iterator[Expression]:
    yield tree
    for arg in tree.args if isinstance(tree, And | Or) else (tree.arg,) if isinstance(tree, Not) else ():
        yield from nodes(arg)


def test_the_page_shows_every_predicate_and_connective_with_a_match_or_a_miss() -> None:
    texts = [text for text, pairs in examples() if pairs]
    assert len(texts) == len(blocks("filter"))
    kinds = {type(node) for text in texts for node in nodes(parse_filter(text))}
    assert kinds == {And, Or, Not, *get_args(Leaf)}
    signs = "=|!=|>|>=|between|not between|in (|not in (|strong not in (|strong !=|exists|is null|all(|any(|^|--|/*"
    assert [sign for sign in signs.split("|") if not any(sign in text for text in texts)] == []


def test_the_page_shows_a_match_and_a_miss_of_every_leaf() -> None:
    """Each kind of leaf stands alone, or negated, in some example or as a part of one, and the oracle has seen both."""
    seen: dict[tuple[type, bool], bool] = {}
    for text, pairs in examples():
        for leaf in nodes(parse_filter(text)):
            for _, event in pairs if isinstance(leaf, get_args(Leaf)) else ():
                seen[type(leaf), oracle.matches(leaf, decode_event(event.encode()))] = True
    assert seen.keys() == {(kind, truth) for kind in get_args(Leaf) for truth in (True, False)}


def functions(leaf: Expression) -> Iterator[str]:
    attribute = getattr(leaf, "attribute", "")
    while isinstance(attribute, Derive):
        yield attribute.function
        attribute = attribute.of


def test_the_page_shows_every_function() -> None:
    shown = {name for text, _ in examples() for leaf in nodes(parse_filter(text)) for name in functions(leaf)}
    assert shown == PUBLIC_FUNCTIONS.keys()
    table = PAGE.split("| function | of |")[1].split("\n\n")[0]
    written = {"add": "a + n", "subtract": "a - n", "multiply": "a * n", "divide": "a / n"}
    for name in PUBLIC_FUNCTIONS:
        assert written.get(name, f"{name}(") in table


def refusals() -> list[list[str]]:
    return [re.split(r"  +", line) for block in blocks("refused") for line in block.splitlines()]


@pytest.mark.parametrize(("text", "code", "place"), refusals())
def test_a_refusal_of_the_page_is_the_one_that_happens(text: str, code: str, place: str) -> None:
    with pytest.raises(Refused) as caught:
        parse_filter(text)
    assert (caught.value.code, caught.value.path) == (code, place)
