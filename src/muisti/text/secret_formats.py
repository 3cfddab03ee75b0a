"""The formats of known secrets: how their issuers make them, or the text before them.

All patterns take linear time: a repetition is bounded, or possessive and started only once in a run
of characters that it matches. `tests/faults/test_growth.py` derives hostile texts from every row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

# Where a token may begin: not inside a word, but after an escape such as \n or %3D.
_EDGE = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
# The same for a format with dashes and dots, or it would be tried at every letter of a word.
_START = r"(?:(?<![\w.~-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
_END = r"(?![A-Za-z0-9])"
_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
# The random part of a key whose prefix is also an ordinary word: it has a digit and a capital.
_ODD = r"(?=[A-Za-z_-]{0,80}[0-9])(?=[a-z0-9_-]{0,80}[A-Z])[A-Za-z0-9_-]"


class Format(NamedTuple):
    """A kind of secret. One of the words must occur; group 1, if any, is the secret.

    The pattern is compiled on first use: compiling is slow, and most texts need none.
    """

    kind: str
    words: tuple[str, ...]
    pattern: str
    flags: re.RegexFlag = re.ASCII


def _token(kind: str, words: str, pattern: str) -> Format:
    return Format(kind, tuple(words.split()), _EDGE + pattern)


def _phrase(kind: str, words: str, pattern: str) -> Format:
    return Format(kind, tuple(words.split("|")), pattern, re.ASCII | re.IGNORECASE | re.DOTALL)


# A longer prefix comes before a shorter one. The words are case-sensitive.
TOKENS: Sequence[Format] = (
    # Our own, of `muisti tenants token add`
    _token("muisti-token", "muisti_", rf"muisti_[0-9a-f]{{64}}{_END}"),
    # Clouds and hosts
    _token("aws-access-key", "AKIA ASIA ABIA ACCA", rf"A(?:KIA|SIA|BIA|CCA)[A-Z2-7]{{16}}{_END}"),
    _token("aws-bedrock-key", "ABSK", r"ABSK[A-Za-z0-9+/]{100,}+={0,2}"),
    _token("gcp-api-key", "AIza", r"AIza[\w-]{35,}+"),
    _token("google-oauth-secret", "GOCSPX-", r"GOCSPX-[\w-]{20,}+"),
    _token("google-oauth-token", "ya29. 1//0 1/0", r"(?:ya29\.|1//?0)[\w-]{30,}+(?:\.[\w-]++)?"),
    _token("azure-client-secret", "Q~", _START + r"[\w.~-]{3}[0-9]Q~[\w.~-]{31,}+"),
    _token("azure-devops-token", "AZDO", r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}"),
    _token("alibaba-access-key", "LTAI", rf"LTAI[A-Za-z0-9]{{17,26}}{_END}"),
    _token("tencent-secret-id", "AKID", rf"AKID[A-Za-z0-9]{{32}}{_END}"),
    _token("yandex-key", "AQVN", r"AQVN[\w-]{35,}+"),
    _token("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[a-f0-9]{64,}+"),
    _token("heroku-key", "HRKU-", r"HRKU-[\w-]{36,}+"),
    _token("netlify-token", "nfp_", r"nfp_[A-Za-z0-9]{36,}+"),
    _token("vercel-token", "vercel_blob_rw_ vcp_", r"(?:vercel_blob_rw_|vcp_)[A-Za-z0-9_]{24,}+"),
    _token("fly-token", "fo1_ fm1 fm2", r"(?:fo1_[\w-]{43,}+|FlyV1 fm[0-9][a-z]?_[\w+/=,-]{40,}+)"),
    _token(
        "tailscale-key", "tskey-", r"tskey-[a-z]{3,10}-[A-Za-z0-9]{11,40}(?:-[A-Za-z0-9]{10,}+)?"
    ),
    _token("supabase-key", "sbp_ sb_secret_", r"(?:sbp_[a-f0-9]{40,}+|sb_secret_[\w-]{20,}+)"),
    _token("planetscale-key", "pscale_", r"pscale_(?:tkn|pw|oauth)_[\w.=-]{32,}+"),
    _token("neon-key", "napi_", r"napi_[a-z0-9]{40,}+"),
    _token("scaleway-key", "SCW", rf"SCW[A-Z0-9]{{17}}{_END}"),
    _token("cloudflare-ca-key", "v1.0-", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{120,}+"),
    _token("cloudflare-token", "cfat_ cfut_ cfk_", r"cf(?:at|ut|k)_[\w-]{36,}+"),
    _token("openshift-token", "sha256~", r"sha256~[\w-]{43,}+"),
    # Code, packages, builds
    _token("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[opusr]_[A-Za-z0-9]{36,}+"),
    _token("github-token", "github_pat_", r"github_pat_\w{36,}+"),
    _token(
        "gitlab-token",
        "glpat- gldt- glrt- glptt- glft- glsoat- glcbt- glimt- glagent- gloas-",
        r"gl(?:pat|dt|rt|ptt|ft|soat|cbt|imt|agent|oas)-[\w-]{20,}+(?:\.[a-z0-9]{2,9}){0,3}",
    ),
    _token("bitbucket-token", "ATBB ATCTT3", r"(?:ATBB[A-Za-z0-9]{32,}+|ATCTT3[\w=-]{60,}+)"),
    _token("npm-token", "npm_", r"npm_[A-Za-z0-9]{36,}+"),
    _token("pypi-token", "pypi-AgE", r"pypi-AgE[\w-]{40,}+"),
    _token("rubygems-key", "rubygems_", r"rubygems_[a-f0-9]{48,}+"),
    _token("crates-token", "cio", rf"cio[A-Za-z0-9]{{32}}{_END}"),
    _token("docker-token", "dckr_", r"dckr_[po]at_[\w-]{27,}+"),
    _token("jfrog-key", "AKCp", r"AKCp[A-Za-z0-9]{69,}+"),
    _token("sonarqube-token", "sqp_ squ_ sqa_", r"sq[pua]_[a-f0-9]{40,}+"),
    _token("circleci-token", "CCIPAT_ CCIPRJ_", r"CCIP(?:AT|RJ)_[A-Za-z0-9]{20,30}_[a-f0-9]{40,}+"),
    _token("buildkite-token", "bkua_ bkat_", r"bk[ua]a?t?_[a-f0-9]{40,}+"),
    _token("sourcegraph-token", "sgp_", r"sgp_(?:[a-f0-9]{16}_|local_)?[a-f0-9]{40,}+"),
    _token("postman-key", "PMAK-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34,}+"),
    _token("octopus-key", "API-", rf"API-[A-Z0-9]{{26,30}}{_END}"),
    _token("clojars-token", "CLOJARS_", r"CLOJARS_[a-z0-9]{60,}+"),
    _token("launchdarkly-key", "sdk- api- mob-", rf"(?:sdk|api|mob)-{_UUID}"),
    # Secret stores
    _token("vault-token", "hvs. hvb. hvr.", r"hv[sbr]\.[\w-]{24,}+"),
    _token("terraform-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}+"),
    _token("pulumi-token", "pul-", r"pul-[a-f0-9]{40,}+"),
    _token(
        "doppler-token",
        "dp.",
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}+",
    ),
    _token(
        "1password-token", "ops_eyJ A3-", r"(?:ops_eyJ[\w=+/-]{60,}+|A3(?:-[A-Z0-9]{5,6}){5,6})"
    ),
    _token("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[0-9A-Z]{58,}+"),
    # Language models
    _token("anthropic-key", "sk-ant-", r"sk-ant-[\w-]{20,}+"),
    _token("openrouter-key", "sk-or-", r"sk-or-(?:v[0-9]-)?[a-f0-9]{40,}+"),
    _token("langfuse-key", "sk-lf-", rf"sk-lf-{_UUID}"),
    _token("openai-key", "sk-", rf"sk-(?:proj-|svcacct-|admin-|None-)?{_ODD}{{20,}}+"),
    _token("deepseek-key", "sk-", r"sk-[a-f0-9]{32,}+"),
    _token("huggingface-token", "hf_ api_org_", r"(?:hf_|api_org_)[A-Za-z0-9]{34,}+"),
    _token("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37,}+"),
    _token("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{40,}+"),
    _token("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{40,}+"),
    _token("xai-key", "xai-", r"xai-[A-Za-z0-9]{60,}+"),
    _token("nvidia-key", "nvapi-", r"nvapi-[\w-]{60,}+"),
    _token("fireworks-key", "fw_", r"fw_(?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9]{20,}+(?![A-Za-z0-9_])"),
    _token("together-key", "tgp_v1_", r"tgp_v1_[\w-]{40,}+"),
    _token("cerebras-key", "csk-", r"csk-[a-z0-9]{40,}+"),
    _token("pinecone-key", "pcsk_", r"pcsk_[A-Za-z0-9]{5,8}_[A-Za-z0-9]{40,}+"),
    _token("langsmith-key", "lsv2_", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10,}+"),
    _token("tavily-key", "tvly-", r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{30,}+"),
    _token("jina-key", "jina_", r"jina_[\w-]{50,}+"),
    _token("elevenlabs-key", "sk_", r"sk_[a-f0-9]{48,}+"),
    # Messaging and mail
    _token("slack-token", "xox", r"xox(?:e\.xox)?[abeoprscd]-[A-Za-z0-9%-]{16,}+"),
    _token("slack-token", "xapp- xwfp-", r"(?:xapp|xwfp)-[A-Za-z0-9-]{20,}+"),
    _token(
        "slack-webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/((?:services|workflows|triggers)/[\w/-]{20,}+)",
    ),
    _token(
        "teams-webhook", "webhook.office.com/", r"webhook\.office\.com/(webhookb2/[\w@/-]{60,}+)"
    ),
    _token("telegram-token", ":AA", r"[0-9]{6,12}:AA[\w-]{32,}+"),
    _token("sendgrid-key", "SG.", r"SG\.[\w-]{16,32}\.[\w-]{32,}+"),
    _token("mailgun-key", "key-", rf"key-[a-f0-9]{{32}}{_END}"),
    _token("mailchimp-key", "-us", rf"[a-f0-9]{{32}}-us[0-9]{{1,2}}{_END}"),
    _token("brevo-key", "xkeysib-", r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16,}+"),
    _token("resend-key", "re_", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24,}+"),
    _token("twilio-key", "SK", rf"SK[a-f0-9]{{32}}{_END}"),
    _token(
        "twilio-auth-token",
        "AC",
        rf"AC[a-f0-9]{{32}}[^A-Za-z0-9]{{1,3}}(?:[A-Za-z_]{{0,30}}[\s:=\"']{{1,6}})?"
        rf"([a-f0-9]{{32}}){_END}",
    ),
    _token("facebook-token", "EAA", r"(?<![+/])EAA(?!A)[A-Za-z0-9]{80,}+"),
    # Payments
    _token("stripe-key", "_live_ _test_", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}+"),
    _token("stripe-webhook-secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,}+"),
    _token("square-token", "EAAA sq0", r"(?:(?<![+/])EAAA[\w-]{60,}+|sq0[a-z]{3}-[\w-]{22,}+)"),
    _token(
        "braintree-token",
        "access_token$",
        r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32,}+",
    ),
    _token("razorpay-key", "rzp_", r"rzp_(?:live|test)_[A-Za-z0-9]{14,}+"),
    _token("flutterwave-key", "FLWSECK", r"FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}+(?:-X)?"),
    _token("plaid-token", "access-", rf"access-(?:sandbox|development|production)-{_UUID}"),
    _token("shippo-token", "shippo_", r"shippo_(?:live|test)_[a-f0-9]{40,}+"),
    _token("duffel-token", "duffel_", r"duffel_(?:live|test)_[\w=-]{40,}+"),
    _token("shopify-token", "shp", r"shp(?:at|ss|ca|pa|tka|ua)_[a-fA-F0-9]{32,}+"),
    _token("easypost-key", "EZAK EZTK", r"EZ[AT]K[A-Za-z0-9]{54,}+"),
    # Office tools
    _token("hubspot-token", "pat-na pat-eu", rf"pat-(?:na|eu)[0-9]-{_UUID}"),
    _token("linear-key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}+"),
    _token("notion-token", "secret_ ntn_", r"(?:secret_[A-Za-z0-9]{43,}+|ntn_[A-Za-z0-9]{40,}+)"),
    _token("figma-token", "figd_ figo_ figu_", r"fig[dou]_[\w-]{36,}+"),
    _token("airtable-token", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64,}+"),
    _token(
        "asana-token",
        "0/1 1/1 2/1",
        rf"[0-2]/[0-9]{{12,20}}(?:/[0-9]{{12,20}})?:[a-f0-9]{{32}}{_END}",
    ),
    _token("atlassian-token", "ATATT3", r"ATATT3[\w=-]{60,}+"),
    _token("dropbox-token", "sl.", r"sl\.(?:u\.)?[\w-]{100,}+"),
    _token("mapbox-token", "sk.eyJ", r"sk\.eyJ[\w-]{20,}+\.[\w-]{20,}+"),
    _token("typeform-token", "tfp_", r"tfp_[\w-]{40,}+"),
    _token("contentful-token", "CFPAT-", r"CFPAT-[\w-]{40,}+"),
    _token(
        "twitter-token",
        "AAAAAAAAAAAAAAAAAAAA",
        r"(?<![+/])A{20,24}[A-Za-z0-9]{1,60}%[A-Za-z0-9%]{30,}+",
    ),
    # Monitoring and data
    _token(
        "new-relic-key",
        "NRAK- NRJS- NRII- NRAL",
        rf"(?:NR(?:AK|JS|II)-[\w-]{{19,}}+|[a-f0-9]{{36}}NRAL{_END})",
    ),
    _token(
        "grafana-token",
        "glsa_ glc_",
        r"(?:glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8,}+|glc_[A-Za-z0-9+/=]{32,}+)",
    ),
    _token("grafana-key", "eyJrIjoi", r"eyJrIjoi[A-Za-z0-9+/=_-]{50,}+"),
    _token(
        "sentry-token", "sntrys_ sntryu_", r"(?:sntrys_eyJ[\w=+/-]{60,}+|sntryu_[a-f0-9]{64,}+)"
    ),
    _token("dynatrace-token", "dt0", r"dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64,}+"),
    _token("posthog-key", "phx_ phs_ pha_ phr_", r"ph[xsar]_[A-Za-z0-9]{32,}+"),
    _token("databricks-token", "dapi", r"dapi[a-f0-9]{32,}+(?:-[0-9])?"),
    _token("elastic-key", "essu_", r"essu_[A-Za-z0-9+/=_-]{40,}+"),
    _token("prefect-key", "pnu_", r"pnu_[A-Za-z0-9]{36,}+"),
    # A bot token has only dots to recognize it, so this runs often: begin with a letter, for speed.
    Format(
        "discord-token",
        (".",),
        r"[MNO](?:(?<![\w-].)|(?<=\\[nrt].))[\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}+",
    ),
    _token("jwt", "eyJ", _START + r"eyJ[\w-]{8,}+\.[\w-]{8,}+(?:\.[\w-]*+){1,3}+"),
)

# Placeholders are not secrets. `[redacted:` makes redaction idempotent.
_VALUE = (
    r"(?!\[redacted:|\$\{|\{\{|\$\(|<|\*{3}|%\(|%s|\{[\w.()!]{1,60}\}"
    r"|(?-i:\$[A-Z_]{2}|[A-Z]{2,20}(?:_[A-Z]{2,20}){1,5}(?![\w-]))|your[_-])"
)
# Code that fetches a value: `import getpass; password = getpass.getpass()`.
_CODE = (
    r"(?![\w.:>-]{1,60}[(\[]|(?:none|null|nil|true|false|undefined)\b|\$_[a-z]"
    r"|(?:self|this|args|config|settings|request|os|process|env)[.\[]|\$[a-z]\w{0,40}->)"
)

# The base64 of ASCII text, such as `user:password`: few ordinary words have this form.
_BASE64_TEXT = (
    r"(?-i:(?:[I-Za-f][C-HS-Xi-nyz0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/]){2,500}+"
    r"(?:[I-Za-f](?:[AQgw]=|[C-HS-Xi-nyz0-3][AEIMQUYcgkosw048])=)?(?![A-Za-z0-9+/=_-]))"
)

# Case is ignored; the words are in lower case.
PHRASES: Sequence[Format] = (
    # To the end of the block, or of the text if the block does not end.
    _phrase(
        "private-key",
        "begin ",
        r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY.*?(?:-{4,5} ?END [A-Z0-9 ]{0,60}-{4,5}|\Z)",
    ),
    _phrase(
        "private-key",
        "private-lines:",
        r"Private-Lines: ?[0-9]{1,4}.*?(?:Private-MAC: ?[a-f0-9]{1,64}|\Z)",
    ),
    _phrase(
        "aws-secret-key",
        "secret",
        r"secret[_ -]?(?:access[_ -]?)?key[\"'\s:=]{1,8}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    _phrase(
        "aws-session-token", "session", r"session[_-]?token[\"'\s:=]{1,8}([A-Za-z0-9/+=]{100,}+)"
    ),
    _phrase(
        "azure-storage-key",
        "accountkey|sharedaccesskey",
        r"(?:Account|SharedAccess)Key\s?=\s?([A-Za-z0-9+/=]{40,}+)",
    ),
    _phrase(
        "wireguard-key",
        "privatekey|private key|private_key|private-key|presharedkey|preshared",
        r"(?:private|pre-?shared)[_ -]?key[\"']?\s{0,4}[:=]?\s{0,4}[\"'`]?"
        r"([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)(?![A-Za-z0-9+/=])",
    ),
    _phrase(
        "docker-auth",
        "auth",
        rf"(?:[\"']auth[\"']\s{{0,4}}[:=]|\b_auth\s?=)\s{{0,4}}[\"']?({_BASE64_TEXT})",
    ),
    _phrase("azure-sas", "sig=", r"[?&;]sig=([A-Za-z0-9%+/=_-]{20,}+)"),
    _phrase("discord-webhook", "/api/webhooks/", r"/api/webhooks/([0-9]{15,21}/[\w-]{40,}+)"),
    _phrase("okta-token", "ssws ", rf"\bSSWS\s{{1,4}}({_VALUE}[\w-]{{20,}}+)"),
    _phrase(
        "authorization",
        "authorization",
        r"authorization[\"'\\]{0,2}\s?[:=]\s{0,4}[\"'\\]{0,2}"
        r"(?:basic|bearer|token|digest|apikey|key|negotiate)"
        rf"\s{{1,4}}({_VALUE}[\w.~+/=:-]{{8,}}+)",
    ),
    _phrase(
        "authorization",
        "bearer ",
        rf"\bbearer\s{{1,4}}({_VALUE}(?=[a-z._~+/=-]{{0,80}}[0-9])[\w.~+/=-]{{16,}}+)",
    ),
    _phrase(
        "url-password", "://", rf"://[^\s/?#@:\"'<>]{{0,128}}:({_VALUE}[^\s/?#\"'<>]{{1,256}})@"
    ),
    # Database passwords may contain an unescaped slash; in a web address it would begin the path.
    _phrase(
        "url-password",
        "sql://|ql+|postgres|mongo|redis|amqp|mqtt",
        r"(?:postgres|sql|mongodb|rediss?|amqps?|mqtts?|\+[a-z0-9]{2,16})(?:\+srv)?"
        r"://[^\s/?#@:\"'<>]{0,128}:"
        rf"(?![0-9]{{1,5}}[/?#]){_VALUE}([^\s@\"'<>]{{1,256}})@",
    ),
    _phrase(
        "connection-password",
        ";pwd|;password|; pwd|; password",
        rf";\s?(?:password|pwd)\s?=\s?{_CODE}({_VALUE}[^;\s\"']{{1,256}}+)",
    ),
    _phrase(
        "password",
        "curl",
        rf"\bcurl\b[^\n]{{0,120}}?\s(?:-u|--user)[ =][\"']?[\w.@+-]{{1,64}}"
        rf":({_VALUE}[^\s\"']{{1,256}})",
    ),
    _phrase("password", "sshpass", rf"\bsshpass\s{{1,3}}-p\s?[\"']?({_VALUE}[^\s\"']{{1,256}})"),
    _phrase(
        "password",
        "login |--pass|--token|--secret|--api-key",
        r"(?:\blogin\s{1,3}[\w.@+-]{1,64}\s{1,3}password"
        r"|--(?:password|passwd|pass|token|secret|api-key))"
        rf"\s{{1,3}}[\"']?({_VALUE}(?=[^\s0-9]{{0,80}}[0-9])[^\s\"']{{6,256}})",
    ),
    _phrase(
        "session-cookie",
        "sessid|sessionid|.sid=",
        rf"(?:PHPSESSID|JSESSIONID|sessionid|connect\.sid)=({_VALUE}[\w%.:+/-]{{16,}}+)",
    ),
)
