"""Known secrets are redacted and ordinary talk is not (contract C1).

All secrets here are made up. Each is joined from pieces, so that the scanners of git hosts have
nothing to report.
"""

from __future__ import annotations

import base64
import importlib
import json
import re
import subprocess
import sys
import uuid

import pytest
from benchmarks import datasets, privacy
from detect_secrets.plugins.base import BasePlugin
from hypothesis import given
from hypothesis import strategies as st

from muisti.settings import Settings
from muisti.text.redact import redact_text, redact_texts
from muisti.text.secret_formats import PHRASES, TOKENS
from muisti.text.secrets import redact_secrets
from tests.unit.making import ANY_TEXT

MIXED = "a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTuVwXyZ" * 6
HEX = "0a1b2c3d4e5f60718293a4b5c6d7e8f9" * 6
UPPER = "A2B3C4D5E6F7G2H3" * 6
DIGITS = "1234567890" * 4
UUID = "12ab34cd-" + "56ef-4a7b-8c9d-0e1f2a3b4c5d"
JWT = "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJ" + "zdWIiOiIxMjM0In0" + "." + MIXED[:43]

WHOLE = [
    ("muisti-token", "muisti_" + HEX[:64]),
    ("aws-access-key", "AKIA" + UPPER[:16]), ("aws-access-key", "ASIA" + UPPER[:16]), ("aws-bedrock-key", "ABSK" + MIXED[:110] + "=="),
    ("gcp-api-key", "AIza" + MIXED[:35]), ("google-oauth-secret", "GOCSPX-" + MIXED[:28]), ("google-oauth-token", "ya29." + MIXED[:60]),
    ("google-oauth-token", "1//0" + MIXED[:60]), ("azure-client-secret", "aB1" + "8Q~" + MIXED[:34]),
    ("azure-devops-token", MIXED[:76] + "AZDO" + "a1B2"), ("alibaba-access-key", "LTAI" + MIXED[:20]), ("tencent-secret-id", "AKID" + MIXED[:32]),
    ("yandex-key", "AQVN" + MIXED[:36]), ("digitalocean-token", "dop_v1_" + HEX[:64]), ("digitalocean-token", "doo_v1_" + HEX[:64]),
    ("digitalocean-token", "dor_v1_" + HEX[:64]), ("heroku-key", "HRKU-" + UUID), ("heroku-key", "HRKU-" + "AA" + MIXED[:58]),
    ("netlify-token", "nfp_" + MIXED[:36]), ("vercel-token", "vcp_" + MIXED[:40]), ("fly-token", "fo1_" + MIXED[:43]),
    ("fly-token", "FlyV1 " + "fm2_" + MIXED[:80]), ("tailscale-key", "tskey-" + "auth-" + MIXED[:12] + "-" + MIXED[:32]),
    ("supabase-key", "sbp_" + HEX[:40]), ("supabase-key", "sb_secret_" + MIXED[:31]), ("planetscale-key", "pscale_" + "tkn_" + MIXED[:43]),
    ("neon-key", "napi_" + HEX[:64]), ("scaleway-key", "SCW" + UPPER[:17]),
    *(("github-token", prefix + MIXED[:36]) for prefix in ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
    ("github-token", "github_" + "pat_" + MIXED[:22] + "_" + MIXED[:59]),
    *(("gitlab-token", prefix + MIXED[:20]) for prefix in ("glpat-", "gldt-", "glrt-", "glptt-")),
    ("bitbucket-token", "ATBB" + MIXED[:32]), ("npm-token", "npm_" + MIXED[:36]), ("pypi-token", "pypi-" + "AgEIcHlwaS5vcmc" + MIXED[:70]),
    ("rubygems-key", "rubygems_" + HEX[:48]), ("crates-token", "cio" + MIXED[:32]), ("docker-token", "dckr_" + "pat_" + MIXED[:27]),
    ("jfrog-key", "AKCp" + MIXED[:69]), ("sonarqube-token", "sqp_" + HEX[:40]), ("circleci-token", "CCIPAT_" + MIXED[:22] + "_" + HEX[:40]),
    ("buildkite-token", "bkua_" + HEX[:40]), ("sourcegraph-token", "sgp_" + HEX[:16] + "_" + HEX[:40]),
    ("postman-key", "PMAK-" + HEX[:24] + "-" + HEX[:34]), ("launchdarkly-key", "sdk-" + UUID), ("launchdarkly-key", "api-" + UUID),
    ("vault-token", "hvs." + MIXED[:90]), ("vault-token", "hvb." + MIXED[:140]), ("terraform-token", MIXED[:14] + ".atlasv1." + MIXED[:67]),
    ("pulumi-token", "pul-" + HEX[:40]), ("doppler-token", "dp.pt." + MIXED[:43]), ("1password-token", "ops_" + "eyJ" + MIXED[:200]),
    ("age-key", "AGE-SECRET-" + "KEY-1" + UPPER[:58]), ("anthropic-key", "sk-ant-" + "api03-" + MIXED[:93] + "AA"),
    ("openrouter-key", "sk-or-" + "v1-" + HEX[:64]), ("langfuse-key", "sk-lf-" + UUID), ("openai-key", "sk-" + MIXED[:48]), ("openai-key", "sk-" + MIXED[:20] + "T3Blbk" + "FJ" + MIXED[:20]),
    ("openai-key", "sk-proj-" + MIXED[:60] + "_-" + MIXED[:60]), ("openai-key", "sk-svcacct-" + MIXED[:100]), ("deepseek-key", "sk-" + HEX[:32]),
    ("huggingface-token", "hf_" + MIXED[:34]), ("replicate-token", "r8_" + MIXED[:37]), ("groq-key", "gsk_" + MIXED[:52]),
    ("perplexity-key", "pplx-" + MIXED[:48]), ("xai-key", "xai-" + MIXED[:80]), ("nvidia-key", "nvapi-" + MIXED[:64]),
    ("cerebras-key", "csk-" + HEX[:48]), ("pinecone-key", "pcsk_" + MIXED[:6] + "_" + MIXED[:63]),
    ("langsmith-key", "lsv2_" + "pt_" + HEX[:32] + "_" + HEX[:10]), ("tavily-key", "tvly-" + "dev-" + MIXED[:32]), ("jina-key", "jina_" + MIXED[:60]),
    ("elevenlabs-key", "sk_" + HEX[:48]),
    ("slack-token", "xoxb-" + DIGITS[:12] + "-" + DIGITS[:13] + "-" + MIXED[:24]), ("slack-token", "xoxp-" + DIGITS[:12] + "-" + HEX[:32]),
    ("slack-token", "xoxe.xoxp-" + "1-" + MIXED[:60]), ("slack-token", "xapp-" + "1-A012-" + DIGITS[:13] + "-" + HEX[:64]),
    ("telegram-token", DIGITS[:10] + ":AA" + MIXED[:33]), ("sendgrid-key", "SG." + MIXED[:22] + "." + MIXED[:43]),
    ("mailgun-key", "key-" + HEX[:32]), ("mailchimp-key", HEX[:32] + "-us" + "12"), ("brevo-key", "xkeysib-" + HEX[:64] + "-" + MIXED[:16]),
    ("resend-key", "re_" + MIXED[:8] + "_" + MIXED[:24]), ("twilio-key", "SK" + HEX[:32]), ("facebook-token", "EAA" + "B" + MIXED[:120]),
    ("stripe-key", "sk_" + "live_" + MIXED[:24]), ("stripe-key", "rk_" + "live_" + MIXED[:24]), ("stripe-key", "sk_" + "test_" + MIXED[:24]),
    ("stripe-webhook-secret", "whsec_" + MIXED[:32]), ("square-token", "EAAA" + MIXED[:60]), ("square-token", "sq0csp-" + MIXED[:43]),
    ("braintree-token", "access_token$" + "production$" + HEX[:16] + "$" + HEX[:32]), ("razorpay-key", "rzp_" + "live_" + MIXED[:14]),
    ("flutterwave-key", "FLWSECK" + "_TEST-" + HEX[:32] + "-X"), ("plaid-token", "access-" + "sandbox-" + UUID),
    *(("shopify-token", prefix + HEX[:32]) for prefix in ("shpat_", "shpss_", "shpca_", "shppa_")), ("easypost-key", "EZAK" + MIXED[:54]),
    ("linear-key", "lin_" + "api_" + MIXED[:40]), ("notion-token", "secret_" + MIXED[:43]), ("notion-token", "ntn_" + MIXED[:46]),
    ("figma-token", "figd_" + MIXED[:40]), ("airtable-token", "pat" + MIXED[:14] + "." + HEX[:64]),
    ("asana-token", "1/" + "1" + DIGITS[:15] + ":" + HEX[:32]), ("atlassian-token", "ATATT3" + MIXED[:180] + "=0A1B2C3D"),
    ("dropbox-token", "sl." + MIXED[:135]), ("mapbox-token", "sk.eyJ" + MIXED[:60] + "." + MIXED[:22]), ("typeform-token", "tfp_" + MIXED[:44]),
    ("contentful-token", "CFPAT-" + MIXED[:43]), ("twitter-token", "A" * 22 + "MLhe" + "A" * 7 + "0%2B" + MIXED[:40] + "%3D" + MIXED[:50]),
    ("new-relic-key", "NRAK-" + UPPER[:27]), ("new-relic-key", HEX[:36] + "NRAL"), ("grafana-token", "glsa_" + MIXED[:32] + "_" + HEX[:8]),
    ("grafana-token", "glc_" + MIXED[:60]), ("grafana-key", "eyJrIjoi" + MIXED[:80]), ("sentry-token", "sntrys_" + "eyJ" + MIXED[:100]),
    ("sentry-token", "sntryu_" + HEX[:64]), ("databricks-token", "dapi" + HEX[:32]), ("elastic-key", "essu_" + MIXED[:60]),
    ("cloudflare-ca-key", "v1.0-" + HEX[:24] + "-" + HEX[:146]), ("cloudflare-token", "cfat_" + MIXED[:44]), ("openshift-token", "sha256~" + MIXED[:43]),
    ("octopus-key", "API-" + UPPER[:26]), ("clojars-token", "CLOJARS_" + HEX[:60]), ("fireworks-key", "fw_" + MIXED[:24]), ("together-key", "tgp_v1_" + MIXED[:43]),
    ("shippo-token", "shippo_" + "live_" + HEX[:40]), ("duffel-token", "duffel_" + "test_" + MIXED[:43]), ("hubspot-token", "pat-na1-" + UUID),
    ("dynatrace-token", "dt0c01." + UPPER[:24] + "." + UPPER[:64]), ("posthog-key", "phx_" + MIXED[:43]), ("posthog-key", "phs_" + MIXED[:43]),
    ("prefect-key", "pnu_" + MIXED[:36]), ("discord-token", "MT" + MIXED[:22] + "." + "GaBcDe" + "." + MIXED[:38]), ("jwt", JWT),
    ("private-key", "-----BEGIN RSA " + "PRIVATE KEY-----\n" + MIXED + "\n" + MIXED + "\n-----END RSA " + "PRIVATE KEY-----"),
    ("private-key", "-----BEGIN OPENSSH " + "PRIVATE KEY-----\\n" + MIXED + "\\n-----END OPENSSH " + "PRIVATE KEY-----"),
    ("private-key", "-----BEGIN PGP " + "PRIVATE KEY BLOCK-----\n\n" + MIXED + "\n-----END PGP " + "PRIVATE KEY BLOCK-----"),
]  # fmt: skip
"""Kind and secret; nothing of it may be left."""

WITHIN = [
    ("aws-secret-key", "aws_secret_access_key = {}", MIXED[:39] + "/"), ("aws-session-token", "aws_session_token={}", MIXED[:200]),
    ("azure-storage-key", "AccountName=x;AccountKey={};EndpointSuffix=core", MIXED[:86] + "=="),
    ("azure-storage-key", "SharedAccessKeyName=x;SharedAccessKey={}", MIXED[:43] + "="),
    ("azure-sas", "https://x.blob.core.windows.net/c?sv=2022-11-02&sig={}", MIXED[:43] + "%3D"),
    ("slack-webhook", "https://hooks.slack.com/{}", "services/" + "T01234567/B01234567/" + MIXED[:24]),
    ("teams-webhook", "https://a.webhook.office.com/{}", "webhookb2/" + UUID + "@" + UUID + "/IncomingWebhook/" + HEX[:32]),
    ("discord-webhook", "https://discord.com/api/webhooks/{}", DIGITS[:18] + "/" + MIXED[:68]),
    ("twilio-auth-token", "AC" + HEX[:32] + ":{}", HEX[5:37]), ("twilio-auth-token", "AC" + HEX[:32] + "\nauth_token={}", HEX[5:37]),
    ("okta-token", "the header is SSWS {}", "00" + MIXED[:40]), ("authorization", "Authorization: Basic {}", "dXNlcjpo" + "dW50ZXIy"),
    ("authorization", "-H 'authorization: Bearer {}'", MIXED[:30]), ("authorization", '"Authorization": "token {}"', HEX[:40]),
    ("authorization", "send Bearer {}", MIXED[:30]), ("npm-token", "//registry.npmjs.org/:_authToken={}", "npm_" + MIXED[:36]),
    ("token", "//registry.npmjs.org/:_authToken={}", UUID),
    *(("url-password", f"{scheme}://bob:{{}}@db.example:5432/app", "hunter") for scheme in ("postgres", "mysql", "https", "amqp", "mongodb+srv", "ftp")),
    ("url-password", "redis://:{}@cache:6379/0", "swordfish"), ("url-password", "https://bob:{}@example.org", "p@ss:word"),
    ("url-password", "postgresql://bob:{}@db/app", "a/b#c?d"),
    ("connection-password", "Server=db;User Id=sa;Password={};Encrypt=yes", "swordfish"), ("connection-password", "Driver=x;Uid=sa;PWD={}", "sw0rdfish"),
    ("password", "curl -s -u bob:{} https://example.org", "swordfish"), ("password", "sshpass -p {} ssh host", "swordfish"),
    ("session-cookie", "Cookie: PHPSESSID={}", "r2t5uvjq435r4q7ib3vtdjq120"),
    ("password", "the password is {}", "hunter2"), ("password", "password: {}", "hunter2!"), ("password", "my wifi password is {}", "Tr0ub4dor&3"),
    ("password", "my wifi password is {}.", "Tr0ub4dor&3"), ("password", 'password = "{}"', "correct horse battery staple"),
    ("password", "PASSWORD={}", "hunter2"), ("password", "**Password:** {}", "hunter2"), ("password", "- passwd: `{}`", "swordfish"),
    ("password", '{{"db_password": "{}"}}', "swordfish"), ("password", 'cfg["password"] = \'{}\'', "swordfish"), ("password", "DB_PASS={}", "s3same"),
    ("password", "password for the laptop is {}, he said", "hunter2"), ("password", "I changed my password to {}", "hunter2"),
    ("password", "the passcode is {}", "482913"), ("password", "password := {}", "$ecret1"), ("password", "passphrase: '{}'", "top of"[:3] + "az mun"),
    ("password", "пароль: {}", "qwerty12"), ("password", "Пароль - {}", "qwerty12"), ("password", "密码是{}。", "abc12345"),
    ("password", "Salasana on {}", "hunter2"), ("password", "Das Passwort ist {}", "hunter2"), ("password", "password: {}", "x9" * 300),
    ("password", "| password | {} |", "hunter2"), ("password", "pw: {}", "hunter2"), ("password", "Password (wifi): {}", "hunter2"),
    ("password", "the password was changed to {}", "Winter2024!"), ("password", "the new password will be {}", "Winter2024!"),
    ("password", "<password>{}</password>", "hunter2"), ("password", "mysql --password {} -h db", "hunter2"),
    ("password", "machine x login bob password {}", "hunter2"), ("password", 'password="{}"', 'a\\"b1c'), ("password", "password: {}", "Abc,def1"),
    ("password", 'body "{{\\"password\\": \\"{}\\", \\"a\\": 1}}"', "hunter2"), ("password", "the password's {}", "hunter2"),
    ("wireguard-key", "[Interface]\nPrivateKey = {}\nListenPort = 51820", MIXED[:42] + "Q="), ("wireguard-key", "PresharedKey={}", MIXED[:42] + "A="),
    ("wireguard-key", "the WireGuard private key {}", MIXED[:42] + "w="),
    *(("docker-auth", '{{"auths": {{"r.example": {{"auth": "{}"}}}}}}', base64.b64encode(pair).decode())
      for pair in (b"user:pass", b"bob:hunter2", b"bob:hunter22", b"_json_key:{...}", b"AWS:eyJwYXlsb2Fk")),
    ("docker-auth", "//registry.example/:_auth={}", "Ym9iOmh1" + "bnRlcjI="), ("connection-password", "Server=db; Password = {};", "swordfish"),
    ("api-key", "api_key: {}", HEX[:32]), ("api-key", "apiKey = '{}'", MIXED[:24]), ("api-key", "DD_API_KEY={}", HEX[:32]),
    ("api-key", "X-Api-Key: {}", UUID), ("api-key", "ALGOLIA_API_KEY={}", HEX[:32]), ("token", "CLOUDFLARE_API_TOKEN={}", MIXED[:40]),
    ("token", "token: {}", "abc123def456"), ("secret", "SECRET_TOKEN={}", "abc123def456"), ("secret", '"client_secret": "{}"', MIXED[:32]),
    ("token", "https://example.org/cb?access_token={}", "2YotnFZFEjr1z"), ("secret", "SECRET_KEY = '{}'", "django-insecure-#x9)k" + "w$e2"),
]  # fmt: skip
"""Kind, what stands around the secret and stays, and the secret."""

PLACES = [
    "{}",
    "use {} for it",
    "{} is what you need",
    "it is {}",
    'x = "{}"',
    "('{}')",
    "```\n{}\n```",
    "`{}`",
    "a,{};b",
    "x={}",
    "ключ {}。",
    "\\n{}\\n",
    "\u00e4{}",
]


def shown(table: list[tuple[str, ...]]) -> list[str]:
    return [f"{row[0]}-{number}" for number, row in enumerate(table)]


@pytest.mark.parametrize(("kind", "secret"), WHOLE, ids=shown(WHOLE))
def test_a_secret_is_known_by_its_form_wherever_it_stands(kind: str, secret: str) -> None:
    for place in PLACES:
        assert redact_secrets(place.format(secret)) == place.format(f"[redacted:{kind}]")


@pytest.mark.parametrize(("kind", "around", "secret"), WITHIN, ids=shown(WITHIN))
def test_a_secret_is_known_by_its_name_which_stays(kind: str, around: str, secret: str) -> None:
    for place in ("{}", "Note: {}", "```\n{}\n```", "{}\nThe rest."):
        assert redact_secrets(place.format(around.format(secret))) == place.format(
            around.format(f"[redacted:{kind}]")
        )


def test_there_are_sixty_forms_and_each_row_has_an_example() -> None:
    kinds = {row.kind for row in (*TOKENS, *PHRASES)}
    assert len(kinds) >= 60
    assert kinds <= {row[0] for row in (*WHOLE, *WITHIN)}


@pytest.mark.parametrize(
    ("kind", "secret"), [row for row in WHOLE if row[0] == "private-key"], ids=[0, 1, 2]
)
def test_a_key_block_that_does_not_end_takes_the_rest(kind: str, secret: str) -> None:
    cut = secret[: len(secret) - 40]
    assert redact_secrets(f"before\n{cut}\n and more") == f"before\n[redacted:{kind}]"


def test_a_service_account_file() -> None:
    text = json.dumps(
        {"type": "service_account", "private_key": WHOLE[-3][1], "client_email": "a@b.example"}
    )
    assert (
        redact_secrets(text)
        == '{"type": "service_account", "private_key": "[redacted:private-key]", "client_email": "a@b.example"}'
    )


def test_a_putty_key() -> None:
    text = (
        "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n"
        + MIXED[:48]
        + "\nPrivate-MAC: "
        + HEX[:64]
    )
    assert redact_secrets(text) == "PuTTY-User-Key-File-3: ssh-ed25519\n[redacted:private-key]"


ORDINARY = [
    "my password is important", "password > 8 characters", "tokens > 100000", "| password | string |", "the login page password field", "--password VALUE",
    "the password will be sent by mail", "the password (if any): none", "password -> see the vault", "the password's length", "password: required", "the token: see docs", "api_key: str", "password=None", "password: <your-key>", "password = xxxx",
    "PASSWORD=${DB_PASSWORD}", "password: $PASSWORD", "password = os.environ['DB_PASSWORD']", "token = process.env.TOKEN2", "password: ****", "password: ********",
    "password = changeme", 'password: "required"', "password: str | None = None", "the password is wrong!", "the password is too short", "password: 8 characters",
    "password: 12-character minimum", 'password: "must be at least 8 characters"', "I sent the password to bob@example.com", "password is hashed with sha256",
    "password hash: argon2id", "the password is sha256", "max_tokens: 4096", "tokens = 128000", "token_count: 1234567", "a token is 4 characters", "tokenizer: bert-base-v2",
    "the secret is patience", "The secret to good bread is time.", "secretary: Ann2", "secret: it's a surprise party", "password=password", "password = self.password2",
    "token = get_token(x1y2z3)", "password=credentials[1]", "api_key=settings.api_key_2", "token: 2026-03-10", "password reset: see https://example.org/reset2",
    "secret: https://example.org/a1b2c3d4", "passwordless login is 2x faster", "the bearer of this letter", "Bearer authentication", "Basic understanding of 3D",
    "http://localhost:3000/@vite/client", "see https://example.org:8080/a@b", "postgres://localhost:5432/db", "postgres://bob:${PW}@db/app", "git@github.com:a/b.git",
    "commit 5386931" + HEX[:33], "sha256:" + HEX[:64], UUID, "session 0195f000-0000-7000-8000-000000000001", "docker run -u 1000:1000 x", "risk-" + MIXED[:30],
    "sk-learn is a library", "sk-circle-fade-dot-and-more-of-it", "re_compile_everything_here_now", "hf_hub_download", "key-value store", "xai-org", "npm_config_registry",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + MIXED[:43], "eyJ is how it begins", "[redacted:password]",
    "password: [redacted:password]", "api_key: YOUR_API_KEY", "api_key: your-api-key-123", "token: ...", "password: (hidden)", "Passwort: erforderlich", "密码是重要的。",
    "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 40).decode(), base64.b64encode(bytes(3000)).decode(),
    "a" * 5000, "Der Token ist wichtig", "the password was changed in 2024", "key: value", "El token es importante", "mot de passe : oublié", "it costs $100 to pass",
]  # fmt: skip


@pytest.mark.parametrize("text", ORDINARY, ids=lambda text: text[:40])
def test_ordinary_talk_stays_as_it_is(text: str) -> None:
    assert redact_secrets(text) == text


SECRETS = [secret for _, secret in WHOLE]
SENTENCES = [around.format(secret) for _, around, secret in WITHIN]


@given(
    st.lists(
        st.one_of(
            st.sampled_from(SECRETS),
            st.sampled_from(SENTENCES),
            st.sampled_from(ORDINARY[:40]),
            ANY_TEXT,
        ),
        max_size=6,
    ),
    st.sampled_from(["", " ", "\n", "=", ":", '"']),
)
def test_twice_is_once(parts: list[str], between: str) -> None:
    once = redact_secrets(between.join(parts))
    assert redact_secrets(once) == once


@given(ANY_TEXT, st.sampled_from(SECRETS), ANY_TEXT)
def test_no_secret_is_left_among_any_words(before: str, secret: str, after: str) -> None:
    assert secret not in redact_secrets(f"{before} {secret} {after}")


@given(
    st.text(st.characters(categories=["Ll", "Lu", "Zs"], exclude_characters="pkts密码パスワードп"))
)
def test_text_without_any_word_of_the_table_is_unchanged(text: str) -> None:
    assert redact_secrets(text) == text


@given(st.uuids(), st.binary(min_size=20, max_size=64))
def test_ids_and_hashes_are_no_secrets(one: uuid.UUID, other: bytes) -> None:
    text = f"memory {one} at {other.hex()}"
    assert redact_secrets(text) == text


PLUGINS = {
    "aws": "AWSKeyDetector", "azure_storage_key": "AzureStorageKeyDetector", "basic_auth": "BasicAuthDetector", "discord": "DiscordBotTokenDetector",
    "github_token": "GitHubTokenDetector", "gitlab_token": "GitLabTokenDetector", "jwt": "JwtTokenDetector", "mailchimp": "MailchimpDetector", "npm": "NpmDetector",
    "openai": "OpenAIDetector", "private_key": "PrivateKeyDetector", "pypi_token": "PypiTokenDetector", "sendgrid": "SendGridDetector", "slack": "SlackDetector",
    "square_oauth": "SquareOAuthDetector", "stripe": "StripeDetector", "telegram_token": "TelegramBotTokenDetector", "twilio": "TwilioKeyDetector",
}  # fmt: skip


@pytest.mark.parametrize("module", PLUGINS)
def test_a_second_opinion_finds_nothing_left(module: str) -> None:
    """detect-secrets looks at every example before and after. Twilio's AC… is an account's name,
    not its secret.
    """
    plugin: BasePlugin = getattr(
        importlib.import_module(f"detect_secrets.plugins.{module}"), PLUGINS[module]
    )()
    lines = [line for text in (*SECRETS, *SENTENCES) for line in text.splitlines()]
    seen = [line for line in lines if found(plugin, line)]
    left = [
        line
        for text in (*SECRETS, *SENTENCES)
        for line in redact_secrets(text).splitlines()
        if found(plugin, line)
    ]
    assert seen, "the plugin knows none of our examples"
    assert [line for line in left if not line.startswith("AC")] == []


def found(plugin: BasePlugin, line: str) -> set[str]:
    secrets = (
        secret.secret_value or ""
        for secret in plugin.analyze_line(filename="x", line=line, line_number=1)
    )
    return {secret for secret in secrets if not secret.startswith("[redacted:")}


def test_ordinary_texts_of_others_raise_no_alarm() -> None:
    """At most one in a hundred turns of a talk may be changed; the figures are in
    benchmarks/results/privacy.json.
    """
    if datasets.missing(datasets.DEFAULT_FOLDER, ["locomo_dev.json"]):
        pytest.skip(f"needs the conversations in {datasets.DEFAULT_FOLDER}")
    heard = privacy.alarms(datasets.DEFAULT_FOLDER)
    assert heard
    assert [row for row in heard if row.share > privacy.MOST_FALSE] == []


def test_the_benchmark_runs_on_small_texts() -> None:
    assert {row.shape for row in privacy.growth(1000, runs=1)} == set(privacy.HOSTILE)
    assert set(privacy.cost(["a memory"] * 3, runs=1)) >= {"redact_text", "sha256"}
    assert privacy.alarms(datasets.DEFAULT_FOLDER / "nowhere") == []
    assert privacy.memories_of(datasets.DEFAULT_FOLDER / "nowhere", most=3)[0].startswith(
        "The user"
    )


def test_what_most_texts_do_not_need_is_not_compiled() -> None:
    code = (
        "import sys\n"
        "from muisti.text import secrets\n"
        "for text in ('Plain talk.', 'My key is ' + 'ghp_' + 'a1B2' * 9):\n"
        "    secrets.redact_secrets(text)\n"
        "    print(secrets._compile.cache_info().currsize, 'muisti.text.named_secrets' in sys.modules)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert said == ["0 False", "1 True"]


def test_every_row_compiles_with_at_most_one_group() -> None:
    for row in (*TOKENS, *PHRASES):
        unnamed = re.compile(row.pattern, row.flags)
        assert unnamed.groups - len(unnamed.groupindex) <= 1, row.kind


@given(
    st.lists(
        st.sampled_from(
            [
                *(text for _, text in WHOLE),
                "password: hunter2x9",
                "plain talk about keys",
                "İstanbul",
                "x" * 25,
                "",
                "a\nb",
                "Session 4",
                "<private>p</private> q",
            ]
        ),
        max_size=8,
    )
)
def test_many_texts_at_once_are_cleaned_as_one_by_one(texts: list[str]) -> None:
    assert redact_texts(texts, Settings()) == [redact_text(text, Settings()) for text in texts]
