"""What a filter text stands for, and with which reason, place and advice a text that is none is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from schemas.errors import Refused
from schemas.expression import And, Contains, Exists, Expression, In, Not, NotExists, NotIn, Or, Range
from schemas.filter_text import format_filter, parse_filter
from schemas.filter_words import FREE_WORDS, RESERVED_WORDS
from schemas.values import INT64_MAX, INT64_MIN

A, B, C = Exists("a"), Exists("b"), Exists("c")
SCHEMAS = Path(__file__).parents[2] / "schemas"
PAGE = (Path(__file__).parents[2] / "docs" / "filters.md").read_text(encoding="utf-8")
RESERVED = ("all", "and", "any", "between", "exists", "false", "in", "is", "not", "null", "or", "strong", "true")

READ: list[tuple[str, Expression]] = [
    ("a = 'x'", In("a", ("x",))),
    ("a == 'x'", In("a", ("x",))),
    ("'x' = a", In("a", ("x",))),
    ("a in ('x')", In("a", ("x",))),
    ("a in ('x', 1, 1.0, true, FALSE, -2, +3, .5, 5., 1E3)", In("a", ("x", 1, 1.0, True, False, -2, 3, 0.5, 5.0, 1e3))),
    ("a = 007", In("a", (7,))),
    ("a = -0", In("a", (0,))),
    ("a = -0.0", In("a", (-0.0,))),
    (f"a in ({INT64_MIN}, {INT64_MAX})", In("a", (INT64_MIN, INT64_MAX))),
    ("a = 9223372036854775808.0", In("a", (2.0**63,))),
    ("a = " + "0" * 5000 + "1", In("a", (1,))),
    ("a = 1e-999", In("a", (0.0,))),
    ("a = ''", In("a", ("",))),
    ("a = ''''", In("a", ("'",))),
    ("a = 'it''s -- no /* comment */ \n \"here\"'", In("a", ('it\'s -- no /* comment */ \n "here"',))),
    ("a = 'x'^0.5", In("a", ("x",), (0.5,))),
    ("a = 'x' ^ -2", In("a", ("x",), (-2.0,))),
    ("a in ('x'^0.5, 'y')", In("a", ("x", "y"), (0.5, 1.0))),
    ("a in ('x', 'y')^0.7", In("a", ("x", "y"), (0.7, 0.7))),
    ("a in ('x'^0.5, 'y')^0.7", In("a", ("x", "y"), (0.5, 0.7))),
    ("a in ('x')^1e-3", In("a", ("x",), (0.001,))),
    ("a != 'x'", NotIn("a", ("x",))),
    ("a <> 'x'", NotIn("a", ("x",))),
    ("'x' != a", NotIn("a", ("x",))),
    ("a not in ('x', 2)", NotIn("a", ("x", 2))),
    ("a strong != 'x'", NotIn("a", ("x",), True)),
    ("a strong not in ('x', 2)", NotIn("a", ("x", 2), True)),
    ("not a in ('x')", Not(In("a", ("x",)))),
    ("a < 5", Range("a", lt=5)),
    ("a <= 5", Range("a", le=5)),
    ("a > 5", Range("a", gt=5)),
    ("a >= 5.0", Range("a", ge=5.0)),
    ("a>-5", Range("a", gt=-5)),
    ("5 < a", Range("a", gt=5)),
    ("5 <= a", Range("a", ge=5)),
    ("'x' > a", Range("a", lt="x")),
    ("5 >= a", Range("a", le=5)),
    ("a between 1 and 2", Range("a", ge=1, le=2)),
    ("a between 'x' and 'x'", Range("a", ge="x", le="x")),
    ("a not between 1 and 2", Not(Range("a", ge=1, le=2))),
    ("a between 1 and 2 and b exists", And((Range("a", ge=1, le=2), B))),
    ("60 < a <= 120", Range("a", gt=60, le=120)),
    ("120 >= a > 60", Range("a", gt=60, le=120)),
    ("1 <= a < 2", Range("a", ge=1, lt=2)),
    ("a exists", A),
    ("a is not null", A),
    ("a not exists", NotExists("a")),
    ("a is null", NotExists("a")),
    ("A Is NoT nUlL", Exists("A")),
    ("true", And(())),
    ("false", Or(())),
    ("true = a", In("a", (True,))),
    ("not true", Not(And(()))),
    ("all(a exists)", And((A,))),
    ("any(a exists)", Or((A,))),
    ("all(a exists, b exists or c exists)", And((A, Or((B, C))))),
    ("any(a exists, true, false)", Or((A, And(()), Or(())))),
    ("a exists and b exists and c exists", And((A, B, C))),
    ("a exists or b exists or c exists", Or((A, B, C))),
    ("a exists or b exists and c exists", Or((A, And((B, C))))),
    ("(a exists or b exists) and c exists", And((Or((A, B)), C))),
    ("(a exists and b exists) and c exists", And((And((A, B)), C))),
    ("a exists or (b exists or c exists)", Or((A, Or((B, C))))),
    ("not a exists and b exists", And((Not(A), B))),
    ("not (a exists and b exists)", Not(And((A, B)))),
    ("not not a exists", Not(Not(A))),
    ("((a exists))", A),
    ("geo.lat exists", Exists("geo.lat")),
    ("_1.2.größe exists", Exists("_1.2.größe")),
    ("andy exists and or_ exists and not.x exists", And((Exists("andy"), Exists("or_"), Exists("not.x")))),
    ("version exists or like = 1 or contains in (2)", Or((Exists("version"), In("like", (1,)), In("contains", (2,))))),
    ('"a ""b"" `c`" exists', Exists('a "b" `c`')),
    ('`a "b" ``c``` exists', Exists('a "b" `c`')),
    ('"" exists', Exists("")),
    ("a = 1 && b exists || c exists", Or((And((In("a", (1,)), B)), C))),
    ("!a exists && ! (b exists)", And((Not(A), Not(B)))),
    ("a !in (1) and b !exists", And((NotIn("a", (1,)), NotExists("b")))),
    ("a is true or a is not false", Or((In("a", (True,)), NotIn("a", (False,))))),
    ("a\u00a0exists -- the end", A),
    ("a exists;", A),
    ("(a exists and b exists) ; -- the end", And((A, B))),
    ("/* a\n ** */a--\nexists/**/", A),
]


@pytest.mark.parametrize(("text", "tree"), READ, ids=[text[:40] for text, _ in READ])
def test_a_filter_is_read_as(text: str, tree: Expression) -> None:
    assert spelled(parse_filter(text)) == spelled(tree)


def spelled(tree: Expression) -> str:
    """Return a text in which 1, 1.0 and true differ, and -0.0 and 0.0."""
    return repr(tree)


REFUSED: list[tuple[str, str, str, str]] = [
    ("", "filter.empty", "1:1", "origin = 'JFK'"),
    (" \n -- nothing\n", "filter.empty", "1:1", "empty"),
    ("a", "filter.syntax", "1:2", "the filter ends where an operator, such as =, !=, <, in, between, contains"),
    ("a = ", "filter.syntax", "1:4", "a value (a string in single quotes, a number, true or false) was expected"),
    ("a exists and\n  )", "filter.syntax", "2:3", "a predicate, such as origin = 'JFK', was expected"),
    ("a exists and", "filter.syntax", "1:13", "the filter ends where a predicate"),
    ("a = = 'x'", "filter.syntax", "1:5", '"=" was found where a value'),
    ("a = 1 b = 2", "filter.syntax", "1:7", '"b" was found where "and", "or", "^" or the end of the filter'),
    ("dest airport = 'x'", "filter.syntax", "1:6", '"airport" was found where an operator, such as ='),
    ("a in (1 2)", "filter.syntax", "1:9", '"^", "," or ")"'),
    ("a in (1,)", "filter.syntax", "1:9", '")" was found where a value'),
    ("(a = 1;)", "filter.syntax", "1:7", '";" was found'),
    ("a = 1; b = 2", "filter.syntax", "1:8", "a filter is one condition"),
    ("a = 1;;", "filter.syntax", "1:7", "a filter is one condition"),
    (";", "filter.syntax", "1:1", "a predicate, such as"),
    ("a = 'x'^b", "filter.syntax", "1:9", "the weight, a number, was expected"),
    ("5 = 6", "filter.syntax", "1:5", "an attribute was expected where 6 stands"),
    ("5 = 'x'", "filter.syntax", "1:5", 'an attribute, a number or "("'),
    ("all()", "filter.syntax", "1:5", "a predicate"),
    ("a = \u200b1", "filter.syntax", "1:5", "U+200B (ZERO WIDTH SPACE)"),
    ("(a = 1\nor b = 2", "filter.syntax", "2:9", 'close it with ")"'),
    ("a = 1)", "filter.syntax", "1:6", "no parenthesis is open"),
    ("a = 'abc\n or b = 1", "filter.syntax", "1:5", "the string that begins here is not closed"),
    ("a = 'it''s", "filter.syntax", "1:5", "write a ' inside it twice"),
    ("a = 'O'Hare'", "filter.syntax", "1:8", "'O''Hare'"),
    ('"a exists', "filter.syntax", "1:1", "the quoted name that begins here is not closed"),
    ("`a exists", "filter.syntax", "1:1", "the quoted name that begins here is not closed"),
    ("a /* b", "filter.syntax", "1:3", "end it with */"),
    ("a exists /* b", "filter.syntax", "1:10", "end it with */"),
    ("a = ‘x’", "filter.syntax", "1:5", "straight single quotes"),
    ('a = "JFK"', "filter.syntax", "1:5", "('JFK')"),
    ("a = JFK", "filter.syntax", "1:5", 'the name "JFK" was found where a value was expected'),
    ("a = b", "filter.syntax", "1:5", "an attribute is compared with values only"),
    ("a > nan", "filter.syntax", "1:5", "nothing equals NaN"),
    ("a = Infinity", "filter.syntax", "1:5", "no value"),
    ("a = null", "filter.syntax", "1:5", '"is null"'),
    ("a = ('x', 'y')", "filter.syntax", "1:5", "listed with in"),
    ("a in ['x']", "filter.syntax", "1:6", "written in parentheses"),
    ("a in 'x'", "filter.syntax", "1:6", "a list in parentheses"),
    ("a = 1.5.2", "filter.syntax", "1:5", '"1.5.2" is no number'),
    ("a = 5kg", "filter.syntax", "1:5", '"5kg" is no number'),
    ("a..b = 1", "filter.syntax", "1:1", "in double quotes"),
    ("exists(a)", "filter.syntax", "1:1", "the attribute stands before it"),
    ("a = 1 and or b = 2", "filter.syntax", "1:11", 'leave out this or the "and" before it'),
    ("a = 'x' or or b = 1", "filter.syntax", "1:12", 'leave out this or the "or" before it'),
    ("and a = 1", "filter.syntax", "1:1", "leave it out, or write a predicate before it"),
    ("(or a = 1)", "filter.syntax", "1:2", '"or" joins two predicates, but none stands before it'),
    ("1 = 1", "filter.syntax", "1:5", "matches every event is true"),
    ("a = :p", "filter.syntax", "1:5", "has no parameters"),
    ("a::int = 1", "filter.syntax", "1:2", "has no casts"),
    ("mod(a) = 1", "derive.args", "1:1", "mod(attribute, number)"),
    ("a = 1 // comment", "filter.syntax", "1:7", "write -- before one"),
    ("a = 1 # comment", "filter.syntax", "1:7", "write -- before one"),
    ("# comment\na = 1", "filter.syntax", "1:1", '"#" begins no comment'),
    ("5 < a > 3", "filter.syntax", "1:7", '"<" is followed by ">"'),
    ("a > 5 < 9", "filter.syntax", "1:7", "60 < delay <= 120"),
    ("a inn ('x')", "operator.unknown", "1:3", 'did you mean "in"?'),
    ("a not inn ('x')", "operator.unknown", "1:7", 'did you mean "in"?'),
    ("a nto in ('x')", "operator.unknown", "1:3", 'did you mean "not"?'),
    ("a betwen 1 and 2", "operator.unknown", "1:3", 'did you mean "between"?'),
    ("a between 1 adn 2", "operator.unknown", "1:13", 'did you mean "and"?'),
    ("a is nul", "operator.unknown", "1:6", 'did you mean "null"?'),
    ("a isnull", "operator.unknown", "1:3", 'did you mean "is null"?'),
    ("a exist", "operator.unknown", "1:3", 'did you mean "exists"?'),
    ("a = 1\nadn b = 2", "operator.unknown", "2:1", 'did you mean "and"?'),
    ("a => 3", "operator.unknown", "1:3", 'did you mean ">="?'),
    ("a =! 3", "operator.unknown", "1:3", 'did you mean "!="?'),
    ("a === 3", "operator.unknown", "1:3", 'did you mean "="?'),
    ("a ≠ 3", "operator.unknown", "1:3", 'did you mean "!="?'),
    ("a = 1 | b = 2", "operator.unknown", "1:7", 'did you mean "or"?'),
    ("a : 'x'", "operator.unknown", "1:3", 'did you mean "="?'),
    ("a ~ 'x'", "operator.unknown", "1:3", 'did you mean "matches"'),
    ("a =~ 'x'", "operator.unknown", "1:3", 'did you mean "matches"'),
    ("a !~ 'x'", "operator.unknown", "1:3", 'did you mean "not matches"'),
    ("a = lower ('x')", "filter.syntax", "1:5", "around an attribute, not around a value"),
    ("a > 5 -3", "filter.syntax", "1:7", "not calculated"),
    ("dep-delay > 5", "filter.syntax", "1:5", '"dep-delay"'),
    ("day > 2013-07-01", "filter.syntax", "1:11", "single quotes"),
    ("a in ()", "value.empty_list", "1:7", "at least one value"),
    ("a not in ()", "value.empty_list", "1:11", "at least one value"),
    ("a strong not in ( )", "value.empty_list", "1:19", "at least one value"),
    ("a = 9223372036854775808", "value.integer_range", "1:5", "64 bits"),
    ("a = -9223372036854775809", "value.integer_range", "1:5", "64 bits"),
    ("a in (1,\n " + "9" * 5000 + ")", "value.integer_range", "2:2", "64 bits"),
    ("a < 1e999", "value.number_range", "1:5", "double"),
    ("a = -1e999", "value.number_range", "1:5", "double"),
    ("a between 20 and 10", "range.inverted", "1:18", "exchange them"),
    ("a not between 20 and 10", "range.inverted", "1:22", "exchange them"),
    ("120 < a < 60", "range.inverted", "1:11", "exchange them"),
    ("60 > a > 120", "range.inverted", "1:1", "exchange them"),
    ("5 < a <= 5", "range.inverted", "1:10", "with ="),
    ("a > true", "range.type", "1:5", "boolean"),
    ("a between 1 and 'x'", "range.type", "1:17", "two numbers or two strings"),
    ("(a = 1)^2", "weights.position", "1:8", "where nothing can have one"),
    ("a != 'x'^2", "weights.position", "1:9", "where nothing can have one"),
    ("a not in ('x'^2)", "weights.position", "1:14", "where nothing can have one"),
    ("a not in ('x')^2", "weights.position", "1:15", "where nothing can have one"),
    ("'x'^2 = a", "weights.position", "1:4", "where nothing can have one"),
    ("a = 'x'^2^3", "weights.position", "1:10", "once each"),
    ("a in (1^2, 'y', 1.0^3)", "weights.conflict", "1:21", "listed twice"),
    ("a in ('y', 'x'^1e7)", "weights.range", "1:16", "1,048,576"),
    ("a in ('y', 'x')^1e7", "weights.range", "1:17", "1,048,576"),
    ("a = 'x'^1e10", "weights.range", "1:9", "1,048,576"),
    ("a = 'x'^1e999", "weights.range", "1:9", "inf"),
    ('"\0a" exists', "attribute.name", "1:1", "reserved"),
]


@pytest.mark.parametrize(("text", "code", "place", "said"), REFUSED, ids=[text[:40] for text, *_ in REFUSED])
def test_a_text_is_refused_with_its_reason_and_place(text: str, code: str, place: str, said: str) -> None:
    with pytest.raises(Refused) as caught:
        parse_filter(text)
    line, column = place.split(":")
    assert (caught.value.code, caught.value.path) == (code, f"line {line}, column {column}")
    assert said in caught.value.message


@pytest.mark.parametrize("word", RESERVED)
def test_a_keyword_as_a_name_is_refused_with_the_advice_to_quote_it(word: str) -> None:
    assert parse_filter(f'"{word}" exists') == Exists(word)
    with pytest.raises(Refused) as caught:
        parse_filter(f"a exists and {word} exists")
    assert caught.value.code == "filter.syntax"
    if word not in ("true", "false", "not", "all", "any"):  # these may begin a predicate, so what follows is the fault
        assert f'in double quotes: "{word}"' in caught.value.message


def test_the_reserved_words_are_the_words_of_the_grammar() -> None:
    grammar = (SCHEMAS / "filter.lark").read_text(encoding="utf-8")
    reserved = re.search(r"^NAME: /\(\?!\(\?:([a-z|]+)\)", grammar, re.MULTILINE)
    assert reserved is not None
    assert reserved[1].split("|") == list(RESERVED)
    assert sorted(RESERVED_WORDS.values()) == sorted({*RESERVED} - {"false"})
    assert f"`{' '.join(RESERVED)}`" in PAGE


def test_words_are_written_in_any_case() -> None:
    grammar = (SCHEMAS / "filter.lark").read_text(encoding="utf-8")
    words = {
        *re.findall(r'^_?[A-Z]+: "([a-z]+)"i', grammar, re.MULTILINE),
        "starts",
        "ends",
        "time",
        "or",
        "and",
        "not",
    }
    text = """all(a strong not in (1), not any(a is not null, b is null or c not exists)) and a between 1 and 2
        and a in cidr '::/0' and a contains all of ('x') and a within (true) and a equals (false) and a matches 'x'
        and a starts with 'x' ignore case and a ends with 'x' and a glob 'x' and a ilike 'x' and a like 'x' escape '!'
        and a has none of ('x') and substring(a from 1 for 2) mod 2 = 1 and a version > '1' and a > time '2026-01-01'"""
    assert words <= set(re.findall("[a-z]+", text))
    assert parse_filter(re.sub("[b-z]{2}", lambda found: found[0].upper(), text)) == parse_filter(text)
    assert parse_filter(re.sub(r"\b[a-z]{2,}", lambda found: found[0].upper(), text)) == parse_filter(text)


def test_every_other_word_is_an_attribute_where_an_attribute_stands() -> None:
    grammar = (SCHEMAS / "filter.lark").read_text(encoding="utf-8")
    free = grammar.split("// Not reserved:")[1]
    assert set(re.findall(r"^(\w+)(?:\.2)?: ", free, re.MULTILINE)) - {"_END", "COMMENT", "SPACE"} == FREE_WORDS.keys()
    for phrase in FREE_WORDS.values():
        for word in (*phrase.split(), phrase.split()[0].upper(), "timestamp", "date", "extract", "substring", "year"):
            text = f"{word} = 1 and not {word} contains 'x' and 5 < {word} and {word} {word} exists"
            with pytest.raises(Refused):
                parse_filter(text)  # two names in a row
            tree = parse_filter(text.rsplit(" and ", 1)[0])
            assert tree == And((In(word, (1,)), Not(Contains(word, "x")), Range(word, gt=5)))


@pytest.mark.parametrize("opening", ["(", "not ", "not (", "all(", "any(a exists, ", "(a exists or "])
def test_ten_thousand_levels_are_read_or_refused_as_too_deep(opening: str) -> None:
    text = opening * 10_000 + "a exists" + ")" * (10_000 * opening.count("("))
    if opening == "(":
        assert parse_filter(text) == A
    else:
        with pytest.raises(Refused) as caught:
            parse_filter(text)
        assert caught.value.code == "expression.too_deep"
        assert caught.value.path.startswith("line 1, column ")


def test_ten_thousand_open_parentheses_are_refused_at_the_end() -> None:
    with pytest.raises(Refused) as caught:
        parse_filter("(" * 10_000)
    assert (caught.value.code, caught.value.path) == ("filter.syntax", "line 1, column 10001")


@pytest.mark.parametrize("sign", [*'(!=",/`^*[', "a ", "1,", "--\n(", "'x' "])
def test_a_megabyte_of_signs_is_refused_before_it_is_parsed(sign: str) -> None:
    with pytest.raises(Refused) as caught:
        parse_filter(sign * (2**20 // len(sign)))
    assert caught.value.code == "filter.too_long"


@pytest.mark.parametrize("start", ["", "a ", "a = ", "a = '"])
@pytest.mark.parametrize("piece", ["a", "a.", ".", "''", "-- ", "/* ", "\n", "time", " "])
def test_a_megabyte_of_few_words_is_refused_where_it_stops_being_a_filter(start: str, piece: str) -> None:
    if (start, piece) != ("a = ", "''"):  # a string of quotes
        with pytest.raises(Refused) as caught:
            parse_filter(start + piece * (2**20 // len(piece)))
        assert caught.value.code in ("filter.syntax", "filter.empty")


def test_a_filter_has_at_most_so_many_words_values_and_signs() -> None:
    text = "a in (1,2 /* , 3 */, 'it is' -- (\n\n, 4)"
    tree = parse_filter(text)
    assert parse_filter(text, tokens=11) == tree
    with pytest.raises(Refused, match=r"more than 10 words.*limits\.filter_tokens") as caught:
        parse_filter(text, tokens=10)
    assert (caught.value.code, caught.value.path) == ("filter.too_long", "line 3, column 4")


@pytest.mark.parametrize(("connective", "node"), [("or", Or), ("and", And)])
def test_a_chain_of_five_thousand_is_one_node(connective: str, node: type[And | Or]) -> None:
    tree = node(tuple(In("a", (i,)) for i in range(5000)))
    assert parse_filter(f" {connective} ".join(f"a = {i}" for i in range(5000))) == tree
    assert parse_filter(format_filter(tree)) == tree
