"""Tokens with a form of their own, found by detect-secrets' plugins and by plugins of ours in the same form.

A plugin is a class with a `secret_type` and a `denylist` of compiled expressions. What is masked is the group named
`secret`, or else the whole match. Importing this module imports detect-secrets (about a quarter of a second), so
`redaction` does it when the first candidate is met.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.mailchimp import MailchimpDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Span = tuple[int, int, str]
"""Start, end and kind of what is to be masked in a line."""


class Plugin(Protocol):
    """What is used of a plugin; detect-secrets' `RegexBasedDetector` and its subclasses are such."""

    @property
    def denylist(self) -> Iterable[re.Pattern[str]]: ...


class AWSKeyIdDetector(RegexBasedDetector):
    """The library's expression for key ids, whole words only; its other one masks the name with the value."""

    secret_type = "AWS key"
    denylist = (re.compile(rf"(?<![0-9A-Za-z])(?:{next(iter(AWSKeyDetector().denylist)).pattern})(?![0-9A-Za-z])"),)


class GitHubFineGrainedDetector(RegexBasedDetector):
    secret_type = "GitHub fine-grained token"
    denylist = (re.compile(r"github_pat_[0-9A-Za-z_]{36,255}"),)


class GitHubDetector(RegexBasedDetector):
    """The library's plugin knows no more than 36 characters, and would leave the rest of a longer one."""

    secret_type = "GitHub token"
    denylist = (re.compile(r"gh[pousr]_[0-9A-Za-z_]{36,255}"),)


class HuggingFaceDetector(RegexBasedDetector):
    secret_type = "Hugging Face token"
    denylist = (re.compile(r"(?<![0-9A-Za-z_])(?:hf_|api_org_)[0-9A-Za-z]{30,}"),)


class AnthropicDetector(RegexBasedDetector):
    secret_type = "Anthropic key"
    denylist = (re.compile(r"(?<![0-9A-Za-z_-])sk-ant-[0-9A-Za-z_-]{20,}"),)


class OpenAIKeyDetector(RegexBasedDetector):
    """Keys of OpenAI and of the many services that took over its form (`sk-…`, `sk-or-v1-…`)."""

    secret_type = "OpenAI key"
    denylist = (
        re.compile(r"(?<![0-9A-Za-z_-])sk-(?:proj|svcacct|admin|or-v1)-[0-9A-Za-z_-]{20,}"),
        re.compile(r"(?<![0-9A-Za-z_-])sk-(?=[A-Za-z]{0,60}[0-9])[0-9A-Za-z]{32,}"),
    )


class GoogleDetector(RegexBasedDetector):
    secret_type = "Google key"
    denylist = (
        re.compile(r"(?<![0-9A-Za-z_-])AIza[0-9A-Za-z_-]{35}"),
        re.compile(r"(?<![0-9A-Za-z_-])GOCSPX-[0-9A-Za-z_-]{24,}"),
        re.compile(r"(?<![0-9A-Za-z_.-])ya29\.[0-9A-Za-z_-]{20,}"),
        re.compile(r"(?<![0-9A-Za-z_/-])1//0[0-9A-Za-z_-]{30,}"),
    )


class AzureClientSecretDetector(RegexBasedDetector):
    secret_type = "Azure client secret"
    denylist = (re.compile(r"(?<![0-9A-Za-z_~.-])[0-9A-Za-z_~.]{3}[0-9]Q~[0-9A-Za-z_~.-]{31,34}"),)


class AzureSignatureDetector(RegexBasedDetector):
    """The signature of a shared access address or connection string."""

    secret_type = "Azure signature"
    denylist = (
        re.compile(r"[?&;]sig=(?P<secret>[0-9A-Za-z%+/]{40,}={0,2})"),
        re.compile(r"(?:Account|SharedAccess)Key=(?P<secret>[0-9A-Za-z+/]{40,}={0,2})"),
    )


class SlackAppDetector(RegexBasedDetector):
    """Also what the library's plugin misses: app and refresh tokens, and bodies with a dash or capital letters."""

    secret_type = "Slack token"
    denylist = (
        re.compile(r"(?<![0-9A-Za-z])xapp-[0-9]-[0-9A-Za-z]{6,}-[0-9]{6,}-[0-9a-f]{32,}"),
        re.compile(r"(?<![0-9A-Za-z])xox[abeoprs](?:\.xox[bp])?-[0-9A-Za-z-]{20,}"),
        re.compile(r"hooks\.slack\.com/(?P<secret>(?:services|workflows|triggers)/T[0-9A-Za-z_]+/[0-9A-Za-z_/]{16,})"),
    )


