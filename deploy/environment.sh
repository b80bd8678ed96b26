#!/bin/sh
# Makes the virtual environment and installs the pinned requirements of one extra into it: environment.sh FOLDER EXTRA.
# PYTHON names the interpreter to take; without it the first one that is new enough is taken. CONSTRAINTS names the file
# of exact versions; without it that is requirements.lock.
set -euf

folder=$1
extra=$2
constraints=${CONSTRAINTS:-requirements.lock}
log=$folder/install.log
new_enough='import sys; sys.exit(sys.version_info < (3, 11))'

say() { echo "tocsin: $1" >&2; }
refuse() { say "$1"; exit 1; }

# A name on PATH may be a shim without an interpreter behind it, so each candidate is asked to run.
find_python() {
    if [ -n "${PYTHON:-}" ]; then set -- "$PYTHON"; else set -- python3.13 python3.12 python3.11 python3 python; fi
    for candidate; do
        if "$candidate" -c "$new_enough" >/dev/null 2>&1; then
            command -v "$candidate"
            return
        fi
    done
    found="no python3 on PATH is that"
    [ -z "${PYTHON:-}" ] || found="PYTHON=$PYTHON is not that"
    refuse "Python 3.11 or newer is needed and $found; install one (Debian and Ubuntu: apt-get install python3 python3-venv; macOS: brew install python@3.13) or name one: make PYTHON=/path/to/python3"
}

make_folder() {
    python=$(find_python)
    say "making $folder with $("$python" --version 2>&1) ($python)"
    rm -rf "$folder"
    "$python" -m venv "$folder" >/dev/null 2>&1 ||
        refuse "$python can't make a virtual environment; install its venv module (Debian and Ubuntu: apt-get install python3-venv)"
}

# One short line that changes in a terminal, nothing elsewhere; the log has it all.
show_progress() {
    count=0
    : >"$log"
    while IFS= read -r line; do
        printf '%s\n' "$line" >>"$log"
        # shellcheck disable=SC2086 # the line is to be split into words
        case $line in
            "Collecting "*) set -- $line; count=$((count + 1)); note "$count packages, $2" ;;
            *"Downloading "*) set -- $line; note "$count packages, downloading ${2%%-*} ${3:-} ${4:-}" ;;
            "Building wheel"*) note "$count packages, building" ;;
            "Installing collected"*) note "unpacking $count packages" ;;
        esac
    done
    note ""
}

note() {
    [ ! -t 2 ] || printf '\r\033[K%s' "${1:+  $1}" >&2
}

install() {
    say "installing packages, once (log: $log)"
    failed=$folder/install.failed
    rm -f "$failed"
    { "$folder/bin/python" -m pip install --disable-pip-version-check --no-input --progress-bar off \
        -c "$constraints" -e ".[$extra]" 2>&1 || touch "$failed"; } | show_progress
    if [ -e "$failed" ]; then
        tail -n 5 "$log" >&2
        refuse "the installation failed; check the network and try again, the whole log is $log"
    fi
}

if ! "$folder/bin/python" -c "$new_enough" >/dev/null 2>&1 || ! "$folder/bin/python" -m pip --version >/dev/null 2>&1; then
    make_folder
fi
install
