"""The frame: imports point down, and what the documents and help texts tell a user to type exists and is accepted."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.core import TyperGroup

from schemas.check import Limits
from schemas.json_codec import decode_event, decode_subscription
from stream.command_table import app

ROOT = Path(__file__).parent.parent
GROUP: Any = typer.main.get_command(app)
PAGES = sorted(
    page
    for folder in (".", "docs", "deploy", "stream", "index", "schemas", "benchmarks")
    for page in (ROOT / folder).glob("*.md")
)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_imports_point_down_and_never_round() -> None:
    result = subprocess.run(
        [Path(sys.executable).with_name("lint-imports")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout
    assert "2 kept, 0 broken" in result.stdout


def blocks(page: Path, *languages: str) -> Iterator[str]:
    """Yield the fenced blocks of a page in one of the languages; "" stands for none."""
    for language, text in re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        if language in languages:
            yield text


def lines(page: Path) -> Iterator[str]:
    for block in blocks(page, "", "sh", "bash", "console"):
        yield from block.splitlines()


def commands(text: str) -> Iterator[list[str]]:
    """Yield the arguments of each call of tocsin in a line of shell, whichever place of a pipe it has."""
    words = shlex.split(text, comments=True)
    for start in (i for i, word in enumerate(words) if word == "tocsin"):
        if start and words[start - 1] not in ("|", "&&", ";"):
            continue
        ends = (i for i in range(start, len(words)) if words[i] in ("|", ">", "&&", ";"))
        yield words[start + 1 : next(ends, len(words))]


def parse(arguments: list[str]) -> tuple[str, dict[str, Any]]:
    """Parse a command line as the program does, without running it."""
    context, command, names, rest = None, GROUP, ["tocsin"], list(arguments)
    while isinstance(command, TyperGroup):
        context = command.make_context(names[-1], rest, parent=context)
        name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        assert name is not None
        names.append(name)
    return names[1], command.make_context(names[-1], rest, parent=context).params


def shown_in_pages() -> Iterator[Any]:
    for page in PAGES:
        for line in lines(page):
            if re.match(r"\s*(tocsin |echo .*\| tocsin )", line):
                for arguments in commands(line):
                    yield pytest.param(arguments, id=f"{page.relative_to(ROOT)}: {shlex.join(arguments)[:60]}")


def shown_in_help() -> Iterator[Any]:
    for name, command in GROUP.commands.items():
        for line in command.epilog.split("\n\n")[1:]:
            for arguments in commands(line):
                yield pytest.param(arguments, id=f"{name} --help: {shlex.join(arguments)[:60]}")


@pytest.mark.parametrize("arguments", [*shown_in_pages(), *shown_in_help()])
def test_each_command_that_is_shown_is_accepted(arguments: list[str]) -> None:
    name, options = parse(arguments)
    text = options.get("filter_")
    if text is not None and not text.startswith("@"):
        decode_subscription(name, json.dumps({"filter": text}).encode(), Limits())


def test_pages_show_every_command() -> None:
    everywhere = "\n".join(page.read_text() for page in PAGES)
    assert [name for name in GROUP.commands if f"tocsin {name}" not in everywhere] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_make_target_that_a_page_names_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {line.split()[1] for line in lines(page) if line.startswith("make ")}
    named |= set(re.findall(r"`make ([a-z]+)", page.read_text()))
    assert named <= targets


def test_no_file_of_its_name_keeps_a_make_target_from_being_made() -> None:
    text = (ROOT / "Makefile").read_text()
    (phony,) = re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert set(phony.split()) == set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_link_of_a_page_leads_to_a_file(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_records_in_the_documents_are_accepted() -> None:
    """JSON blocks are events, subscriptions or notifications; kcat lines are subscriptions by id."""
    seen = 0
    for page in (ROOT / "README.md", ROOT / "docs" / "guide.md"):
        for block in blocks(page, "json"):
            members = json.loads(block)
            if "expression" in members or "filter" in members:
                decode_subscription("example", block.encode(), Limits())
            elif "subscription" not in members:
                decode_event(block.encode(), None, Limits())
            seen += 1
        for id_, value in re.findall(r"^([\w-]+)\|(\{.*\})$", page.read_text(), re.MULTILINE):
            decode_subscription(id_, value.encode(), Limits())
            seen += 1
        for event in re.findall(r"^echo '(\{.*?\})'", page.read_text(), re.MULTILINE):
            decode_event(event.encode(), None, Limits())
            seen += 1
    assert seen >= 8


def test_the_distribution_holds_every_package_of_the_three_rooms() -> None:
    from setuptools import find_packages

    found = set(find_packages(str(ROOT), include=PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]))
    folders = {
        ".".join(init.parent.relative_to(ROOT).parts)
        for room in ("schemas", "index", "stream")
        for init in (ROOT / room).rglob("__init__.py")
    }
    assert found == folders


def test_data_files_of_the_packages_are_part_of_the_distribution() -> None:
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["*"]
    data = [
        file
        for room in ("schemas", "index", "stream")
        for file in (ROOT / room).rglob("*")
        if file.is_file() and file.suffix not in (".py", ".md") and file.parent.name != "__pycache__"
    ]
    assert data
    assert [str(file.relative_to(ROOT)) for file in data if not any(file.match(p) for p in patterns)] == []


def test_every_requirement_is_pinned_and_in_the_lock() -> None:
    locked = {
        name.lower().replace("_", "-"): version
        for name, version in re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    }
    project = PROJECT["project"]
    wanted = [*project["dependencies"], *(r for extra in project["optional-dependencies"].values() for r in extra)]
    for requirement in wanted:
        if requirement.startswith("tocsin["):
            continue
        name, version = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?==(\S+)", requirement).groups()  # type: ignore[union-attr]
        assert locked[name.lower().replace("_", "-")] == version


def test_no_decoder_is_made_by_the_way_where_another_thread_may_make_the_same() -> None:
    """Two threads that decode a type of msgspec for the first time together crash the process, so decoders are made
    when a module is imported."""
    calls = [
        f"{file.relative_to(ROOT)}:{number}"
        for package in ("schemas", "index", "stream")
        for file in (ROOT / package).rglob("*.py")
        for number, text in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"\.decode\(.*\btype=", text)
    ]
    assert calls == []


@pytest.mark.parametrize("package", ["schemas", "index", "stream"])
def test_a_package_s_map_names_each_of_its_files(package: str) -> None:
    named = set(re.findall(r"`([\w.-]+?)/?`", (ROOT / package / "README.md").read_text()))
    there = {path.name for path in (ROOT / package).iterdir()} - {"README.md", "__init__.py", "__pycache__"}
    assert sorted(there - named) == []