class StripeKeyDetector(RegexBasedDetector):
    """Also test keys and the secrets of webhooks."""

    secret_type = "Stripe key"
    denylist = (
        re.compile(r"(?<![0-9A-Za-z])[rs]k_(?:live|test)_[0-9A-Za-z]{16,}"),
        re.compile(r"(?<![0-9A-Za-z])whsec_[0-9A-Za-z+/]{24,}={0,2}"),
    )


class TwilioSecretDetector(RegexBasedDetector):
    """An account's SID is no secret (the library's plugin takes it for one); its API key's SID is treated as one."""

    secret_type = "Twilio key"
    denylist = (re.compile(r"(?<![0-9A-Za-z])SK[0-9a-f]{32}(?![0-9A-Za-z])"),)


class NpmTokenDetector(RegexBasedDetector):
    """The library's plugin wants a whole line of `.npmrc` and goes back and forth in long ones."""

    secret_type = "npm token"
    denylist = (
        re.compile(r"(?<![0-9A-Za-z_])npm_[0-9A-Za-z]{36,}"),
        re.compile(r":_(?:authToken|auth|password)\s{0,8}=\s{0,8}(?P<secret>[0-9A-Za-z_+/-]{8,}={0,2})"),
    )


class DiscordWebhookDetector(RegexBasedDetector):
    secret_type = "Discord webhook"
    denylist = (
        re.compile(r"discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]{15,22}/(?P<secret>[0-9A-Za-z_-]{50,})"),
    )


class DiscordTokenDetector(RegexBasedDetector):
    """Tokens made since 2022 are longer than those that the library's plugin knows."""

    secret_type = "Discord token"
    denylist = (re.compile(r"(?<![0-9A-Za-z_.-])[MNO][0-9A-Za-z_-]{23,27}\.[0-9A-Za-z_-]{6}\.[0-9A-Za-z_-]{27,40}"),)


class WebTokenDetector(RegexBasedDetector):
    """JSON web tokens (signed, encrypted or with a detached body) with their signature, in one pass over the line."""

    secret_type = "JSON Web Token"
    denylist = (
        re.compile(
            r"(?<![0-9A-Za-z_.-])eyJ[0-9A-Za-z_-]{15,}+={0,2}\.(?=[0-9A-Za-z_.-])"
            r"(?:[0-9A-Za-z_-]*+={0,2}\.)*+[0-9A-Za-z_-]*+={0,2}"
        ),
    )


class ServiceTokenDetector(RegexBasedDetector):
    """Services whose tokens name themselves by a prefix."""

    secret_type = "Service token"
    denylist = (
        re.compile(r"(?<![0-9A-Za-z_])do[opr]_v1_[0-9a-f]{64}"),  # DigitalOcean
        re.compile(r"(?<![0-9A-Za-z_])shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{32}"),  # Shopify
        re.compile(r"(?<![0-9A-Za-z_])dapi[0-9a-f]{32}(?:-[0-9])?"),  # Databricks
        re.compile(r"(?<![0-9A-Za-z_])dckr_(?:pat|oat)_[0-9A-Za-z_-]{20,}"),  # Docker
        re.compile(r"(?<![0-9A-Za-z_])hv[sbr]\.[0-9A-Za-z_-]{24,}"),  # Vault
        re.compile(r"(?<![0-9A-Za-z_])lin_(?:api|oauth)_[0-9A-Za-z]{32,}"),  # Linear
        re.compile(r"(?<![0-9A-Za-z_])rubygems_[0-9a-f]{48}"),
        re.compile(r"(?<![0-9A-Za-z_])crates_io_[0-9A-Za-z]{30,}|(?<![0-9A-Za-z_])cio[0-9A-Za-z]{32}(?![0-9A-Za-z_])"),
        re.compile(r"(?<![0-9A-Za-z_])(?:ntn|secret)_[0-9A-Za-z]{43,}"),  # Notion
        re.compile(
            r"(?<![0-9A-Za-z_])(?:gsk|xai|pplx|r8|nvapi|tvly|fw|lsv2_pt|lsv2_sk|sntrys|sbp|glsa|glc|nfp|PMAK|figd|pat)[_-][0-9A-Za-z_-]*(?<=[0-9A-Za-z_-]{32})"
        ),
        re.compile(r"AGE-SECRET-KEY-1[0-9A-Z]{50,}"),
    )


