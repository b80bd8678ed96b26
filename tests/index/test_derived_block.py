"""A block extended by derived attributes holds exactly what the oracle derives, whoever asked first."""

from __future__ import annotations

import json
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index import derived_columns
from index.attribute_names import attribute_name, derivation
from index.derivations import families
from index.derived_block import extended
from index.event_block import EventBlock
from index.oracle import leaf_values
from schemas.expression import Attribute, Derive
from schemas.records import Event
from schemas.values import value_key
from tests.leaf_strategies import rich_attributes
from tests.strategies import events, numbers, rich_events

TOKENS = Derive("~tokens", "a", ("words",))
CHAINS = (Derive("length", TOKENS), Derive("mod", Derive("length", Derive("lower", "a")), (2,)), TOKENS)

wanted_attributes = st.lists(
    st.one_of(rich_attributes(3), st.sampled_from(CHAINS)).filter(lambda a: isinstance(a, Derive)), max_size=4
)


def held(block: EventBlock, name: str) -> list[dict[object, float]]:
    place = block.attribute_place.get(name, -1)
    found: list[dict[object, float]] = []
    for e in range(block.size):
        entries = range(int(block.offsets[e]), int(block.offsets[e + 1]))
        mine = [i for i in entries if block.terms[int(block.term[i])][0] == place]
        found.append({_key(block.terms[int(block.term[i])][1]): float(block.weight[i]) for i in mine})
        assert len(found[-1]) == len(mine)
        assert not mine or mine == list(range(mine[0], mine[-1] + 1))
    return found


def _key(value: object) -> object:
    return value_key(value) if value == value else "nan"  # type: ignore[arg-type]


@given(st.lists(rich_events(), max_size=5), wanted_attributes, wanted_attributes)
def test_derived_entries_are_the_oracles(
    happened: list[Event], first: list[Attribute], second: list[Attribute]
) -> None:
    block = EventBlock.from_events(happened)
    for wanted in (first, second):
        names = list(dict.fromkeys(map(attribute_name, wanted)))
        longer = extended(block, families(names))
        assert longer is extended(block, families(reversed(names)))
        assert (longer.top.tolist(), longer.time.tolist()) == (block.top.tolist(), block.time.tolist())
        for attribute in wanted:
            expected = [{_key(v): w for v, w in leaf_values(event, attribute)} for event in happened]
            assert held(longer, attribute_name(attribute)) == expected
        for name in block.attributes:
            assert held(longer, name) == held(block, name)


@given(st.lists(rich_events(), max_size=5), wanted_attributes)
def test_columns_of_the_added_terms_follow_those_of_the_block(happened: list[Event], wanted: list[Attribute]) -> None:
    longer = extended(EventBlock.from_events(happened), families(dict.fromkeys(map(attribute_name, wanted))))
    plain = EventBlock(
        longer.attributes,
        longer.values,
        longer.term_attribute,
        longer.offsets,
        longer.term,
        longer.weight,
        longer.top,
        longer.time,
    )
    assert longer.keys.to_list() == plain.keys.to_list()
    assert repr(longer.numbers.double.tolist()) == repr(plain.numbers.double.tolist())
    assert longer.numbers.remainder.tolist() == plain.numbers.remainder.tolist()
    assert longer.is_text.tolist() == plain.is_text.tolist()
    assert longer.plain.tolist() == plain.plain.tolist()


def test_of_two_sources_the_heavier_gives_its_weight() -> None:
    block = EventBlock.from_events([Event({"a": ("x", "X", "y")}, {"a": (-2.0, 3.0, 1.0)})])
    name = attribute_name(Derive("lower", "a"))
    assert held(extended(block, families([name])), name) == [{("s", "x"): 3.0, ("s", "y"): 1.0}]


ARITHMETIC = ("mod", "add", "subtract", "multiply", "divide")
steps = st.one_of(
    st.tuples(st.sampled_from(ARITHMETIC), st.tuples(st.one_of(st.integers(1, 9), numbers().filter(bool)))),
    st.tuples(st.sampled_from(("abs", "floor", "ceil", "round", "length", "lower", "year")), st.just(())),
    st.tuples(st.just("substring"), st.tuples(st.integers(1, 3), st.integers(0, 2))),
)


@st.composite
def related_attributes(draw: st.DrawFn) -> list[Attribute]:
    """Derived attributes of one or two of a record's, many of which differ in their arguments alone."""
    found: list[Attribute] = ["a", "b"]
    for function, args in draw(st.lists(steps, min_size=1, max_size=12)):
        found.append(Derive(function, draw(st.sampled_from(found)), args))
    return found[2:]


@settings(max_examples=300)
@given(st.lists(events() | rich_events(), max_size=4), related_attributes(), st.sampled_from((1, 3, 1 << 17)))
def test_families_of_any_size_are_the_oracles(happened: list[Event], wanted: list[Attribute], tile: int) -> None:
    block = EventBlock.from_events(happened)
    with patch.object(derived_columns, "_TILE", tile):
        longer = extended(block, families({attribute_name(attribute) for attribute in wanted}))
    for attribute in wanted:
        expected = [{_key(v): w for v, w in leaf_values(event, attribute)} for event in happened]
        assert held(longer, attribute_name(attribute)) == expected


def test_attributes_that_differ_in_the_last_arguments_are_one_family() -> None:
    wanted = [Derive("mod", Derive("add", "a", (1,)), (7,)), *(Derive("mod", "a", (c,)) for c in (2, 3, 2.5))]
    names = [attribute_name(attribute) for attribute in wanted]
    found = families(names)
    chain, several = sorted(found, key=lambda family: len(family.names))
    assert (several.source, several.function, sorted(several.args)) == ("a", "mod", [(2,), (2.5,), (3,)])
    assert families(reversed(names)) == found
    source = chain.source
    assert (chain.function, chain.args) == ("mod", ((7,),))
    assert not isinstance(source, str)
    assert (source.source, source.function, source.args) == ("a", "add", ((1,),))


def test_a_plain_name_has_no_family() -> None:
    with pytest.raises(ValueError, match="'a' is no derived attribute"):
        families(["a"])


def test_many_moduli_of_many_values_leave_what_the_oracle_leaves() -> None:
    block = EventBlock.from_events([Event({"a": tuple(range(-500, 500))}), Event({"a": (7, True, "7")})])
    wanted = [Derive("mod", "a", (c,)) for c in range(1, 300)]
    longer = extended(block, families(map(attribute_name, wanted)))
    assert longer.offsets.tolist() == [0, 1000 + sum(2 * c - 1 for c in range(1, 300)), len(longer.term)]
    assert len(longer.term) - longer.offsets[1] == 3 + 299


@given(rich_attributes(4))
def test_a_name_tells_how_its_attribute_is_derived(attribute: Attribute) -> None:
    made = derivation(attribute_name(attribute))
    if isinstance(attribute, str):
        assert made is None
        return
    assert made is not None
    rebuilt: Attribute = made.base
    for step in made.steps:
        rebuilt = Derive(step.function, rebuilt, step.args)
    assert repr(rebuilt) == repr(attribute)
    assert made.name == attribute_name(attribute)
    assert json.loads(made.name[1:])[0] == made.base
