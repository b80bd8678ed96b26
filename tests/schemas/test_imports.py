"""Filters of other systems: what each becomes, which events it matches, and that nothing unknown widens a match."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from index import oracle
from schemas.errors import Refused
from schemas.filter_text import format_filter
from schemas.imports.bool_queries import from_bool_query
from schemas.imports.event_patterns import from_event_pattern
from schemas.json_codec import decode_event

EVENT_PATTERNS: list[tuple[Any, str, list[Any], list[Any]]] = [
    ({"a": ["x", 5, True]}, "a in ('x', 5, true)", [{"a": 5.0}, {"a": ["y", "x"]}], [{"a": "5"}, {}]),
    ({"a": {"b": ["x"]}, "c": [1]}, "a.b = 'x' and c = 1", [{"a": {"b": "x"}, "c": 1}], [{"a": {"b": "x"}}]),
    ({"a": ["x", None]}, "a = 'x' or a not exists", [{"a": "x"}, {"a": None}, {}], [{"a": "y"}]),
    ({"a": [{"prefix": "x"}]}, "a starts with 'x'", [{"a": "xy"}], [{"a": "yx"}]),
    (
        {"a": [{"prefix": {"equals-ignore-case": "x"}}, {"suffix": {"equals-ignore-case": "Y"}}, {"suffix": "z"}]},
        "a starts with 'x' ignore case or a ends with 'Y' ignore case or a ends with 'z'",
        [{"a": "Xa"}, {"a": "ay"}, {"a": "z"}],
        [{"a": "aZ"}],
    ),
    ({"a": [{"equals-ignore-case": "X*"}]}, r"a glob 'X\*' ignore case", [{"a": "x*"}], [{"a": "xy"}]),
    ({"a": [{"wildcard": r"x*[?\*"}]}, r"a glob 'x*\[\?\*'", [{"a": "xyz[?*"}], [{"a": "x[aa"}, {"a": "x[?b"}]),
    ({"a": [{"numeric": [">", 0, "<=", 5]}]}, "0 < a <= 5", [{"a": 5}], [{"a": 0}, {"a": "3"}]),
    ({"a": [{"numeric": ["=", 5]}]}, "a = 5", [{"a": 5}], [{"a": 6}]),
    ({"a": {"b": {"c": ["x"]}}}, "a.b.c = 'x'", [{"a": {"b": {"c": "x"}}}], [{"b": {"c": "x"}}, {"c": "x"}]),
    ({"a": [{"exists": False}], "b": [{"exists": True}]}, "a not exists and b exists", [{"b": 0}], [{"a": 1, "b": 1}]),
    ({"a": [{"cidr": "10.0.0.0/8"}]}, "a in cidr '10.0.0.0/8'", [{"a": "10.1.1.1"}], [{"a": "11.1.1.1"}]),
    (
        {"a": [{"anything-but": ["x", 5]}]},
        "a strong not in ('x', 5)",
        [{"a": "y"}, {"a": ["y", 6]}],
        [{"a": "x"}, {"a": ["x", "y"]}, {"a": [5, "x"]}, {}],
    ),
    ({"a": [{"anything-but": "x"}]}, "a strong != 'x'", [{"a": "y"}], [{"a": "x"}, {"a": ["x", "y"]}, {}]),
    (
        {"a": [{"anything-but": {"prefix": ["x", "y"]}}]},
        "a exists and not a starts with 'x' and not a starts with 'y'",
        [{"a": "z"}, {"a": 5}, {"a": ["z", 5]}],
        [{"a": "ya"}, {"a": ["ya", "z"]}, {}],
    ),
    (
        {"s": ["x"], "$or": [{"a": [1]}, {"b": {"c": [2]}}]},
        "s = 'x' and (a = 1 or b.c = 2)",
        [{"s": "x", "b": {"c": 2}}],
        [{"s": "x", "a": 2}],
    ),
    ({"d": {"$or": [{"a": [1]}, {"b": [2]}]}}, "d.a = 1 or d.b = 2", [{"d": {"b": 2}}], [{"a": 1}]),
]

BOOL_QUERIES: list[tuple[Any, str, list[Any], list[Any]]] = [
    ({"term": {"a": "x"}}, "a = 'x'", [{"a": ["y", "x"]}], [{"a": "X"}]),
    ({"term": {"boost": {"value": 5, "boost": 2}}}, "boost = 5^2", [{"boost": 5}], [{"boost": 6}]),
    (
        {"term": {"a": {"value": "X?", "case_insensitive": True}}},
        r"a glob 'X\?' ignore case",
        [{"a": "x?"}],
        [{"a": "xy"}],
    ),
    ({"terms": {"a": [1, "x"], "boost": 0.5}}, "a in (1^0.5, 'x'^0.5)", [{"a": 1}], [{"a": 2}]),
    ({"terms": {"a": []}}, "false", [], [{"a": 1}]),
    ({"range": {"a": {"gt": 1, "lte": 5}}}, "1 < a <= 5", [{"a": 5}], [{"a": 1}]),
    (
        {"range": {"a": {"gte": "2026-05-01", "lte": "2026-05-02"}}},
        "a between time '2026-05-01' and time '2026-05-02T23:59:59.999999Z'",
        [{"a": "2026-05-02T23:00:00Z"}],
        [{"a": "2026-05-03T00:00:00Z"}],
    ),
    (
        {"range": {"a": {"gt": "2026-05-01", "lt": "2026-06-01T12:00:00"}}},
        "time '2026-05-01T23:59:59.999999Z' < a < time '2026-06-01T12:00:00Z'",
        [{"a": "2026-05-02T00:00:00Z"}],
        [{"a": "2026-05-01T23:00:00Z"}],
    ),
    ({"range": {"a": {"gte": "m"}}}, "a >= 'm'", [{"a": "n"}], [{"a": "l"}]),
    ({"exists": {"field": "a"}}, "a exists", [{"a": ""}], [{}]),
    ({"prefix": {"a": {"value": "x", "case_insensitive": True}}}, "a starts with 'x' ignore case", [{"a": "Xy"}], []),
    ({"wildcard": {"a": {"value": r"x*[\?"}}}, r"a glob 'x*\[\?'", [{"a": "xy[?"}], [{"a": "xy[z"}]),
    ({"regexp": {"a": "x|y+"}}, "a matches '(?s:x|y+)'", [{"a": "yy"}], [{"a": "xy"}]),
    ({"match": {"a": "Spark kafka"}}, "a has any ('spark', 'kafka')", [{"a": "on Kafka"}], [{"a": "sparks"}]),
    (
        {"match": {"a": {"query": "Spark kafka", "operator": "AND", "boost": 2}}},
        "a has all ('spark'^2, 'kafka'^2)",
        [{"a": "kafka, Spark"}],
        [{"a": "spark"}],
    ),
    ({"query": {"match_all": {}}}, "true", [{}], []),
    ({"match_none": {}}, "false", [], [{}]),
    (
        {"bool": {"must": {"term": {"a": 1}}, "filter": [{"term": {"b": 2}}], "must_not": [{"term": {"c": 3}}]}},
        "a = 1 and not not b = 2 and not c = 3",
        [{"a": 1, "b": 2}],
        [{"a": 1}, {"a": 1, "b": 2, "c": 3}],
    ),
    ({"bool": {"should": [{"term": {"a": 1}}, {"term": {"b": 2}}]}}, "a = 1 or b = 2", [{"b": 2}], [{}]),
    (
        {"bool": {"must": [{"term": {"c": 3}}], "should": [{"term": {"a": 1}}, {"term": {"b": 2}}]}},
        "c = 3 and (true or a = 1 or b = 2)",
        [{"c": 3}],
        [{"a": 1}],
    ),
    (
        {"bool": {"should": [{"term": {"a": 1}}, {"term": {"b": 2}}], "minimum_should_match": 2}},
        "a = 1 and b = 2",
        [{"a": 1, "b": 2}],
        [{"a": 1}],
    ),
    (
        {"bool": {"should": [{"term": {"a": 1}}, {"term": {"b": 2}}], "minimum_should_match": "1"}},
        "a = 1 or b = 2",
        [{"a": 1}],
        [{}],
    ),
    ({"bool": {"must": [], "should": [{"term": {"a": 1}}]}}, "a = 1", [{"a": 1}], [{}]),
    ({"bool": {"filter": [], "must": [], "should": {"term": {"a": 1}}}}, "a = 1", [{"a": 1}], [{}]),
    ({"bool": {"should": [{"term": {"a": 1}}], "minimum_should_match": 0}}, "a = 1", [{"a": 1}], [{}]),
    (
        {"bool": {"must_not": [{"term": {"b": 1}}], "should": [{"term": {"a": 1}}]}},
        "not b = 1 and a = 1",
        [{"a": 1}],
        [{}, {"a": 1, "b": 1}],
    ),
    (
        {"bool": {"filter": {"term": {"b": 1}}, "should": {"term": {"a": 1}}}},
        "not not b = 1 and (true or a = 1)",
        [{"b": 1}, {"a": 1, "b": 1}],
        [{"a": 1}],
    ),
    ({"range": {"a": {"gte": "2026-05-01", "lt": "b"}}}, "'2026-05-01' <= a < 'b'", [{"a": "a"}], [{"a": "c"}]),
    ({"match": {"a": "!!"}}, "false", [], [{"a": "!!"}]),
    ({"bool": {"filter": [{"term": {"b": 1}}], "should": []}}, "not not b = 1", [{"b": 1}], [{}]),
    ({"bool": {"must": [], "should": [], "minimum_should_match": 0}}, "true", [{}], []),
    ({"bool": {}}, "true", [{}], []),
    ({"regexp": {"a": "^ab$"}}, r"a matches '(?s:\^ab\$)'", [{"a": "^ab$"}], [{"a": "ab"}]),
    ({"regexp": {"a": r"[^a^$\d-]x{2,3}"}}, r"a matches '(?s:[^a\^\$\d\-]x{2,3})'", [{"a": "bxx"}], [{"a": "-xx"}]),
    ({"regexp": {"a": r"\_\~\7\[\]]\}}"}}, r"a matches '(?s:_~7\[\]\]\}\})'", [{"a": "_~7[]]}}"}], [{"a": "7"}]),
    (
        {"regexp": {"a": r"(a|())[\[:~\]]."}},
        r"a matches '(?s:(a|())[\[:~\]].)'",
        [{"a": "a]\n"}, {"a": ":x"}],
        [{"a": "ab"}],
    ),
    (
        {"regexp": {"a": r"\s[\S]"}},
        r"a matches '(?s:[ \t\n\r][\x00-\x08\x0B\x0C\x0E-\x1F!-\x{10FFFF}])'",
        [{"a": " \f"}, {"a": "\tx"}],
        [{"a": "\fx"}, {"a": "  "}],
    ),
    (
        {"regexp": {"a": {"value": "a+b", "case_insensitive": True}}},
        "a matches '(?i)(?s:a+b)'",
        [{"a": "AAB"}],
        [{"a": "b"}],
    ),
]


@pytest.mark.parametrize(
    ("kind", "foreign", "text", "met", "missed"),
    [
        *(pytest.param(from_event_pattern, *case, id=case[1]) for case in EVENT_PATTERNS),
        *(pytest.param(from_bool_query, *case, id=case[1]) for case in BOOL_QUERIES),
    ],
)
def test_a_foreign_filter_becomes(kind: Any, foreign: Any, text: str, met: list[Any], missed: list[Any]) -> None:
    tree = kind(foreign)
    assert format_filter(tree) == text
    for event in met + missed:
        assert oracle.matches(tree, decode_event(json.dumps(event).encode())) == (event in met), event


def test_what_only_filters_does_not_score() -> None:
    query = {"bool": {"must": [{"term": {"a": 1}}], "filter": [{"term": {"b": 2}}]}}
    assert oracle.as_score(oracle.score(from_bool_query(query), decode_event(b'{"a": 1, "b": 2}'))) == 1


def test_the_page_says_what_comes_out() -> None:
    page = (Path(__file__).parents[2] / "docs" / "filters.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    said = re.findall(r"^(format_filter\(.*\))  # (.*)$", block, re.MULTILINE)
    names: dict[str, Any] = {}
    exec(block, names)
    assert [eval(call, names) for call, _ in said] == [text for _, text in said]
    assert len(said) == 2


NO_LEAST: list[tuple[Any, dict[str, Any]]] = [
    *(("garbage", {}), ("-1", {}), ("9" * 5000, {}), (1, {"must": {"match_all": {}}}), (None, {}), (-1, {})),
    *(("0000000001", {"should": {"match_all": {}}}), ("1\n", {"should": {"match_all": {}}})),
    *((True, {"should": {"match_all": {}}}), (1.0, {"should": {"match_all": {}}}), ([1], {})),
]
"""Numbers of branches that no bool query with these clauses can ask for."""

REFUSED: list[tuple[Any, Any, str, str]] = [
    (from_event_pattern, {}, "$", "empty"),
    (from_event_pattern, {"a": {}}, "$.a", "empty"),
    (from_event_pattern, {"a": []}, "$.a", "empty"),
    (from_event_pattern, {"$not": {"a": ["x"]}}, "$.$not", "known is $or"),
    (from_event_pattern, {"$or": {"a": ["x"]}}, "$.$or", "a list of patterns"),
    (from_event_pattern, {"$or": []}, "$.$or", "empty"),
    (from_event_pattern, [], "$", "an object was expected"),
    (from_event_pattern, {"a": "x"}, "$.a", "in a list, but 'x' stands alone"),
    (from_event_pattern, {"a": ["x", {"prefiks": "x"}]}, "$.a[1]", "prefix"),
    (from_event_pattern, {"a": [{"prefix": "x", "suffix": "y"}]}, "$.a[0]", "one member"),
    (from_event_pattern, {"a": [{"prefix": {"ignore-case": "x"}}]}, "$.a[0].prefix", "equals-ignore-case"),
    (from_event_pattern, {"a": [{"numeric": [">", "5"]}]}, "$.a[0].numeric", "a number was expected"),
    (from_event_pattern, {"a": [{"numeric": [[], 5]}]}, "$.a[0].numeric", "a string was expected"),
    (from_event_pattern, {"a": [{"numeric": [">", 5, ">", 6]}]}, "$.a[0].numeric", "second"),
    (from_event_pattern, {"a": [{"numeric": ["=", 5, "<", 9]}]}, "$.a[0].numeric", "'=' is no sign here"),
    (from_event_pattern, {"a": [{"numeric": [">", 5, "=", 9]}]}, "$.a[0].numeric", "'=' is no sign here"),
    (from_event_pattern, {"a": [{"exists": 1}]}, "$.a[0].exists", "true or false"),
    (from_event_pattern, {"a": [{"anything-but": {}}]}, "$.a[0].anything-but", "empty"),
    (from_event_pattern, {"a": [{"anything-but": {"numeric": 5}}]}, "$.a[0].anything-but", "numeric"),
    (from_event_pattern, {"a": [["x"]]}, "$.a[0]", "an object was expected"),
    (from_bool_query, {}, "$", "one member"),
    (from_bool_query, {"fuzzy": {"a": "x"}}, "$.fuzzy", "fuzzy"),
    (from_bool_query, {"query": {"term": {"a": "x", "b": "y"}}}, "$.query.term", "one field"),
    (from_bool_query, {"term": {"a": {"value": 1, "boots": 2}}}, "$.term.a", "boots"),
    (from_bool_query, {"term": {"a": {"value": 1, "boost": "x"}}}, "$.term.a", "a number was expected"),
    (from_bool_query, {"terms": {"a": "x"}}, "$.terms.a", "list"),
    (from_bool_query, {"range": {"a": {"gte": "2026-05-01||/M"}}}, "$.range.a", "write them out"),
    (from_bool_query, {"bool": {"must": [{"terms": {"a": [[]]}}]}}, "$.bool.must[0].terms.a", "true or false"),
    (from_bool_query, {"bool": {"shoud": []}}, "$.bool", "should"),
    (
        from_bool_query,
        {"bool": {"should": [{"bool": {}}], "minimum_should_match": "75%"}},
        "$.bool",
        "number of branches",
    ),
    (from_bool_query, {"range": {"a": {"gte": "now-1d"}}}, "$.range.a", "the present"),
    (from_bool_query, {"range": {"a": {"from": 1}}}, "$.range.a", "gte"),
    *(
        (from_bool_query, {"regexp": {"a": pattern}}, "$.regexp.a", "Lucene")
        for pattern in (
            "x~y",
            r"\\~y",
            "a&b",
            "#",
            "@",
            '"a"',
            "<1-9>",
            "a{,2}",
            "a{x}",
            "[]a]",
            "[^]",
            "[a-]",
            r"[\n]",
            r"\b",
            "a\\",
        )
    ),
    *(
        (from_bool_query, {"regexp": {"a": pattern}}, "$.regexp.a", "nothing that it could be about")
        for pattern in ("*a", "(?i)a", "a|*", "a*?", "a++", "a{2}{3}", "|a", "(|a)", "a||b", "(a|)")
    ),
    (from_bool_query, {"regexp": {"a": "a|"}}, "$.regexp.a", "ends with |"),
    (from_bool_query, {"exists": {}}, "$.exists", "a string was expected"),
    (from_bool_query, {"exists": {"field": "a", "boost": 3}}, "$.exists", "boost"),
    (from_bool_query, {"match_all": {"x": 1}}, "$.match_all", "leave it out"),
    (from_bool_query, {"match_all": []}, "$.match_all", "an object was expected"),
    (from_bool_query, {"match_none": {"boost": 1}}, "$.match_none", "boost"),
    *(
        (from_bool_query, {"bool": {"minimum_should_match": least, **clauses}}, "$.bool", "number of branches")
        for least, clauses in NO_LEAST
    ),
    *(
        (from_bool_query, {"match": {"a": {"query": "x", "operator": operator}}}, "$.match.a", said)
        for operator, said in (("xor", "and or or"), ("", "and or or"), (None, "a string"), (1, "a string"))
    ),
    (from_bool_query, {"match": {"a": {"query": "", "operator": "xor"}}}, "$.match.a", "and or or"),
    (from_bool_query, {"match": {"a": {"query": "x", "value": "y"}}}, "$.match.a", "value"),
    (from_bool_query, {"wildcard": {"a": {"value": "x", "wildcard": "y"}}}, "$.wildcard.a", "keep one"),
    (from_bool_query, {"prefix": {"a": {"value": "x", "case_insensitive": "false"}}}, "$.prefix.a", "true or false"),
    (
        from_bool_query,
        {"term": {"a": {"value": "x", "case_insensitive": True, "boost": 2}}},
        "$.term.a",
        "leave one of the two out",
    ),
    (from_bool_query, {"term": {"a": {"value": 1, "boost": True}}}, "$.term.a", "a number was expected"),
    (from_bool_query, {"terms": {"a": [1], "boost": None}}, "$.terms.a", "a number was expected"),
    (from_event_pattern, {"a": [{"numeric": ["=", True]}]}, "$.a[0].numeric", "a number was expected"),
    (from_event_pattern, {"a": [{"anything-but": {"prefix": [], "suffix": "x"}}]}, "$.a[0].anything-but", "empty"),
    (from_event_pattern, {"a": [{"wildcard": r"x\y"}]}, "$.a[0].wildcard", "backslash"),
    (from_event_pattern, {"a": [{"wildcard": "x\\"}]}, "$.a[0].wildcard", "backslash"),
]


@pytest.mark.parametrize(("kind", "foreign", "path", "said"), REFUSED, ids=[str(case[1])[:60] for case in REFUSED])
def test_what_has_no_counterpart_is_refused_with_its_path(kind: Any, foreign: Any, path: str, said: str) -> None:
    with pytest.raises(Refused) as caught:
        kind(foreign)
    assert (caught.value.code, caught.value.path) == ("import.unsupported", path)
    assert said in caught.value.message