_SERVICE_ANCHORS = (
    "_v1_", "shp", "dapi", "dckr_", "hvs.", "hvb.", "hvr.", "lin_", "rubygems_", "crates_io_", "cio", "ntn_", "secret_",
    "gsk_", "xai-", "pplx-", "r8_", "nvapi-", "tvly-", "fw_", "lsv2_", "sntrys_", "sbp_", "glsa_", "glc_", "nfp_",
    "PMAK-", "figd_", "pat_", "pat-", "AGE-SECRET",
)  # fmt: skip

_PLUGINS: tuple[tuple[str, Plugin, tuple[str, ...]], ...] = (
    # Kind, plugin, and text of which some part must be in a line for the plugin to find anything in it.
    # The surest first: where two overlap, the first one names the mark.
    ("aws-key", AWSKeyIdDetector(), ("A3T", "ABIA", "ACCA", "AKIA", "ASIA")),
    ("github-token", GitHubFineGrainedDetector(), ("github_pat_",)),
    ("github-token", GitHubDetector(), ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
    ("gitlab-token", GitLabTokenDetector(), ("gl", "GR1348941")),
    ("slack-token", SlackAppDetector(), ("xox", "xapp-", "hooks.slack.com")),
    ("slack-token", SlackDetector(), ("xox", "hooks.slack.com")),
    ("stripe-key", StripeKeyDetector(), ("k_live_", "k_test_", "whsec_")),
    ("sendgrid-key", SendGridDetector(), ("SG.",)),
    ("twilio-key", TwilioSecretDetector(), ("SK",)),
    ("npm-token", NpmTokenDetector(), ("npm_", ":_")),
    ("pypi-token", PypiTokenDetector(), ("pypi-A",)),
    ("hugging-face-token", HuggingFaceDetector(), ("hf_", "api_org_")),
    ("anthropic-key", AnthropicDetector(), ("sk-ant-",)),
    ("openai-key", OpenAIKeyDetector(), ("sk-",)),
    ("google-key", GoogleDetector(), ("AIza", "GOCSPX-", "ya29.", "1//0")),
    ("azure-key", AzureStorageKeyDetector(), ("AccountKey=",)),
    ("azure-key", AzureClientSecretDetector(), ("Q~",)),
    ("azure-key", AzureSignatureDetector(), ("sig=", "Key=")),
    ("telegram-token", TelegramBotTokenDetector(), (":",)),
    ("discord-token", DiscordWebhookDetector(), ("webhooks/",)),
    ("discord-token", DiscordTokenDetector(), (".",)),
    ("mailchimp-key", MailchimpDetector(), ("-us",)),
    ("square-token", SquareOAuthDetector(), ("sq0csp-",)),
    ("json-web-token", WebTokenDetector(), ("eyJ",)),
    ("service-token", ServiceTokenDetector(), _SERVICE_ANCHORS),
)


@dataclass(frozen=True, slots=True)
class Rule:
    kind: str
    pattern: re.Pattern[str]
    anchors: tuple[str, ...]
    """The pattern is worth a look where one of them stands."""
    bounded: bool = True
    """A match must not begin inside a word: genes and base64 hold every short prefix."""

    def spans(self, line: str) -> Iterator[Span]:
        if not any(anchor in line for anchor in self.anchors):
            return
        named = "secret" in self.pattern.groupindex
        for match in self.pattern.finditer(line):
            if not (self.bounded and _inside_word(line, match.start())):
                yield *(match.span("secret") if named else match.span()), self.kind


def rules() -> list[Rule]:
    """All expressions of all plugins, one rule each."""
    return [
        Rule(kind, pattern, anchors, bounded=kind != "telegram-token")  # `/bot123456789:…` is its place in an address
        for kind, plugin, anchors in _PLUGINS
        for pattern in plugin.denylist
    ]


def _inside_word(line: str, at: int) -> bool:
    return at > 0 and line[at - 1 : at + 1].isascii() and line[at].isalnum() and line[at - 1].isalnum()
