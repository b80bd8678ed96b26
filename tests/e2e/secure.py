"""A broker with access rules and two TLS listeners, for logins and for certificates; a plain one to set it up."""

from __future__ import annotations

import time
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
from tests.ports import free_ports

PROPERTIES = """
listeners=CLIENT://{{host}}:{{port}},CONTROLLER://{{host}}:{{controller_port}},\
  SECURE://{{host}}:{secure_port},MUTUAL://{{host}}:{mutual_port}
advertised.listeners=CLIENT://{{host}}:{{port}},SECURE://localhost:{secure_port},MUTUAL://localhost:{mutual_port}
listener.security.protocol.map=CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL,MUTUAL:SSL
listener.name.secure.sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.secure.scram-sha-512.sasl.jaas.config=\\
  org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.secure.ssl.keystore.type=PEM
listener.name.secure.ssl.keystore.location={keystore}
listener.name.mutual.ssl.keystore.type=PEM
listener.name.mutual.ssl.keystore.location={keystore}
listener.name.mutual.ssl.client.auth=required
listener.name.mutual.ssl.truststore.type=PEM
listener.name.mutual.ssl.truststore.location={authority}
# Whatever certificate it is that the authority has signed.
listener.name.mutual.ssl.principal.mapping.rules=RULE:^.*$/{certified}/
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
# Whoever comes by the plain listener, the broker itself for one.
super.users=User:ANONYMOUS
"""

CERTIFIED = "certified"
"""The user that a client is for the broker when it shows a certificate of the authority."""

Rule = tuple[ResourceType, str, ResourcePatternType, AclOperation]


@dataclass(frozen=True)
class SecureBroker:
    """The running broker.

    ``plain``, ``secure`` (wants a login) and ``mutual`` (wants a certificate) are the listeners' addresses,
    ``authority`` the file with the certificate of who signed the broker's, ``certificate`` and ``key`` files of a
    client that it has signed too.
    """

    plain: str
    secure: str
    mutual: str
    authority: Path
    certificate: Path
    key: Path
    broker: Broker
    admin: AdminClient

    def add_user(self, name: str, password: str) -> None:
        credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        change = UserScramCredentialUpsertion(name, credential, password.encode())
        self.admin.alter_user_scram_credentials([change])[name].result(30)

    def allow(self, user: str, rules: Iterable[Rule]) -> None:
        bindings = [_binding(user, rule) for rule in rules]
        for binding, answer in self.admin.create_acls(bindings).items():
            answer.result(30)
            self._await(_filter(binding), True)

    def take_away(self, user: str, rule: Rule) -> None:
        chosen = _filter(_binding(user, rule))
        assert self.admin.delete_acls([chosen])[chosen].result(30), "there was no such rule"
        self._await(chosen, False)

    def _await(self, chosen: AclBindingFilter, there: bool) -> None:
        """The controller has answered; wait until the broker, which hears of it later, judges by it."""
        deadline = time.monotonic() + 30
        while bool(self.admin.describe_acls(chosen).result(30)) is not there:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def topic(name: str, *operations: AclOperation) -> list[Rule]:
    return [(ResourceType.TOPIC, name, ResourcePatternType.LITERAL, operation) for operation in operations]


def prefixed(kind: ResourceType, prefix: str, operation: AclOperation) -> Rule:
    return kind, prefix, ResourcePatternType.PREFIXED, operation


def _binding(user: str, rule: Rule) -> AclBinding:
    kind, name, pattern, operation = rule
    return AclBinding(kind, name, pattern, f"User:{user}", "*", operation, AclPermissionType.ALLOW)


def _filter(binding: AclBinding) -> AclBindingFilter:
    return AclBindingFilter(
        binding.restype,
        binding.name,
        binding.resource_pattern_type,
        binding.principal,
        binding.host,
        binding.operation,
        binding.permission_type,
    )


@contextmanager
def secure_broker(folder: Path) -> Iterator[SecureBroker]:
    """Start a broker whose certificate, signed by an authority of its own, is for localhost and 127.0.0.1."""
    authority = trustme.CA()
    own = authority.issue_cert("localhost", "127.0.0.1", key_type=trustme.KeyType.RSA)
    authority.cert_pem.write_to_path(folder / "authority.pem")
    keystore = folder / "keystore.pem"
    keystore.write_bytes(_pkcs8(own.private_key_pem.bytes()) + b"".join(pem.bytes() for pem in own.cert_chain_pems))
    certificate, key = client_files(authority, folder)
    ports = free_ports(2)
    properties = PROPERTIES.format(
        secure_port=ports[0],
        mutual_port=ports[1],
        keystore=keystore,
        authority=folder / "authority.pem",
        certified=CERTIFIED,
    )
    with Broker(properties=properties) as broker:
        plain = broker.bootstrap_servers
        secure, mutual = (f"localhost:{port}" for port in ports)
        admin = AdminClient({"bootstrap.servers": plain})
        yield SecureBroker(plain, secure, mutual, folder / "authority.pem", certificate, key, broker, admin)


def client_files(authority: trustme.CA, folder: Path) -> tuple[Path, Path]:
    """Return the files of a certificate that an authority has signed for a client, and of its key."""
    client = authority.issue_cert("client@localhost", key_type=trustme.KeyType.RSA)
    certificate, key = folder / "client.pem", folder / "client.key"
    certificate.write_bytes(b"".join(pem.bytes() for pem in client.cert_chain_pems))
    client.private_key_pem.write_to_path(key)
    return certificate, key


def _pkcs8(pem: bytes) -> bytes:
    from cryptography.hazmat.primitives import serialization as kinds

    key = kinds.load_pem_private_key(pem, None)
    return key.private_bytes(kinds.Encoding.PEM, kinds.PrivateFormat.PKCS8, kinds.NoEncryption())
