"""The tables of settings: every setting with its type, its default and what it means."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from schemas.event_parts import TOP_LIMIT
from schemas.limits import Limits

Format = Literal["json", "avro", "avro_registry"]
Engine = Literal[
    "block",
    "conjunction-scan",
    "counting",
    "dewey",
    "dnf-expansion",
    "interval",
    "kindex-cnf",
    "kindex-cnf-enumerated",
    "kindex-dnf",
    "kindex-dnf-enumerated",
    "propagation",
    "pscan",
    "scan",
    "tree-scan",
]
"""The names in `index.engines`, which is not imported here: commands that need no engine start faster without."""
Partitioner = Literal["any", "consistent", "murmur2"]
Text = Annotated[str, Meta(min_length=1)]


def _spelled(pattern: str, words: str) -> Meta:
    """Describe text that is spelled in one way, which ``words`` say."""
    return Meta(pattern=rf"^(?:{pattern})\Z", extra={"words": words})


TopicName = Annotated[
    str,
    _spelled(
        r"(?!\.{1,2}\Z)[a-zA-Z0-9._-]{1,249}",
        'text of at most 249 letters, digits, dots, dashes and underscores, not "." or ".."',
    ),
]
"""As Kafka has it: a topic's name is a folder's on the brokers."""
Master = Annotated[
    str,
    _spelled(
        r"local|local\[([0-9]*[1-9][0-9]*|\*)(\s*,\s*[0-9]+)?\]|local-cluster\[(\s*[0-9]+\s*(,|(?=\]))){3}\]"
        r"|spark://[^\s,/?#@]+:[0-9]+(,[^\s,/?#@]+:[0-9]+)*,*|yarn|k8s://\S+",
        "local, local[N], local[*], spark://HOST:PORT, yarn or k8s://ADDRESS",
    ),
]
"""As Spark has it, which would say so when the brokers were asked and the index was read."""
Listen = Annotated[
    str,
    _spelled(
        r"|.*:0*([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])",
        'host and port, like 127.0.0.1:9404, or "" for none',
    ),
]
LocalFolder = Annotated[str, _spelled(r"(?!(?s:.*)://)(?s:.+)", "a folder's path")]
IndexFolder = Annotated[
    str,
    _spelled(
        r"(?!(?s:.*)://)(?s:.+)|[A-Za-z0-9]+://[^\s/?#]+(/[^?#\r\n]*)?",
        "a folder's path or an address like s3://bucket/prefix",
    ),
]
MANY = 10**12
"""More than anybody means, and what workers and Java hold in 64 bits."""
INT32_MAX = 2**31 - 1
"""What Kafka's clients hold numbers in."""
Count = Annotated[int, Meta(ge=1, le=MANY)]
Seconds = Annotated[float, Meta(gt=0, le=1_000_000_000)]
"""The operating system's clocks can't wait for centuries."""

MOST_SHARDS = 64
"""Every micro-batch of events has so many tasks times the partitions of its topic."""


class Kafka(msgspec.Struct, frozen=True, kw_only=True):
    """How to reach the brokers."""

    bootstrap_servers: Annotated[
        Text, Meta(description="Brokers to begin with, as host:port, separated by commas.")
    ] = "localhost:9092"
    client: Annotated[
        dict[str, str],
        Meta(
            description="Further properties of every Kafka client, by librdkafka's names, for example "
            "security.protocol, sasl.username or ssl.ca.location; for Spark's Java client they are translated. A value "
            "may be ${env:NAME}, ${file:/path}, ${file:/path:key} or ${directory:/path:name}."
        ),
    ] = {}
    java: Annotated[
        dict[str, str],
        Meta(
            description="Further properties of Spark's Kafka source, by the Java client's names, over those translated "
            "from kafka.client: for what has no translation, such as ssl.cipher.suites."
        ),
    ] = {}


class Topics(msgspec.Struct, frozen=True, kw_only=True):
    """The four topics; those that are missing are created when the job starts."""

    events: Annotated[TopicName, Meta(description="Topic of the events.")] = "tocsin.events"
    subscriptions: Annotated[TopicName, Meta(description="Topic of the subscriptions; it must be compacted.")] = (
        "tocsin.subscriptions"
    )
    notifications: Annotated[TopicName, Meta(description="Topic the notifications go to.")] = "tocsin.notifications"
    dead_letters: Annotated[TopicName, Meta(description="Topic that takes the records that can't be understood.")] = (
        "tocsin.dead-letters"
    )
    partitions: Annotated[
        Annotated[int, Meta(ge=1, le=INT32_MAX)], Meta(description="Partitions of a topic that is created.")
    ] = 4
    replication_factor: Annotated[
        Annotated[int, Meta(ge=-1, le=2**15 - 1)],
        Meta(description="Copies of each partition of a topic that is created; -1 takes the brokers' default."),
    ] = -1


