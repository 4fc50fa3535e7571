"""What counts as a secret, and what does not; every secret here is made up, and put together."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foldmark.redaction import redacted

SHA = "3f786850e387550fdab836ed7e6dc881de23001b"
UUID = "123e4567-e89b-42d3-a456-426614174000"
MIXED = "a1B2z3X4"
BASE64 = "qL7/" + "x9Kd+Wz3" * 10
BODY = "\n".join(["MIIEowIBAAKCAQEA" + "b7Q/" * 12] * 4)
BEGIN, END = (f"-----{edge} RSA PRIVATE " + "KEY-----" for edge in ("BEGIN", "END"))

ALONE = [
    pytest.param("sk-" + "proj-" + MIXED * 8, "API key", id="OpenAI, a project's"),
    pytest.param("sk-" + MIXED * 6, "API key", id="OpenAI"),
    pytest.param("sk-" + "ant-api03-" + MIXED * 10 + "-AA", "API key", id="Anthropic"),
    pytest.param("sk-" + "or-v1-" + SHA * 2, "API key", id="OpenRouter"),
    pytest.param("sk_" + "live_" + MIXED * 3, "API key", id="Stripe"),
    pytest.param("rk_" + "test_" + MIXED * 3, "API key", id="Stripe, restricted"),
    pytest.param("SK" + "0a1b2c3d" * 4, "API key", id="Twilio"),
    pytest.param("SG" + "." + MIXED * 3 + "." + MIXED * 5, "API key", id="SendGrid"),
    pytest.param("AIza" + "SyD-" + MIXED * 4, "API key", id="Google API"),
    pytest.param("GOCSPX" + "-" + MIXED * 3, "API key", id="Google client"),
    pytest.param("ABSK" + "QmVkcm9ja0FQSUtleS" + MIXED * 8 + "=", "API key", id="Bedrock"),
    pytest.param("bedrock-api" + "-key-" + BASE64 + "==", "API key", id="Bedrock, short-lived"),
    pytest.param("AKIA" + "QWERTY2345ASDFGH", "AWS key", id="AWS key id"),
    pytest.param("ASIA" + "QWERTY2345ASDFGH", "AWS key", id="AWS key id, temporary"),
    pytest.param("ghp_" + "a1B2" * 9, "GitHub token", id="GitHub"),
    pytest.param("ghs_" + "a1B2" * 9, "GitHub token", id="GitHub, an app's"),
    pytest.param("github" + "_pat_" + MIXED * 3 + "_" + MIXED * 7, "GitHub token", id="GitHub PAT"),
    pytest.param("glpat" + "-" + MIXED * 2 + "x-_9", "GitLab token", id="GitLab"),
    pytest.param("xoxb" + "-123456789012-" + MIXED * 3, "Slack token", id="Slack"),
    pytest.param("xapp" + "-1-A012345-" + MIXED * 3, "Slack token", id="Slack, an app's"),
    pytest.param("hf_" + MIXED * 4 + "eF", "token", id="Hugging Face"),
    pytest.param("npm_" + "a1B2" * 9, "token", id="npm"),
    pytest.param("pypi" + "-AgEIcHlwaS5vcmc" + MIXED * 10, "token", id="PyPI"),
    pytest.param("ya29" + ".a0" + MIXED * 6, "token", id="Google OAuth"),
    pytest.param("eyJ" + MIXED * 3 + ".eyJ" + MIXED * 6 + "." + MIXED * 5, "token", id="JWT"),
    pytest.param(f"{BEGIN}\n{BODY}\n{END}", "private key", id="PEM"),
    pytest.param(f"{BEGIN}\n{BODY}\n{END}".replace("\n", "\\n"), "private key", id="PEM in JSON"),
]


@pytest.mark.parametrize(("secret", "kind"), ALONE)
@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "I use {}.",
        "x={}\n",
        "密钥{}。",
        'say "{}"',
        "a\\n{}\\nb",
        "https://h/?k={}&x=1",
        "[{}]",
    ],
)
def test_a_secret_is_known_by_its_shape(secret: str, kind: str, around: str) -> None:
    assert redacted(around.format(secret)) == around.format(f"[redacted {kind}]")


@pytest.mark.parametrize(
    ("end", "stays"),
    [
        pytest.param("", "", id="at a line's end"),
        pytest.param("\nb7Q", "", id="inside of a line"),
        pytest.param('\\nb7Q"', '"', id="in JSON"),
        pytest.param("\nb7Q…", "…", id="with a mark"),
        pytest.param("\nand so on.", "\nand so on.", id="before prose"),
    ],
)
def test_a_private_key_that_is_cut_off_goes_as_far_as_it_is_there(end: str, stays: str) -> None:
    assert redacted(f"{BEGIN}\n{BODY}{end}") == f"[redacted private key]{stays}"


@pytest.mark.parametrize(
    ("around", "secret", "kind"),
    [
        pytest.param("aws_secret_access_key = {}", BASE64[:40], "API key", id="AWS in a file"),
        pytest.param('{{"SecretAccessKey": "{}"}}', BASE64[:40], "API key", id="AWS in JSON"),
        pytest.param("AWS_SECRET_ACCESS_KEY={}\n", BASE64[:40], "API key", id="AWS in env"),
        pytest.param("<SecretAccessKey>{}</", BASE64[:40], "API key", id="AWS in XML"),
        pytest.param("aws_session_token={}", BASE64 + "==", "secret", id="AWS session"),
        pytest.param("AWS_BEARER_TOKEN_BEDROCK={}", MIXED * 5, "secret", id="Bedrock in env"),
        pytest.param(";AccountKey={};EndpointSuffix=x", BASE64 + "==", "API key", id="Azure"),
        pytest.param("hooks.slack.com/services/{}", "T01/B02/" + MIXED * 3, "webhook", id="Slack"),
        pytest.param("/api/webhooks/123456789012345678/{}", MIXED * 8, "webhook", id="Discord"),
        pytest.param("bot123456789:{}/getMe", "AA" + MIXED * 4 + "x", "token", id="Telegram"),
        pytest.param(
            "M" + MIXED * 2 + "TIzNDU2.{}", "GabcDe." + MIXED * 4, "token", id="Discord bot"
        ),
        pytest.param("Authorization: Bearer {}", MIXED * 3, "token", id="bearer"),
        pytest.param(
            '"Authorization": "Basic {}"', "dXNlcjpw" * 2 + "YQ==", "password", id="basic"
        ),
        pytest.param("postgres://u:{}@h/d", "hunter2", "password", id="Postgres"),
        pytest.param("mongodb+srv://u:{}@c.net", "p@ss:w", "password", id="Mongo"),
        pytest.param("redis://:{}@h:6379/0", "hunter", "password", id="Redis, no user"),
        pytest.param("amqp://guest:{}@mq:5672", "hunter2", "password", id="AMQP"),
        pytest.param("Server=s;Uid=sa;Password={};", "Tr0ub4d!", "password", id="ODBC"),
        pytest.param("Server=s;Uid=sa;Pwd={};", "hunter", "password", id="ODBC, short"),
        pytest.param("DEPLOY_TOKEN={}", MIXED * 2, "secret", id="env token"),
        pytest.param("export SESSION_SECRET='{}'", SHA + "00ff", "secret", id="env secret"),
        pytest.param("DB_PASSWORD={}", "hunter2pass", "password", id="env password"),
        pytest.param("PASSWORD={}", "Winter-2031", "password", id="env password of words"),
        pytest.param("STRIPE_API_KEY_PROD={}", MIXED * 2, "API key", id="env key of a stage"),
        pytest.param('"api_key": "{}"', MIXED * 3, "API key", id="JSON"),
        pytest.param('\\"apiKey\\":\\"{}\\"', MIXED * 3, "API key", id="JSON in JSON"),
        pytest.param("password: {}\nuser: x", "s3cr3t-Val", "password", id="YAML"),
        pytest.param("client_secret: str = '{}'", MIXED * 3, "secret", id="Python"),
        pytest.param("os.environ['API_KEY'] = '{}'", MIXED * 3, "API key", id="Python's environ"),
        pytest.param("mysql --password {} -u x", "hunter2pass", "secret", id="flag"),
        pytest.param("tool --auth-token={}", MIXED * 2, "secret", id="flag with ="),
    ],
)
def test_a_secret_is_known_by_what_stands_before_it(around: str, secret: str, kind: str) -> None:
    assert redacted(around.format(secret)) == around.format(f"[redacted {kind}]")


NO_SECRETS = [
    pytest.param(f"commit {SHA}\nMerge: 3f78685 a1b2c3d", id="git hashes"),
    pytest.param(f"GIT_TOKEN={SHA}", id="git hash as a value"),
    pytest.param(f"token: {UUID}", id="UUID as a value"),
    pytest.param(f"session {UUID}", id="UUID"),
    pytest.param(f"sha256:{SHA}{SHA[:24]}", id="SHA-256"),
    pytest.param(f'"integrity": "sha512-{BASE64}=="', id="lock file"),
    pytest.param("data:image/png;base64,iVBORw0KGgo" + BASE64 * 20, id="image"),
    pytest.param(f'"signature": "Eq{BASE64 * 5}=="', id="signature of thinking"),
    pytest.param("password = get_password()", id="call"),
    pytest.param("password = getPassword2(user1)", id="call with a digit"),
    pytest.param("token = tokens[i]", id="item"),
    pytest.param("token = self.oauth2.token_v2", id="attribute"),
    pytest.param("token = csrf_token_v2_value", id="variable"),
    pytest.param("const secret = base64EncodedValue1;", id="variable in camel case"),
    pytest.param("api_key: str = os.environ['OPENAI_API_KEY1']", id="from the environment"),
    pytest.param("the password is wrong", id="prose"),
    pytest.param("Password: must have 8 characters", id="prose with a colon"),
    pytest.param("Bearer authentication-scheme-required", id="prose with bearer"),
    pytest.param("Basic WebAssembly for basic mips/mipsel", id="prose with basic"),
    pytest.param("http://localhost:8080/a@b", id="port"),
    pytest.param("http://localhost:3000?email=a@b.c", id="port and an address"),
    pytest.param("http://[::1]:8080/x", id="IPv6"),
    pytest.param("ssh://git@host.org:22/x", id="user without a password"),
    pytest.param("write to dana@example.com", id="email"),
    pytest.param("task-management-system-overview-page", id="task-"),
    pytest.param("risk-assessment-framework-v2-document", id="risk-"),
    pytest.param("disk-" + MIXED * 4, id="disk-"),
    pytest.param("sk-fading-circle-container-item", id="sk- of words"),
    pytest.param("sk-ecdsa-sha2-nistp256@openssh.com", id="sk- of SSH"),
    pytest.param("private_key: Ed25519PrivateKey | PKCS7PrivateKeyTypes", id="type"),
    pytest.param("tool --current-token --cut-at-2nd-cursor", id="flag after a flag"),
    pytest.param("socks5h://<username>:<password>@proxy-host1", id="placeholders in an address"),
    pytest.param("npm_config_node_version_18_x", id="npm_ of words"),
    pytest.param("API_KEY=<your-key-1234567>", id="placeholder in brackets"),
    pytest.param("API_KEY=your-key-1234567x", id="placeholder in words"),
    pytest.param("API_KEY=xxxxxxxxxxxxxxxx", id="placeholder of x"),
    pytest.param("API_KEY=${API_KEY_1234567}", id="reference in braces"),
    pytest.param("API_KEY=$OTHER_KEY_12345", id="reference"),
    pytest.param("PASSWORD=changeme123", id="changeme"),
    pytest.param("PASSWORD=********", id="stars"),
    pytest.param("postgres://user:${PW}@host", id="reference in an address"),
    pytest.param("postgres://user:password@host", id="placeholder in an address"),
    pytest.param("token: ${{ secrets.GITHUB_TOKEN }}", id="reference of a workflow"),
    pytest.param("TOKEN=$(cat /run/token1)", id="command"),
    pytest.param("PASSWORD=/run/secrets/db_password1", id="path"),
    pytest.param("Authorization: Bearer <token>", id="placeholder of a header"),
    pytest.param("cache_key = f1a2b3c4d5e6f7a8b9", id="another key"),
    pytest.param('"max_tokens": 4096, "token": 12345678901234', id="numbers"),
    pytest.param(f"startswith('{BEGIN}')", id="PEM header alone"),
]


@pytest.mark.parametrize("text", NO_SECRETS)
def test_what_is_no_secret_stays_as_it_is(text: str) -> None:
    assert redacted(text) == text


SECRETS = [str(param.values[0]) for param in ALONE]
PIECES = [
    *SECRETS,
    *(str(param.values[0]) for param in NO_SECRETS),
    *(
        "API_KEY=",
        'token": "',
        "://",
        "u:",
        "@h",
        "Bearer ",
        "Basic ",
        ";Password=",
        "--token ",
        BODY,
    ),
    *(
        "-----BEGIN",
        "sk-",
        "eyJ",
        ".",
        "=",
        ":",
        '"',
        "\\n",
        "\n",
        " ",
        "[redacted token]",
        "a1",
        MIXED,
    ),
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=12))
@example(["API_KEY=", *SECRETS])
def test_what_was_redacted_stays_as_it_is(pieces: list[str]) -> None:
    once = redacted("".join(pieces))

    assert redacted(once) == once


@given(st.text(st.characters(exclude_characters="_-:=.>/")))
def test_text_without_a_mark_of_a_secret_stays_as_it_is(text: str) -> None:
    assert redacted(text) == text


LINES = st.lists(st.text(st.characters(exclude_characters="-_:=>./\\\"'+,|→")), max_size=5).map(
    "\n".join
)


@given(LINES, st.sampled_from(SECRETS), LINES)
def test_a_secret_among_other_lines_goes_and_they_stay(
    before: str, secret: str, after: str
) -> None:
    text = redacted(f"{before}\n{secret}\n{after}")

    assert secret not in text
    assert text.startswith(f"{before}\n[redacted ")
    assert text.endswith(f"]\n{after}")
