"""What brokers refuse: credentials, certificates and rights, each as a sentence that says what to change."""

from __future__ import annotations

import socket
from typing import Final

from confluent_kafka import KafkaError, KafkaException

from schemas.errors import TocsinError
from stream.secrets import hide
from stream.settings import Settings

CONTACT: Final = (KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError.SASL_AUTHENTICATION_FAILED)
"""Errors after which trying again is of no use: it would only fill the brokers' logs, or lock the account."""

ALERT: Final = "SSL alert number"
"""In an error's text: the broker itself has ended the connection, for it does not take the client's certificate, or its
lack of one. Since TLS 1.3 it does so when the client has taken the connection for made: the error's code says nothing
but that it is lost."""

DENIALS: Final = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "topic",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "group",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "transactional-id",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "cluster",
}


class Contact:
    """Takes the errors that a client meets when it connects; its ``error_cb``."""

    def __init__(self) -> None:
        self._refusal: KafkaError | None = None

    def __call__(self, error: KafkaError) -> None:
        """Keep an error if it tells why there is no connection."""
        if (error.code() in CONTACT or ALERT in error.str()) and self._refusal is None:
            self._refusal = error

    def check(self, settings: Settings) -> None:
        """Raise TocsinError if the brokers refuse this client for good."""
        if self._refusal is None:
            return
        servers, said = settings.kafka.bootstrap_servers, hide(self._refusal.str())
        if ALERT in said:
            raise TocsinError(
                f"Kafka at {servers} refuses {principal(settings)}: {said}; see the table kafka.client, where "
                f"ssl.certificate.location and ssl.key.location name a certificate that an authority of the brokers "
                f"has signed, and its key"
            )
        if self._refusal.code() == KafkaError._SSL:
            raise TocsinError(
                f"there is no TLS connection to Kafka at {servers}: {said}; see the table kafka.client, where "
                f"ssl.ca.location names the authority that signed the brokers' certificates"
            )
        raise TocsinError(
            f"Kafka at {servers} refuses {principal(settings)}: {said}; see sasl.username, sasl.password and "
            f"sasl.mechanism in the table kafka.client"
        )


def unreachable(settings: Settings, error: KafkaException) -> TocsinError:
    """Return the sentence for brokers that do not answer."""
    servers, said = settings.kafka.bootstrap_servers, error.args[0].str()
    if _listens(servers):
        protocol = settings.kafka.client.get("security.protocol", "plaintext")
        return TocsinError(
            f"Kafka does not answer at {servers} ({said}), although somebody listens there; see whether that is a "
            f"broker, is well, and speaks {protocol}, or set security.protocol in the table kafka.client"
        )
    return TocsinError(
        f"Kafka does not answer at {servers} ({said}); start a broker (tocsin broker runs one), or name yours in "
        f"kafka.bootstrap_servers"
    )


def _listens(servers: str) -> bool:
    """Return whether the first of these servers takes connections."""
    host, _, port = servers.partition(",")[0].strip().rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=1.0):
            return True
    except (OSError, ValueError):
        return False


def principal(settings: Settings) -> str:
    """Return who the brokers take the job for, in words."""
    client = settings.kafka.client
    if "sasl.username" in client:
        return f'the user "{client["sasl.username"]}"'
    return "the job's certificate" if "ssl.certificate.location" in client else "an anonymous client"


def denied(settings: Settings, right: str, kind: str, name: str) -> TocsinError:
    """Return the sentence for a right that is missing.

    Parameters
    ----------
    settings
        The job's.
    right
        As Kafka's tools name it: ``Read``, ``Write``, ``Describe``, ``DescribeConfigs``, ``Create``.
    kind
        ``topic``, ``group``, ``transactional-id`` or ``cluster``.
    name
        Of the resource.
    """
    words, user = kind.replace("-", " "), settings.kafka.client.get("sasl.username", "NAME")
    return TocsinError(
        f"Kafka does not let {principal(settings)} use the {words} {name}: the right {right} is missing; give it with "
        f"kafka-acls.sh --bootstrap-server {settings.kafka.bootstrap_servers} --add --allow-principal User:{user} "
        f"--operation {right} --{kind}{'' if kind == 'cluster' else f' {name}'}"
    )


def denial(settings: Settings, error: KafkaError, right: str, name: str) -> TocsinError | None:
    """Return the sentence for an error that says that a right is missing; None for any other error."""
    kind = DENIALS.get(error.code())
    return None if kind is None else denied(settings, right, kind, name)
