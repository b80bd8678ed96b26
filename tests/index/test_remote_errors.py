"""What a store in the network refuses becomes a sentence, whatever the store's library says."""

from __future__ import annotations

import re

import pytest
from obstore.exceptions import GenericError

from index.remote_files import RemoteFiles, _explained
from schemas.errors import TocsinError, first_line


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (GenericError("no route\nDebug source: …"), "no route"),
        (GenericError('denied: <?xml version="1.0"?>'), "denied"),
        (GenericError(""), "GenericError"),
        (GenericError("\n"), "GenericError"),
    ],
)
def test_the_sentence_has_the_first_line_or_the_kind_of_error(error: GenericError, told: str) -> None:
    with (
        pytest.raises(TocsinError, match=rf"^s3://bucket/index can't be reached: {told}\. See"),
        _explained("s3://bucket/index"),
    ):
        raise error


@pytest.mark.parametrize("address", ["s3://", "s3://a bucket/prefix", "s3://[::1/prefix", "ftp://host/prefix"])
def test_an_address_that_is_none_is_told_in_the_same_words(address: str) -> None:
    with pytest.raises(
        TocsinError, match=rf"^{re.escape(address)} can't be reached: .+\. See that the address is right"
    ):
        RemoteFiles(address)


def test_the_first_line_is_found_behind_empty_ones() -> None:
    assert first_line(ValueError("\n\n  one \ntwo")) == "one "
    assert first_line(KeyError()) == "KeyError"
