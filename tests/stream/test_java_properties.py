"""What Spark's Java client is configured with: every property that security rests on is translated, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from schemas.errors import TocsinError
from stream.clients import spark_options
from stream.java_properties import java_properties
from stream.settings import load_settings


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def test_a_login_and_an_authority_are_translated(tmp_path: Path, authority: trustme.CA) -> None:
    (tmp_path / "ca.pem").write_bytes(authority.cert_pem.bytes())
    given = [
        "kafka.client.security.protocol=sasl_ssl",
        "kafka.client.sasl.mechanisms=SCRAM-SHA-512",
        "kafka.client.sasl.username=me",
        'kafka.client.sasl.password=a"b',
        f"kafka.client.ssl.ca.location={tmp_path / 'ca.pem'}",
        "kafka.client.ssl.endpoint.identification.algorithm=none",
        "kafka.client.linger.ms=7",
    ]
    options = spark_options(load_settings(None, given, {}))
    assert options["kafka.isolation.level"] == "read_committed"
    assert {name: value for name, value in options.items() if "sl." in name or "security" in name} == {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": (
            'org.apache.kafka.common.security.scram.ScramLoginModule required username="me" password="a\\"b";'
        ),
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.certificates": authority.cert_pem.bytes().decode(),
        "kafka.ssl.endpoint.identification.algorithm": "",
    }
    assert "kafka.linger.ms" not in options, "what merely tunes the other client is left out"


def test_a_fetch_that_waits_does_not_hold_the_next_question_back_unless_it_is_asked_to() -> None:
    assert spark_options(load_settings(None, [], {}))["kafka.fetch.max.wait.ms"] == "1"
    given = ["kafka.java.fetch.max.wait.ms=20"]
    assert spark_options(load_settings(None, given, {}))["kafka.fetch.max.wait.ms"] == "20"


def test_a_keytab_is_translated() -> None:
    client = {
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "sasl.kerberos.keytab": "/k",
        "sasl.kerberos.principal": "me@REALM",
    }
    assert java_properties(client, {}) == {
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "sasl.jaas.config": "com.sun.security.auth.module.Krb5LoginModule required "
        'useKeyTab="true" storeKey="true" keyTab="/k" principal="me@REALM";',
    }


@pytest.mark.parametrize("password", [None, "secret"])
@pytest.mark.parametrize("form", [serialization.PrivateFormat.TraditionalOpenSSL, serialization.PrivateFormat.PKCS8])
def test_a_key_of_any_form_becomes_one_that_java_reads(
    tmp_path: Path, authority: trustme.CA, password: str | None, form: serialization.PrivateFormat
) -> None:
    own = authority.issue_cert("client")
    key = serialization.load_pem_private_key(own.private_key_pem.bytes(), None)
    hidden: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if password is not None:
        hidden = serialization.BestAvailableEncryption(password.encode())
    (tmp_path / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, form, hidden))
    (tmp_path / "chain.pem").write_bytes(own.cert_chain_pems[0].bytes())
    client = {
        "ssl.certificate.location": str(tmp_path / "chain.pem"),
        "ssl.key.location": str(tmp_path / "key.pem"),
        **({} if password is None else {"ssl.key.password": password}),
    }
    found = java_properties(client, {})
    assert found["ssl.keystore.type"] == "PEM"
    assert found["ssl.keystore.certificate.chain"] == (tmp_path / "chain.pem").read_text()
    assert found["ssl.keystore.key"].startswith(
        f"-----BEGIN {'' if password is None else 'ENCRYPTED '}PRIVATE KEY-----"
    )
    again = serialization.load_pem_private_key(
        found["ssl.keystore.key"].encode(), None if password is None else password.encode()
    )
    assert again.private_numbers() == key.private_numbers()  # type: ignore[union-attr]
    assert found.get("ssl.key.password") == password


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ssl.cipher.suites", "ssl."),
        ("ssl.crl.location", "ssl."),
        ("enable.ssl.certificate.verification", "ssl."),
        ("sasl.oauthbearer.config", "sasl."),
        ("enable.sasl.oauthbearer.unsecure.jwt", "sasl."),
    ],
)
def test_what_has_no_translation_is_refused_until_java_is_given_its_own(name: str, kind: str) -> None:
    with pytest.raises(TocsinError, match=rf"kafka\.client\.{name} = 'x' has no translation .* table kafka\.java"):
        java_properties({name: "x"}, {})
    assert java_properties({name: "x"}, {f"{kind}own": "y"}) == {f"{kind}own": "y"}


def test_a_secret_without_a_translation_is_not_said() -> None:
    with pytest.raises(TocsinError, match="has no translation") as caught:
        java_properties({"sasl.oauthbearer.client.secret": "hidden"}, {})
    assert "hidden" not in str(caught.value)


def test_javas_own_properties_win() -> None:
    assert java_properties({"sasl.mechanism": "PLAIN"}, {"sasl.mechanism": "X"})["sasl.mechanism"] == "X"


def test_a_file_that_can_not_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(TocsinError, match=r"kafka\.client\.ssl\.ca\.location names .*none\.pem, which can't be read"):
        java_properties({"ssl.ca.location": str(tmp_path / "none.pem")}, {})


def test_a_wrong_key_is_refused_in_a_sentence() -> None:
    with pytest.raises(TocsinError, match=r"is no private key in PEM, or ssl\.key\.password is wrong"):
        java_properties({"ssl.certificate.pem": "x", "ssl.key.pem": "-----BEGIN RSA PRIVATE KEY-----"}, {})