class Events(msgspec.Struct, frozen=True, kw_only=True):
    """How events are written."""

    format: Annotated[
        Format,
        Meta(
            description="json; avro: records without a prefix, by schema_file or the generic event schema; "
            "avro_registry: records that begin with a schema registry's five-byte prefix."
        ),
    ] = "json"
    schema_file: Annotated[
        Text | None, Meta(description="Avro schema (.avsc) of the events, for format avro; absent: the generic one.")
    ] = None


class Subscriptions(msgspec.Struct, frozen=True, kw_only=True):
    """How subscriptions are written."""

    format: Annotated[Format, Meta(description="As events.format, always by the subscription schema.")] = "json"
    partitioner: Annotated[
        Partitioner,
        Meta(
            description="How the producers of subscriptions choose a partition by the key. consistent: as clients "
            "built on librdkafka do unless told otherwise; murmur2: as Java clients do. A record that lies elsewhere "
            "becomes a dead letter, and Tocsin's own producers do likewise. any: it is not looked at; whoever writes "
            "sees to it that all records of an id go to one partition."
        ),
    ] = "any"
    open_transaction_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=60,
            description="How long a batch of events waits for transactions that are open on the subscriptions topic: "
            "behind the first record of one, Kafka shows nobody what others have written and it has acknowledged. One "
            "that is open for longer is passed over with what lies behind it, until it ends. 0: events never wait.",
        ),
    ] = 5.0


class Metrics(msgspec.Struct, frozen=True, kw_only=True):
    """What the job tells programs while it runs."""

    listen: Annotated[
        Listen,
        Meta(
            description="Host and port at which the job serves /metrics (Prometheus), /healthz and /readyz. Port 0 "
            "takes a free one, which the job's first line and tocsin status name; give a fixed one, such as "
            "0.0.0.0:9404, to be scraped. Empty: none."
        ),
    ] = "127.0.0.1:0"


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """The job itself."""

    name: Annotated[
        Text,
        Meta(
            description="The job's name: prefix of its consumer groups and transactional ids. Two jobs that run at the "
            "same time need two names; a second one with the same name takes over from the first."
        ),
    ] = "tocsin"
    index_dir: Annotated[
        IndexFolder,
        Meta(
            description="Folder of the index, on a cluster one that all hosts share; or its address in an object store."
        ),
    ] = "tocsin-data/index"
    checkpoint_dir: Annotated[
        LocalFolder,
        Meta(description="Folder of Spark's checkpoints; a folder also where the index is in an object store."),
    ] = "tocsin-data/checkpoint"
    engine: Annotated[
        Engine,
        Meta(
            description="The matching engine. block takes every subscription; the others are methods from the "
            "literature, and a subscription that one of them cannot express becomes a dead letter. An index is tied to "
            "the engine that built it."
        ),
    ] = "block"
    shards: Annotated[
        Annotated[int, Meta(ge=1, le=MOST_SHARDS)],
        Meta(
            description="How many parts the subscriptions are spread over, by a hash of their ids. Each event is "
            "matched with every part by a task of its own, and the matches are merged: the answer is the same, and a "
            "batch of few events keeps more cores busy. An index is tied to its number."
        ),
    ] = 1
    top: Annotated[
        Annotated[int, Meta(ge=0, le=TOP_LIMIT)],
        Meta(description="How many of its best matches an event without $top gets; 0 means all."),
    ] = 0
    emit: Annotated[
        Literal["match", "event"],
        Meta(description="match: one notification a match, keyed by subscription; event: one an event, best first."),
    ] = "match"
    include_event: Annotated[bool, Meta(description="Whether notifications carry the event's body.")] = False
    master: Annotated[Master, Meta(description="Where Spark runs, for example local[*] or spark://host:7077.")] = (
        "local[*]"
    )
    max_events_per_batch: Annotated[Count, Meta(description="The most events of one micro-batch.")] = 20_000
    max_bytes_at_once: Annotated[
        Count, Meta(description="About how many bytes of records Spark and a worker hold at a time.")
    ] = 16_000_000
    max_matches_at_once: Annotated[
        Count,
        Meta(
            description="About how many matches a worker holds at a time, and from how many notifications on a "
            "micro-batch is committed in several transactions, each of whole events. One event may have more."
        ),
    ] = 500_000
    max_subscriptions_per_batch: Annotated[
        Count, Meta(description="The most subscription records of one micro-batch.")
    ] = 500_000
    causality_timeout_seconds: Annotated[
        Seconds,
        Meta(
            description="How long a batch of events waits for the subscriptions acknowledged before it to reach the "
            "index; the job ends with an error when they do not."
        ),
    ] = 120.0
    metrics_interval_seconds: Annotated[Seconds, Meta(description="Time between two lines of metrics.")] = 5.0
    metrics_file: Annotated[
        Text | None, Meta(description="File that the metrics are appended to as JSON lines; absent: none.")
    ] = None
    log_file: Annotated[
        Text,
        Meta(
            description="File of Spark's log, kept out of the terminal; renamed at 20 MB, and two of those are kept. "
            "What Java, the Python workers and the compaction print goes to a file beside it, its name with .output "
            "behind it."
        ),
    ] = "tocsin-data/spark.log"
    log_format: Annotated[
        Literal["text", "json"],
        Meta(description="text: lines for people; json: one JSON object a line, on stderr and in log_file alike."),
    ] = "text"
    transaction_timeout_ms: Annotated[
        Annotated[int, Meta(ge=1000, le=INT32_MAX)],
        Meta(
            description="After how long without a sign of life the brokers abort a transaction of the job; at most "
            "their transaction.max.timeout.ms."
        ),
    ] = 60_000
    heartbeat_seconds: Annotated[
        Annotated[float, Meta(ge=0, le=1_000_000_000)],
        Meta(
            description="After how long without a micro-batch the Python workers get a tiny task; Spark closes those "
            "that were idle for 60 seconds, and the next event would wait for new ones. 0: never."
        ),
    ] = 20.0
    registry_failure: Annotated[
        Literal["wait", "dead-letter"],
        Meta(
            description="What happens to a record whose schema the registry can't be asked for just now. wait: its "
            "micro-batch is tried again until the registry answers; dead-letter: the record becomes a dead letter."
        ),
    ] = "wait"
    spool_bytes: Annotated[
        Annotated[int, Meta(ge=0, le=MANY)],
        Meta(description="Bytes of answers from which on a task writes them to a file instead of to the driver."),
    ] = 8_000_000
    spark_ui: Annotated[bool, Meta(description="Whether Spark's web page is served; the job says where.")] = False


