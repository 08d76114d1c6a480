"""Which files are secrets as a whole."""

from __future__ import annotations

import pytest

from redline.sessions.secret_files import is_private_key, is_secret_file, is_secret_path

BODY = "\n".join("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"[at:] for at in range(3))


def key(kind: str) -> bytes:
    return f"-----BEGIN {kind}-----\n{BODY}\n-----END {kind}-----\n".encode()


@pytest.mark.parametrize(
    "path",
    [
        ".env", "/w/.env", "/w/app/.env.production", "/w/.env.local", "/w/.ENV", "/w/prod.env", "/w/.envrc",
        "/home/a/.netrc", "/w/_netrc", "/w/.pgpass", "/w/.git-credentials", "/w/.npmrc", "/w/.pypirc", "/w/.htpasswd",
        "/w/credentials", "/w/credentials.json", "/w/service-account.json", "/w/client_secret_123.json",
        "/w/x-firebase-adminsdk-1.json", "/w/secrets.yaml", "/w/.secrets.toml", "/w/secrets.prod.json",
        "/w/prod.tfvars", "/w/terraform.tfstate", "/w/terraform.tfstate.backup",
        "/w/id_rsa", "/w/id_ed25519", "/w/deploy_rsa", "/w/server.key", "/w/a.ppk", "/w/a.p12", "/w/a.pfx", "/w/a.jks",
        "/w/release.keystore", "/w/pass.kdbx", "/w/http.keytab",
        "/home/a/.aws/credentials", "/home/a/.aws/config", "/home/a/.docker/config.json", "/home/a/.kube/config",
        "/home/a/.ssh/work", "/home/a/.config/gh/hosts.yml", "/home/a/.config/gcloud/access_tokens.db",
        "/home/a/.gnupg/private-keys-v1.d/0.key", "/home/a/.password-store/mail.gpg", "/run/secrets/token",
        "/home/a/.cargo/credentials.toml", "/home/a/.m2/settings.xml", "/w/.vault-token",
    ],
)  # fmt: skip
def test_a_path_that_says_secrets(path: str) -> None:
    assert is_secret_path(path)


@pytest.mark.parametrize(
    "path",
    [
        "/w/.env.example", "/w/.env.sample", "/w/.env.template", "/w/example.env", "/w/env.py", "/w/environment.ts",
        "/w/.env/lib/python/site.py", "/w/credentials.py", "/w/secrets.py", "/w/src/secret_files.py", "/w/key.py",
        "/w/id_rsa.pub", "/w/.ssh/config", "/w/.ssh/known_hosts", "/w/.ssh/id_ed25519.pub", "/w/config.json",
        "/w/docker/config.json", "/w/settings.xml", "/w/monkey", "/w/keys.md", "/w/netrc.md", "/w/a.pem", "/w/a.crt",
        "/w/config", "/w/main.tf", "/w/package.json", "",
    ],
)  # fmt: skip
def test_a_path_that_does_not(path: str) -> None:
    assert not is_secret_path(path)


@pytest.mark.parametrize(
    "kind", ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY"]
)
def test_a_private_key_is_known_by_what_it_holds(kind: str) -> None:
    assert is_private_key(key(kind))
    assert is_private_key(key("CERTIFICATE") + key(kind)), "also behind a certificate"
    assert is_private_key(b"\xef\xbb\xbf" + key(kind).replace(b"\n", b"\r\n"))
    assert is_secret_file("/w/server.pem", None, key(kind))
    assert is_secret_file("/w/server.pem", key(kind), b"rotated\n"), "either state counts"


def test_what_only_names_a_key_is_none() -> None:
    assert not is_private_key(key("CERTIFICATE"))
    assert not is_private_key(key("PUBLIC KEY"))
    assert not is_private_key(b"-----BEGIN PRIVATE KEY----- is how one begins.\nIt ends otherwise.\n")
    assert not is_private_key(b'MARK = "-----BEGIN PRIVATE KEY-----"\n')
    assert not is_secret_file("/w/a.py", None, b"x = 1\n")
