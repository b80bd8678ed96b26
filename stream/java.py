"""Finding a Java runtime that can start Kafka and Spark."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from schemas.errors import TocsinError

OLDEST = 17
"""Kafka 4 and Spark 4 run on nothing older."""

ANSWER_SECONDS = 60.0

CURE = (
    f"install one of version {OLDEST} or newer (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; macOS: brew "
    f"install openjdk@17; conda: conda install -c conda-forge openjdk=17) or point JAVA_HOME at one"
)


@cache
def java_executable() -> Path:
    """Return the java of JAVA_HOME or, without that variable, of PATH.

    Raises
    ------
    TocsinError
        There is none, it is too old, or it is a stripped runtime without the module Spark needs.
    """
    java = _find()
    try:
        answer = subprocess.run(
            [java, "-version"], capture_output=True, text=True, errors="replace", check=False, timeout=ANSWER_SECONDS
        )
    except OSError as error:
        raise TocsinError(f"{java} does not start ({error.strerror}); {CURE}") from error
    except subprocess.TimeoutExpired as error:
        raise TocsinError(f"{java} -version did not end within {ANSWER_SECONDS:g} s; {CURE}") from error
    found = re.search(r'version "(?:1\.)?(\d+)', answer.stderr)
    if found is None:
        raise TocsinError(f"{java} -version did not name a version; {CURE}")
    if int(found[1]) < OLDEST:
        raise TocsinError(f"{java} is Java {found[1]}, but Kafka and Spark need {OLDEST}; {CURE}")
    return java


def java_home() -> Path:
    """Return the folder to give to programs that ask for JAVA_HOME.

    Raises
    ------
    TocsinError
        As `java_executable`.
    """
    return java_executable().resolve().parent.parent


def _find() -> Path:
    home = os.environ.get("JAVA_HOME")
    if home:
        java = Path(home) / "bin" / "java"
        if not java.is_file():
            raise TocsinError(f"JAVA_HOME is {home}, but there is no bin/java in it; correct it or {CURE}")
        return java
    on_path = shutil.which("java")
    if on_path is None:
        raise TocsinError(f"Kafka and Spark need a Java runtime and none was found; {CURE}")
    return Path(on_path)
