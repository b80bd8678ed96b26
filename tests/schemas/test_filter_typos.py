"""What is proposed to a person who mistypes a filter, or writes one of another language."""

from __future__ import annotations

import pytest

from schemas.errors import Refused
from schemas.filter_operands import OPERATORS
from schemas.filter_text import parse_filter
from schemas.filter_words import example_of

MISSPELT = [
    ("nto x = 1", 1, "not"),
    ("nott (x = 1)", 1, "not"),
    ("no x = 1", 1, "not"),
    ("x = 1 and nott y = 2", 11, "not"),
    ("x = 1 or nto y.z = 1", 10, "not"),
    ("x = 1 annd y = 2", 7, "and"),
    ("x = 1 ORR y = 2", 7, "or"),
    ("al(x = 1, y = 2)", 1, "all"),
    ("anyy (x = 1, y = 2)", 1, "any"),
    ("tru", 1, "true"),
    ("x = 1 or (fals and y = 2)", 11, "false"),
    ("x = tru", 5, "true"),
    ("x in (1, flase)", 10, "false"),
    ("x is tru", 6, "true"),
    ("x is not fals", 10, "false"),
    ("x is nul", 6, "null"),
    ("x is nott null", 6, "not"),
    ("x has al ('a')", 7, "all"),
    ("x has alll ('a')", 7, "all"),
    ("x has anny of ('a')", 7, "any"),
    ("x not has non ('a')", 11, "none"),
    ("x has al 'a'", 7, "all"),
    ("x has any off ('a')", 11, "of"),
    ("x hass any ('a')", 3, "has"),
    ("x contains al ('a')", 12, "all"),
    ("x contians 'a'", 3, "contains"),
    ("x starts wth 'a'", 10, "with"),
    ("x endswit 'a'", 3, "ends with"),
    ("x liek 'a'", 3, "like"),
    ("x like 'a' escap '!'", 12, "escape"),
    ("x like 'a' ignore cas", 19, "case"),
    ("x in cdir '10.0.0.0/8'", 6, "cidr"),
    ("x stron not in ('a')", 3, "strong"),
    ("x strong nt in ('a')", 10, "not"),
    ("x not bewteen 1 and 2", 7, "between"),
    ("x between 1 an 2", 13, "and"),
    ("x verion > '1'", 3, "version"),
    ("x mo 2 = 1", 3, "mod"),
    ("x > tme '2026-05-01'", 5, "time"),
    ("x between time '2026-05-01' and tiem '2026-05-02'", 33, "time"),
    ("tme '2026-05-01' < x", 1, "time"),
    ("extract(yeer from x) = 1", 9, "year"),
    ("extrct(year from x) = 1", 1, "extract"),
    ("substring(x form 1) = 'a'", 13, "from"),
    ("lowe(x) = 'a'", 1, "lower"),
]
FOREIGN = [
    ("x version ge '1'", 11, ">="),
    ("x version eq '1'", 11, "="),
    ("5 lt x", 3, "<"),
    ("x greater than 5", 3, ">"),
    ("x > datetime '2026-05-01'", 5, "time"),
    ("x has every ('a')", 7, "all"),
    ("x has one of ('a')", 7, "any"),
    ("x has no ('a')", 7, "none"),
    ("x within cidr '10.0.0.0/8'", 10, "in cidr"),
    ("x null", 3, "is null"),
    ("x not null", 7, "is not null"),
    ("x isnt null", 3, "is not null"),
    ("x is missing", 6, "is null"),
    ("x is unknown", 6, "is null"),
    ("x is not missing", 10, "is not null"),
    ("x is notnull", 6, "is not null"),
    ("x is present", 6, "is not null"),
    ("x is not defined", 10, "is null"),
    ("x ~* 'a'", 3, "matches"),
    ("x !~* 'a'", 3, "not matches"),
    ("x ~~* 'a'", 3, "ilike"),
    ("x !~~ 'a'", 3, "not like"),
    ("x <=> 5", 3, "="),
    ("x << '10.0.0.0/8'", 3, "in cidr"),
    ("x:'a'", 2, "="),
]
CURED = [
    ("x is empty", 6, "is null asks about an absent attribute, = '' about an empty text"),
    ("x is not empty", 10, "!= ''"),
    ("x is 'a'", 6, 'compared with "="'),
    ("x is not 5", 10, 'compared with "!="'),
    ("x is equal to 5", 6, 'compared with "="'),
    ("x is distinct from 5", 6, 'compared with "!="'),
    ("x is not distinct from 5", 10, 'compared with "="'),
    ("x is in ('a')", 6, 'leave it out before "in"'),
    ("x is not like 'a'", 10, 'leave it out before "like"'),
    ("x is > 5", 6, 'leave it out before ">"'),
    ("x div 2 = 1", 3, "floor(x / n)"),
    ("x = 1 xor y = 2", 7, "(x and not y) or (y and not x)"),
    ("x = 5 mod 2", 7, "not calculated"),
    ("x contains none ('a')", 12, "all and a list"),
    ("x > interval '1 day'", 5, 'only "time" can; leave it out'),
    ("x = date('2026-05-01')", 5, "without parentheses"),
    ("x between 1 to 2", 13, "two bounds joined by and"),
    ("x between 1, 2", 12, "two bounds joined by and"),
    ("x = any ('a', 'b')", 5, "listed with in"),
    ("x = 'a' or 'b'", 12, "listed with in"),
    ("x = 1, y = 2", 6, "join its predicates with and or or"),
    ("x = 1 && && y = 2", 10, "joins two predicates"),
    ("cast(x as int) = 1", 1, "types are never converted"),
    ("coalesce(x, 1) = 1", 1, "name is null"),
    ("date(x) = '2026-05-01'", 1, "created >= time '2026-05-01'"),
    ("where x = 1", 1, 'leave out "where"'),
    ("where (x = 1)", 1, "the condition alone"),
    ("select * from t where x = 1", 1, "what SQL has after where"),
    ("2fa = 1", 1, 'in double quotes, "2fa"'),
    ("x = 1 and not 3d exists", 15, 'in double quotes, "3d"'),
    ("@x = 1", 1, 'in double quotes: "@x"'),
    ("$.x.y = 1", 1, 'in double quotes: "$.x.y"'),
    (".x = 1", 1, 'in double quotes: ".x"'),
    ("12h < x", 1, "a version, date or code in single"),
    ("x = cidr '10.0.0.0/8'", 5, "asked with in cidr"),
    ("x not version > '1'", 15, "write not before the attribute"),
    ("x not version = '1'", 15, "write version !="),
    ("round(x, 2) = 1", 10, "there is 1 argument where none is wanted"),
    ("x = 1 nand y = 2", 7, "write not (x and y)"),
    ("x = 1 nor y = 2", 7, "write not (x or y)"),
    ("x ~ 'a'", 3, "wants the whole value to fit"),
    ("x !~* 'a'", 3, "(?i) at its beginning"),
    ("x includes 'a'", 3, 'a whole value is asked for with "="'),
    ("_exists_:x", 1, '"exists" stands after the attribute'),
    ("y = 1 and _missing_:x", 11, '"not exists" stands after the attribute'),
    ("x:*", 2, "asked with exists"),
    ("x:(a or b)", 2, "listed with in"),
    ("x:[1 to 5]", 2, "between 20 and 60"),
    ("x:>5", 2, "delay > 60"),
    ("x:a*", 2, "follows glob"),
    ("x:/a/", 2, "follows matches"),
    ("x = ?", 5, "has no parameters"),
    ("x > $1", 5, "has no parameters"),
    ("x in (@y)", 7, "has no parameters"),
    ("x[0] = 1", 2, "written with a dot, as in geo.lat"),
    ("x->>'y' = 1", 2, "written with a dot, as in geo.lat"),
    ("[x y] = 1", 1, "in double quotes"),
    ('{"x": [1]}', 1, "the member expression"),
    ("'a' in x", 1, "tags = 'late'"),
    ("'a' not in x", 1, "tags != 'late'"),
    ("x contains 'a' or 'b'", 19, "repeated with their attribute"),
    ("is_null(x)", 1, "as in name is null"),
    ("contains_all(x, 'a')", 1, "as in name contains all ('x', 'y')"),
    ("in_cidr(x, '10.0.0.0/8')", 1, "as in name in cidr '10.0.0.0/8'"),
    ("version(x) > '1'", 1, "as in name version >= '1.2'"),
    ("rlike(x, 'a')", 1, "as in name matches 'x', which wants the whole value to fit"),
    ("x.startswith('a')", 1, "as in name starts with 'x'"),
    ("x > version '1.2'", 5, "build version >= '1.10.2'"),
    ("x > time 2026-05-01", 5, "stands in single quotes"),
    ("x equals 'a'", 10, 'asked with "="'),
    ("x does not contain 'a'", 3, "name not contains 'x'"),
    ("x doesn't contain 'a'", 3, "name not contains 'x'"),
    ("x > 5 and < 9", 11, "write it once more, or 60 < delay <= 120"),
    ("x = 5 or = 9", 10, "write it once more"),
    ("count(*) > 5", 1, 'no function "count"'),
    ("x = 1 order by y", 7, 'leave out what begins with "order"'),
]


@pytest.mark.parametrize(("text", "column", "wanted"), MISSPELT + FOREIGN)
def test_what_was_meant_is_proposed_where_it_was_mistyped(text: str, column: int, wanted: str) -> None:
    with pytest.raises(Refused) as caught:
        parse_filter(text)
    assert caught.value.path == f"line 1, column {column}"
    assert f'did you mean "{wanted}"' in caught.value.message


@pytest.mark.parametrize(("text", "column", "said"), CURED)
def test_what_has_no_one_counterpart_is_answered_with_what_to_write_instead(text: str, column: int, said: str) -> None:
    with pytest.raises(Refused) as caught:
        parse_filter(text)
    assert caught.value.path == f"line 1, column {column}"
    assert said in caught.value.message


@pytest.mark.parametrize("operator", sorted({*OPERATORS.values()}))
def test_the_example_of_an_operator_that_was_taken_for_a_function_is_a_filter(operator: str) -> None:
    parse_filter(example_of(operator))