class Matching(msgspec.Struct, frozen=True, kw_only=True):
    """What matching means where there is a choice."""

    analyser: Annotated[
        Literal["words", "whole"],
        Meta(
            description="What the words are that has all and has any look for. words: what lies between two of "
            "Unicode's word boundaries; whole: each value is one word. Case is ignored. An index is tied to the "
            "analyser that built it."
        ),
    ] = "words"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings; each table of the settings file is a field."""

    kafka: Kafka = Kafka()
    topics: Topics = Topics()
    events: Events = Events()
    subscriptions: Subscriptions = Subscriptions()
    registry: Annotated[
        dict[str, str],
        Meta(
            description="The schema registry, for format avro_registry: url, and any further property of "
            "confluent-kafka's SchemaRegistryClient, for example basic.auth.user.info."
        ),
    ] = {}
    job: Job = Job()
    metrics: Metrics = Metrics()
    matching: Matching = Matching()
    limits: Limits = Limits()
    spark: Annotated[
        dict[str, str],
        Meta(description="Any Spark setting by its own name, for example spark.driver.memory; overrides Tocsin's own."),
    ] = {}


class Leaf(msgspec.Struct, frozen=True):
    """One setting: its dotted name, its type, its default and what it means.

    ``open`` says that it is a table of names that are not Tocsin's, passed on as text.
    """

    name: str
    type: Any
    default: Any
    doc: str
    open: bool


@cache
def describe_settings() -> tuple[Leaf, ...]:
    """Return every setting, in the order of the settings file."""
    defaults = Settings()
    leaves = []
    for table in msgspec.structs.fields(Settings):
        value = getattr(defaults, table.name)
        if isinstance(value, dict):
            leaves.append(_leaf(table, table.name, value))
        else:
            leaves += [
                _leaf(field, f"{table.name}.{field.name}", getattr(value, field.name))
                for field in msgspec.structs.fields(value)
            ]
    return tuple(leaves)


def _leaf(field: msgspec.structs.FieldInfo, name: str, default: Any) -> Leaf:
    metas = getattr(field.type, "__metadata__", ())
    doc = next((meta.description for meta in metas if meta.description), "")
    return Leaf(name, field.type, default, doc, open=isinstance(default, dict))
