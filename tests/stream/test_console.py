"""What a record says is printed as it is: neither markup nor the code of an emoji means anything."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.table import Table
from rich.tree import Tree

import stream
from index.block.engine import BlockEngine
from index.segment import write_segment
from index.writer import IndexWriter
from schemas.filter_text import parse_filter
from schemas.records import Subscription
from stream.commands.listen import _Match, _table
from stream.console import console
from stream.demo.display import Display
from stream.reporter import Reporter
from tests.stream.index_commands import tocsin

ID = "user:id:5 [red]x[/] :smile:"


def test_a_console_prints_every_kind_of_text_as_it_is() -> None:
    shown = console()
    shown.file = io.StringIO()
    table = Table(ID)
    table.add_row(ID)
    for item in (ID, table, Tree(ID)):
        shown.print(item)
    assert shown.file.getvalue().count(ID) == 4


def test_only_one_module_makes_consoles() -> None:
    folder = Path(stream.__file__).parent
    makers = [file for file in folder.rglob("*.py") if re.search(r"\bConsole\(", file.read_text())]
    assert makers == [folder / "console.py"]


def test_commands_print_ids_as_they_are(tmp_path: Path) -> None:
    odd = [Subscription(f"{ID}{number}", parse_filter("a = 1")) for number in range(2)]
    IndexWriter(tmp_path).publish([write_segment(tmp_path, BlockEngine(), odd)], [], {})
    event = tmp_path / "event.json"
    event.write_text('{"a": 1}')
    for arguments in (["similar", "a = 1"], ["explain", str(event)], ["explain", f"{ID}1", str(event)]):
        result = tocsin(tmp_path, *arguments)
        assert (result.returncode, f"{ID}1" in result.stdout) == (0, True), (arguments, result)


def test_the_job_the_demo_and_the_table_of_notifications_print_ids_as_they_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Reporter(1.0, None).say(ID)
    assert ID in capsys.readouterr().err
    display = Display()
    display.say(ID)
    with display.step(ID):
        pass
    assert capsys.readouterr().out.count(ID) == 2
    row = _Match("now", ID, 1.0, 1, ID, ID)
    shown = console(plain_width=200)
    shown.print(_table([row], ID, shown))
    assert capsys.readouterr().out.count(ID) == 4
