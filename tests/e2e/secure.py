"""A broker with a TLS listener that wants a login and heeds access rules, and a plain one for whoever sets it up."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import trustme
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from stream.broker import Broker

PROPERTIES = """
listeners=CLIENT://{{host}}:{{port}},CONTROLLER://{{host}}:{{controller_port}},SECURE://{{host}}:{secure_port}
advertised.listeners=CLIENT://{{host}}:{{port}},SECURE://localhost:{secure_port}
listener.security.protocol.map=CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL
listener.name.secure.sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.secure.scram-sha-512.sasl.jaas.config=\\
  org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.secure.ssl.keystore.type=PEM
listener.name.secure.ssl.keystore.location={keystore}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
# Whoever comes by the plain listener, the broker itself for one.
super.users=User:ANONYMOUS
"""

Rule = tuple[ResourceType, str, ResourcePatternType, AclOperation]


@dataclass(frozen=True)
class SecureBroker:
    """The running broker.

    ``plain`` and ``secure`` are the listeners' addresses, ``authority`` the file with the certificate of who signed the
    broker's.
    """

    plain: str
    secure: str
    authority: Path
    broker: Broker
    admin: AdminClient

    def add_user(self, name: str, password: str) -> None:
        credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        change = UserScramCredentialUpsertion(name, credential, password.encode())
        self.admin.alter_user_scram_credentials([change])[name].result(30)

    def allow(self, user: str, rules: Iterable[Rule]) -> None:
        bindings = [_binding(user, rule) for rule in rules]
        for answer in self.admin.create_acls(bindings).values():
            answer.result(30)

    def take_away(self, user: str, rule: Rule) -> None:
        kind, name, pattern, operation = rule
        chosen = AclBindingFilter(kind, name, pattern, f"User:{user}", "*", operation, AclPermissionType.ALLOW)
        assert self.admin.delete_acls([chosen])[chosen].result(30), "there was no such rule"


def topic(name: str, *operations: AclOperation) -> list[Rule]:
    return [(ResourceType.TOPIC, name, ResourcePatternType.LITERAL, operation) for operation in operations]


def prefixed(kind: ResourceType, prefix: str, operation: AclOperation) -> Rule:
    return kind, prefix, ResourcePatternType.PREFIXED, operation


def _binding(user: str, rule: Rule) -> AclBinding:
    kind, name, pattern, operation = rule
    return AclBinding(kind, name, pattern, f"User:{user}", "*", operation, AclPermissionType.ALLOW)


@contextmanager
def secure_broker(folder: Path) -> Iterator[SecureBroker]:
    """Start a broker whose certificate, signed by an authority of its own, is for localhost and 127.0.0.1."""
    authority = trustme.CA()
    own = authority.issue_cert("localhost", "127.0.0.1", key_type=trustme.KeyType.RSA)
    authority.cert_pem.write_to_path(folder / "authority.pem")
    keystore = folder / "keystore.pem"
    keystore.write_bytes(_pkcs8(own.private_key_pem.bytes()) + b"".join(pem.bytes() for pem in own.cert_chain_pems))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    properties = PROPERTIES.format(secure_port=port, keystore=keystore)
    with Broker(properties=properties) as broker:
        plain = broker.bootstrap_servers
        admin = AdminClient({"bootstrap.servers": plain})
        yield SecureBroker(plain, f"localhost:{port}", folder / "authority.pem", broker, admin)


def _pkcs8(pem: bytes) -> bytes:
    from cryptography.hazmat.primitives import serialization as kinds

    key = kinds.load_pem_private_key(pem, None)
    return key.private_bytes(kinds.Encoding.PEM, kinds.PrivateFormat.PKCS8, kinds.NoEncryption())
