"""The package's map tells the whole truth: its table of reason codes and its list of files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import index
import schemas

PACKAGE = Path(schemas.__file__).parent
MAP = (PACKAGE / "README.md").read_text(encoding="utf-8")
FILES = {file.name for file in PACKAGE.iterdir() if file.suffix in (".py", ".avsc", ".lark")} - {"__init__.py"}
LISTED = re.findall(r"^\| `([a-z]+\.[a-z0-9_]+)` \|", MAP.split("## Reason codes")[1], re.MULTILINE)
FAMILIES = {code.split(".")[0] for code in LISTED}


def codes_in(source: str) -> Iterator[str]:
    """Yield the strings of a module that are codes: a family's name, a dot, a word.

    An f-string that begins with a name, such as ``{kind}.json``, stands for both kinds of record.
    """
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Constant(str() as text) if re.fullmatch(r"[a-z]+\.[a-z0-9_]+", text):
                if text.split(".")[0] in FAMILIES and text not in FILES:
                    yield text
            case ast.Call(ast.Name("Refused"), [ast.Constant(str() as text), *_]):
                yield text
            case ast.Call(
                ast.Name("Refused"), [ast.JoinedStr([ast.FormattedValue(), ast.Constant(str() as rest)]), *_]
            ):
                yield from (f"event{rest}", f"subscription{rest}")


def test_the_map_lists_exactly_the_codes_that_are_raised() -> None:
    assert len(LISTED) == len(set(LISTED))
    files = [*PACKAGE.rglob("*.py"), *Path(index.__file__).parent.rglob("*.py")]
    raised = {code for file in files for code in codes_in(file.read_text(encoding="utf-8"))}
    assert raised == set(LISTED)


def test_the_map_names_every_file() -> None:
    assert {name for name in FILES if f"`{name}`" not in MAP} == set()
