"""Which files are secrets as a whole: files of credentials and private keys, known by their names or by what they hold.

Lines of such a file may be shown masked where somebody changed them. Whatever shows a whole file, or reads the disk for
a reader, refuses it instead: what the rules for lines miss stands in these files more often than anywhere else. In
doubt a file counts as one. `docs/redaction.md` lists the kinds.
"""

from __future__ import annotations

import re

from redline.sessions.key_blocks import ANCHORS, mask_blocks

_PUBLIC_ENV = r"example|sample|template|tmpl|dist|defaults?"
_NAMES = re.compile(
    r"""(?:
        # Environments of programs; what is handed round as a pattern of one is no secret.
        \.env (?: \. (?!(?:{public})$) [^/]* )? | \.envrc | (?!(?:{public})\.) [^/]+ \.env | \.flaskenv | \.dev\.vars
        # Logins of tools.
        | [._]netrc | \.pgpass | pgpass\.conf | \.my\.cnf | \.mylogin\.cnf | \.git-credentials | \.htpasswd
        | \.npmrc | \.yarnrc\.yml | \.pypirc | \.dockercfg | \.s3cfg | \.boto | \.vault-token | \.terraformrc
        | credentials\.tfrc\.json | rclone\.conf | kubeconfig | [^/]* \.kubeconfig | auth\.json
        # Credentials under the names that clouds and frameworks give them.
        | credentials (?: \. (?: json | ya?ml | toml | ini | xml | enc | properties ) )?
        | (?: service[-_]?account | client[-_]?secrets? | application_default_credentials | gcp[-_]key
            | firebase[-_]adminsdk ) [^/]* \. json
        | [^/]* firebase-adminsdk [^/]* \. json
        | \.?secrets? (?: [._-] [^/]* )? \. (?: json | ya?ml | toml | ini | env | properties )
        | [^/]+ \.tfvars (?: \.json )? | [^/]* \.tfstate (?: \.backup )?
        # Keys and what keeps them.
        | id_ (?: rsa | dsa | ecdsa | ecdsa_sk | ed25519 | ed25519_sk | xmss ) | [^/]* _rsa
        | [^/]+ \. (?: key | ppk | p12 | pfx | pkcs12 | jks | jceks | bks | keystore | truststore | kdbx? | p8
            | agekey | asc\.key | ovpn )
        | secring\.gpg | \.keychain(?:-db)? | login\.keychain(?:-db)? | [^/]* \.keytab
        )""".replace("{public}", _PUBLIC_ENV),
    re.VERBOSE | re.IGNORECASE,
)
_PLACES = re.compile(
    r"""(?:^|/)(?:
        \.aws/(?:credentials|config|sso/cache/.+|cli/cache/.+) | \.azure/.+ | \.config/gcloud/.+ | \.oci/config
        | \.kube/(?:config|cache/.+) | \.docker/config\.json | \.config/gh/hosts\.yml | \.config/glab-cli/config\.yml
        | \.config/hub | \.cargo/credentials(?:\.toml)? | \.gem/credentials | \.m2/settings(?:-security)?\.xml
        | \.gradle/gradle\.properties | \.composer/auth\.json | \.config/doctl/config\.yaml | \.heroku/.+
        | \.config/rclone/.+ | \.gnupg/(?:private-keys-v1\.d/.+|.+\.gpg) | \.password-store/.+
        | \.ssh/(?!config$|known_hosts|authorized_keys|[^/]+\.pub$)[^/]+
        | \.codex/auth\.json | \.claude/\.credentials\.json | \.gemini/oauth_creds\.json
        | run/secrets/.+ | etc/shadow
        )$""",
    re.VERBOSE | re.IGNORECASE,
)
_KEY = re.compile(rb"^(?:\xef\xbb\xbf)?(?:-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY|PuTTY-User-Key-File-)", re.MULTILINE)


def is_secret_path(path: str) -> bool:
    """The name of a file, or where it stands, says that it holds secrets. `path` has `/` between its parts."""
    return _NAMES.fullmatch(path.rpartition("/")[2]) is not None or _PLACES.search(path) is not None


def is_private_key(data: bytes) -> bool:
    """A private key stands in these bytes from the beginning of a line on. What only names a key's first line does not
    count, and a key within other text is masked there like any other."""
    if _KEY.search(data) is None:
        return False
    text = data.decode("utf-8", "replace")
    return any(anchor in text for anchor in ANCHORS) and bool(mask_blocks(text))


def is_secret_file(path: str, *contents: bytes | None) -> bool:
    """The file is one by its path, or by one of its contents (before and after a change; None: there is none)."""
    return is_secret_path(path) or any(is_private_key(data) for data in contents if data is not None)
