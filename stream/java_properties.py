"""The Kafka properties of Spark's source: librdkafka's names and values in those of the Java client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from schemas.errors import TocsinError
from stream.secrets import is_secret

Properties = Mapping[str, str]
Java = dict[str, str]

SECURITY: Final = ("ssl.", "sasl.", "security.", "enable.ssl.", "enable.sasl.", "https.")
"""Beginnings of names without which a client talks to the wrong broker, or to none: each is translated or refused."""

SAME: Final = (
    "security.protocol",
    "sasl.mechanism",
    "sasl.kerberos.service.name",
    "ssl.key.password",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "client.rack",
    "client.dns.lookup",
    "metadata.max.age.ms",
    "connections.max.idle.ms",
    "reconnect.backoff.ms",
    "reconnect.backoff.max.ms",
    "fetch.min.bytes",
    "fetch.max.bytes",
    "max.partition.fetch.bytes",
    "allow.auto.create.topics",
)
"""Names that mean the same to both clients, the values too."""

OTHERS: Final = (
    "sasl.mechanisms",
    "sasl.username",
    "sasl.password",
    "sasl.kerberos.principal",
    "sasl.kerberos.keytab",
    "ssl.ca.location",
    "ssl.ca.pem",
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.key.location",
    "ssl.key.pem",
    "ssl.endpoint.identification.algorithm",
)
"""Names that the functions below translate."""

PASSWORD_LOGINS: Final = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
KERBEROS_LOGIN: Final = "com.sun.security.auth.module.Krb5LoginModule"


def java_properties(client: Properties, java: Properties) -> Java:
    """Translate the properties of ``kafka.client``, and put those of ``kafka.java`` over them.

    What merely tunes librdkafka has no counterpart and is left out.

    Parameters
    ----------
    client
        librdkafka's properties, with references to secrets resolved.
    java
        The Java client's, given by its names.

    Raises
    ------
    TocsinError
        A property that security rests on has no translation, and ``kafka.java`` has none of its kind.
    """
    for name in client:
        if name.startswith(SECURITY) and name not in SAME and name not in OTHERS:
            _need_counterpart(name, client[name], java)
    translated = {name: client[name] for name in SAME if name in client}
    if "security.protocol" in translated:
        translated["security.protocol"] = translated["security.protocol"].upper()
    for translate in (_sasl, _authorities, _certificate, _host_names):
        translated |= translate(client)
    return translated | dict(java)


def _need_counterpart(name: str, value: str, java: Properties) -> None:
    kind = "sasl." if "sasl" in name else "ssl."
    if any(own.startswith(kind) for own in java):
        return
    said = "" if is_secret(name) else f" = {value!r}"
    raise TocsinError(
        f"kafka.client.{name}{said} has no translation for the Java client of Spark's Kafka source; give what stands "
        f"for it there, by Java's names, in the table kafka.java (a property that begins with {kind}), or leave it out"
    )


def _sasl(client: Properties) -> Java:
    mechanism = client.get("sasl.mechanism", client.get("sasl.mechanisms"))
    if mechanism is None:
        return {}
    found = {"sasl.mechanism": mechanism}
    if mechanism in PASSWORD_LOGINS:
        options = {"username": client.get("sasl.username", ""), "password": client.get("sasl.password", "")}
        found["sasl.jaas.config"] = _login(PASSWORD_LOGINS[mechanism], options)
    elif mechanism == "GSSAPI" and "sasl.kerberos.keytab" in client:
        options = {"keyTab": client["sasl.kerberos.keytab"], "principal": client.get("sasl.kerberos.principal", "")}
        found["sasl.jaas.config"] = _login(KERBEROS_LOGIN, {"useKeyTab": "true", "storeKey": "true"} | options)
    return found


def _login(module: str, options: Properties) -> str:
    return f"{module} required {' '.join(f'{name}={_quoted(value)}' for name, value in options.items())};"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _authorities(client: Properties) -> Java:
    text = client.get("ssl.ca.pem")
    if text is None and "ssl.ca.location" in client:
        text = _read(client, "ssl.ca.location")
    return {} if text is None else {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": text}


def _certificate(client: Properties) -> Java:
    """The client's own certificate and key; the Java client takes keys in PKCS #8 only."""
    if "ssl.keystore.location" in client:
        return {"ssl.keystore.type": "PKCS12"}
    parts = []
    for kind in ("certificate", "key"):
        text = client.get(f"ssl.{kind}.pem")
        if text is None and f"ssl.{kind}.location" in client:
            text = _read(client, f"ssl.{kind}.location")
        parts.append(text)
    chain, key = parts
    if chain is None or key is None:
        return {}
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": chain,
        **_key(key, client.get("ssl.key.password")),
    }


def _key(text: str, password: str | None) -> Java:
    if "BEGIN ENCRYPTED PRIVATE KEY" in text or "BEGIN PRIVATE KEY" in text:
        return {"ssl.keystore.key": text}
    from cryptography.hazmat.primitives import serialization as kinds

    encryption: Callable[[], kinds.KeySerializationEncryption]
    encryption = kinds.NoEncryption if password is None else lambda: kinds.BestAvailableEncryption(password.encode())
    try:
        key = kinds.load_pem_private_key(text.encode(), None if password is None else password.encode())
    except (ValueError, TypeError) as error:
        raise TocsinError(
            f"kafka.client.ssl.key is no private key in PEM, or ssl.key.password is wrong: {error}"
        ) from None
    pem = key.private_bytes(kinds.Encoding.PEM, kinds.PrivateFormat.PKCS8, encryption())
    return {"ssl.keystore.key": pem.decode()}


def _host_names(client: Properties) -> Java:
    algorithm = client.get("ssl.endpoint.identification.algorithm")
    if algorithm is None:
        return {}
    return {"ssl.endpoint.identification.algorithm": "" if algorithm == "none" else algorithm}


def _read(client: Properties, name: str) -> str:
    path = Path(client[name])
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        said = f"kafka.client.{name} names {path}, which can't be read: {error.strerror}; name a file in PEM"
        raise TocsinError(said) from error
    except UnicodeDecodeError as error:
        said = f"kafka.client.{name} names {path}, which is not UTF-8 text: {error}; name a file in PEM"
        raise TocsinError(said) from error
