#!/bin/sh
# Says in one sentence, and with exit code 1, when no Java runtime that can start Kafka and Spark is found.
# `stream/java.py` looks in the same places at run time; this check comes before anything is installed.
set -eu

oldest=17
cure="install one of version $oldest or newer (Debian and Ubuntu: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17; conda: conda install -c conda-forge openjdk=17) or point JAVA_HOME at one"

refuse() {
    echo "tocsin: $1; $cure" >&2
    exit 1
}

if [ -n "${JAVA_HOME:-}" ]; then
    java=$JAVA_HOME/bin/java
    [ -x "$java" ] || refuse "JAVA_HOME is $JAVA_HOME, but there is no bin/java in it"
else
    java=$(command -v java) || refuse "Kafka and Spark need a Java runtime and none was found"
fi

version=$("$java" -version 2>&1 | sed -n 's/.*version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' | head -n 1) || version=
[ -n "$version" ] || refuse "$java -version did not name a version"
[ "$version" -ge "$oldest" ] || refuse "$java is Java $version, but Kafka and Spark need $oldest"
