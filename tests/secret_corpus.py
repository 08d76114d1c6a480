"""Synthetic secrets, and lines that only look like secrets.

Every secret is put together when the tests run, from a prefix and characters drawn with a fixed seed, so that the
repository holds none and no scanner of anybody's stops at it.
"""

from __future__ import annotations

import base64
import json
import random
import string
import uuid
from dataclasses import dataclass

_ALPHANUMERIC = string.ascii_letters + string.digits
_TOKEN = _ALPHANUMERIC + "_-"
_HEX = "0123456789abcdef"
_BASE64 = _ALPHANUMERIC + "+/"


_SETTINGS = (
    "password = %", "db_password = %", "+password = %", "-passwd = %", " password = %", "pass = %  # old",
    "pwd = %", "passphrase = % ; old", "db.password = %", "spring.mail.password= %", "smtp-password = %",
    "DB_PASSWORD = %", "Password: %", "  password: %", "    - password: %",
)  # fmt: skip
"""Lines of settings files, unquoted: ini, properties, env with spaces, YAML."""


@dataclass(frozen=True)
class Secret:
    family: str
    text: str
    """A line or several; holds every string in `hidden`."""
    hidden: tuple[str, ...]
    """What must not be seen in the masked text."""


def secrets(seed: int = 1) -> list[Secret]:
    """One or more of every family, in the contexts in which people leave them."""
    draw = random.Random(seed)

    def some(count: int, alphabet: str = _ALPHANUMERIC) -> str:
        text = "".join(draw.choice(alphabet) for _ in range(count - 1))
        # A run with neither digit nor letter is not what an issuer's generator gives in practice.
        return text[:3] + draw.choice("23456789") + text[3:]

    def one(family: str, template: str, value: str) -> Secret:
        return Secret(family, template.replace("%", value), (value,))

    aws = "AK" + "IA" + some(16, string.ascii_uppercase + "234567")
    aws_temporary = "AS" + "IA" + some(16, string.ascii_uppercase + "234567")
    classic = ["gh" + kind + "_" + some(36) for kind in "pousr"]
    fine = "github" + "_pat_" + some(22) + "_" + some(59)
    gitlab = "gl" + "pat-" + some(20, _TOKEN).strip("-_").ljust(20, "x")
    web = ".".join(
        base64.urlsafe_b64encode(part).decode().rstrip("=")
        for part in (
            json.dumps({"alg": "HS256", "typ": "JWT"}, separators=(",", ":")).encode(),
            json.dumps({"sub": some(10), "iat": 1516239022}, separators=(",", ":")).encode(),
            draw.randbytes(32),
        )
    )
    discord = "MT" + some(22) + "." + some(6) + "." + some(38)
    telegram = str(draw.randrange(10**9, 10**10)) + ":AA" + some(33, _TOKEN)
    found = [
        one("aws key id", "aws_access_key_id = %", aws),
        one("aws key id", "+AWS_ACCESS_KEY_ID=%", aws_temporary),
        one("aws key id", "client = boto3.client('s3', %)".replace("%", "aws_access_key_id='%'"), aws),
        one("aws secret", "aws_secret_access_key = %", some(40, _BASE64)),
        one("aws secret", 'AWS_SECRET_ACCESS_KEY="%"', some(40, _BASE64)),
        one("aws secret", '  "secretAccessKey": "%",', some(40, _BASE64)),
        one("aws session", "export AWS_SESSION_TOKEN=%", some(300, _BASE64)),
        one("google", "GOOGLE_API_KEY: %", "AI" + "za" + some(35, _TOKEN)),
        one("google", "<script src='https://maps.example/js?key=%'>", "AI" + "za" + some(35, _TOKEN)),
        one("google", '"client_secret": "%"', "GOC" + "SPX-" + some(28, _TOKEN)),
        one("google", "curl -H 'Authorization: Bearer %' x", "ya" + "29." + some(120, _TOKEN)),
        one("azure", "AccountName=a;AccountKey=%;EndpointSuffix=core", some(86, _BASE64) + "=="),
        one("azure", "AZURE_CLIENT_SECRET=%", some(3) + "8Q" + "~" + some(34, _TOKEN + "~.")),
        one("azure", "note %", some(3, _ALPHANUMERIC) + "8Q" + "~" + some(34, _ALPHANUMERIC)),
        one("azure", "https://a.blob.core.windows.net/c?sv=2022&sig=%", some(43) + "%3D"),
        *[one("github", "token is %.", token) for token in classic],
        one("github", "git clone https://%@github.com/a/b", classic[0]),
        one("github", "-GITHUB_TOKEN=%", classic[3]),
        one("github", "gh auth login --with-token <<< %", fine),
        one("gitlab", "CI: %", gitlab),
        one("gitlab", "git remote set-url origin https://oauth2:%@gitlab.com/a/b.git", gitlab),
        one("slack", "SLACK_BOT_TOKEN=%", "xo" + "xb-" + "123456789012-1234567890123-" + some(24)),
        one("slack", "x = '%'", "xo" + "xp-" + "123456789012-123456789012-123456789012-" + some(32, _HEX)),
        one(
            "slack", "x = '%'", "xa" + "pp-1-A" + some(10, string.ascii_uppercase) + "-1234567890123-" + some(64, _HEX)
        ),
        one("slack", "url: https://hooks.slack.com/%", "services/T" + some(8) + "/B" + some(10) + "/" + some(24)),
        one("stripe", "stripe.api_key = '%'", "sk" + "_live_" + some(24)),
        one("stripe", "STRIPE=%", "rk" + "_live_" + some(99)),
        one("stripe", "stripe listen: %", "wh" + "sec_" + some(32)),
        one("stripe", "Stripe('%')", "sk" + "_test_" + some(24)),
        one("sendgrid", "SENDGRID: %", "S" + "G." + some(22, _TOKEN) + "." + some(43, _TOKEN)),
        one("twilio", "twilio %", "S" + "K" + some(32, _HEX)),
        one("twilio", "TWILIO_AUTH_TOKEN=%", some(32, _HEX)),
        one("npm", "//registry.npmjs.org/:_authToken=%", "np" + "m_" + some(36)),
        one("npm", "NODE: %", "np" + "m_" + some(36)),
        one("npm", "//r.example/:_authToken=%", str(uuid.UUID(int=draw.getrandbits(128)))),
        one("pypi", "password = %", "py" + "pi-AgEIcHlwaS5vcmc" + some(90, _TOKEN)),
        one("hugging face", "login('%')", "h" + "f_" + some(34)),
        one("openai", "openai.api_key='%'", "sk" + "-" + some(20) + "T3Blbk" + "FJ" + some(20)),
        one("openai", "client = OpenAI(%)".replace("%", 'api_key="%"'), "sk" + "-proj-" + some(120, _TOKEN)),
        one("openai", "use % here", "sk" + "-" + some(48)),
        one("anthropic", "x-api-key: %", "sk" + "-ant-api03-" + some(93, _TOKEN) + "AA"),
        one("telegram", "bot = Bot('%')", telegram),
        one("telegram", "GET https://api.telegram.org/bot%/getMe", telegram),
        one("discord", "client.run('%')", discord),
        one("discord", "https://discord.com/api/webhooks/123456789012345678/%", some(68, _TOKEN)),
        one("mailchimp", "mc %", some(32, _HEX) + "-us" + "12"),
        one("digitalocean", "doctl auth init -t %", "do" + "p_v1_" + some(64, _HEX)),
        one("databricks", "host, '%'", "da" + "pi" + some(32, _HEX)),
        one("docker", "docker login -p %", "dckr" + "_pat_" + some(27, _TOKEN)),
        one("vault", "VAULT %", "hv" + "s." + some(90, _TOKEN)),
        one("web token", "cookie: session=%; path=/", web),
        one("web token", "  'jwt' : '%',", web),
        one("database url", "DATABASE_URL=postgres://app:%@db.internal:5432/app", "s3" + "cr3t" + some(6)),
        one("database url", "url = 'mysql+pymysql://root:%@localhost/x?charset=utf8'", some(12)),
        one("database url", '  "uri": "mongodb+srv://admin:%@cluster0.mongodb.net/test",', some(16)),
        one("database url", "redis://:%@cache:6379/0", some(20)),
        one("database url", "amqp://guest:%@mq:5672/%2f".replace("%2f", ""), "correcthorse"),
        one("bearer", "Authorization: Bearer %", some(30)),
        one("bearer", 'headers = {"Authorization": "Bearer %"}', some(24, _TOKEN)),
        one("bearer", "-H 'authorization: bearer %'", some(40, _HEX)),
        one("bearer", 'req.Header.Set("Authorization", "Bearer %")', some(32)),
        one("basic", "Authorization: Basic %", base64.b64encode(b"user:" + some(9).encode()).decode()),
        one("assignment", 'password = "%"', "hunter" + "2"),
        one("assignment", "password: %", "hunter" + "2" + some(4)),
        one("assignment", "PASSWORD=%", "swordfish"),
        one("assignment", "+DB_PASS=%", "tr0ub4dor&3"),
        one("assignment", "export MYSQL_ROOT_PASSWORD=%", "my-" + some(8)),
        one("assignment", '    "password": "%",', "p@ss" + "w0rd!"),
        one("assignment", "const apiKey = '%';", some(20)),
        one("assignment", "api_key: %", some(32, _HEX)),
        one("assignment", "db.passwd=%", some(10)),
        one("assignment", "spring.datasource.password=%", some(12)),
        one("assignment", 'SECRET_KEY = "%"', "django-insecure-" + some(40, _ALPHANUMERIC + "!@#^&*(-_=+)")),
        one("assignment", 'client_secret: "%"', str(uuid.UUID(int=draw.getrandbits(128)))),
        one("assignment", "auth_token := `%`", some(24)),
        one("assignment", "'password' => '%',", some(11)),
        one("assignment", 'self.access_token: str = "%"', some(24)),
        one("assignment", 'os.environ["API_TOKEN"] = "%"', some(18)),
        one("assignment", "connect(host, password='%')", some(9)),
        one("assignment", '{"args": "{\\"password\\": \\"%\\"}"}', some(9)),
        one("assignment", "<password>%</password>", some(9)),
        one("assignment", "Server=db;User Id=sa;Password=%;Encrypt=yes", some(10)),
        one("assignment", "x-api-key: %", some(32)),
        one("assignment", "TOKEN=%", "oldvalue" + "1"),
        one("assignment", "API_TOKEN=%", some(24, string.ascii_uppercase + "234567")),
        one("assignment", "KEY=%", "abc" + "123"),
        one("assignment", "encryption_key = b'%'", some(32, _BASE64)),
        one("assignment", 'if password == "%":', some(9)),
        one("flag", "mysql -u root --password %", some(9)),
        one("flag", "deploy --token=% now", some(20)),
        one("flag", "curl -su admin:x -u bob:% https://api.example", some(9)),
        one("flag", "curl --user 'ci:%' https://api.example", some(9)),
        one("flag", "  -u bob:% \\", some(12)),
        one("flag", "ENV DB_PASSWORD %", some(9)),
        one("assignment", "      - MYSQL_PASSWORD=%", "wordpressdb"),
        one("assignment", "  POSTGRES_PASSWORD: %", "postgresql"),
        one("assignment", '<add key="DbPassword" value="%" />', some(9)),
        one("assignment", 'client.setPassword("%");', some(9)),
        one("assignment", "MAPS_KEY=%", some(9) + "4711" + some(9)),
        one("assignment", 'token = "%"', 'abc\\"def1' + some(9)),
        one("assignment", 'password = "%"', "$ecr3t!" + some(3)),
        *[
            one("setting", template, value)
            for template in _SETTINGS
            for value in (
                "kestrel47wq",
                "kestrel7",
                "marble99x",
                "hunter2xyz9",
                "hunter" + "2",
                "Tr0ub4dor&3",
                "abc12",
                "p4$$w0rd",
                "s3cr,et;x",
                "Summer2024!",
                "7horses-on-grass",
                "x" + some(9),
            )
        ],
        one("setting", "    password = %", "Tr0ub4dor&3"),
        one("setting", "\tpassword = %", "kestrel47-wq"),
        one("netrc", "machine api.example login bob password %", some(9)),
    ]
    return [*found, *private_keys(seed)]


def private_keys(seed: int = 1) -> list[Secret]:
    """Blocks over several lines, as they stand in files, code, diffs and tool output."""
    draw = random.Random(seed)

    def body(lines: int = 4) -> list[str]:
        full = ["".join(draw.choice(_BASE64) for _ in range(64)) for _ in range(lines)]
        return [*full, "".join(draw.choice(_ALPHANUMERIC) for _ in range(22)) + "=="]

    dashes = "-" * 5

    def block(kind: str, lines: list[str], *, prefix: str = "", suffix: str = "", end: bool = True) -> str:
        marked = [f"{dashes}BEGIN {kind}{dashes}", *lines, *([f"{dashes}END {kind}{dashes}"] if end else [])]
        return "\n".join(prefix + line + suffix for line in marked)

    kinds = ["PRIVATE " + "KEY", "RSA PRIVATE " + "KEY", "EC PRIVATE " + "KEY", "OPENSSH PRIVATE " + "KEY"]
    found = []
    for kind in kinds:
        lines = body()
        found.append(Secret("private key", block(kind, lines), tuple(lines)))
    for prefix, suffix in (
        ("+", ""), ("-", ""), (" ", ""), ("    ", ""), ("+    ", ""), ("# ", ""), ("> ", ""), ('"', '\\n"'),
        ("  '", "\\n' +"), ("", "\\n\\"), ("", "\r"), ("    // ", ""), ("key.pem:12:", ""),
    ):  # fmt: skip
        lines = body()
        found.append(Secret("private key", block(kinds[1], lines, prefix=prefix, suffix=suffix), tuple(lines)))
    lines = body()
    found.append(Secret("private key, cut", block(kinds[1], lines, end=False) + "\n@@ -1,2 +1,2 @@", tuple(lines)))
    lines = body()
    found.append(
        Secret("private key, its end only", "\n".join([*lines, f"{dashes}END {kinds[0]}{dashes}", "x"]), tuple(lines))
    )
    lines = body()
    inline = '"private_key": "' + block(kinds[0], lines).replace("\n", "\\n") + '\\n",'
    found.append(Secret("private key, on one line", inline, tuple(lines)))
    lines = body()
    header = ["Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0123456789ABCDEF", ""]
    found.append(Secret("private key, encrypted", block(kinds[1], [*header, *lines]), tuple(lines)))
    lines = body()
    found.append(
        Secret("pgp key", block("PGP PRIVATE " + "KEY BLOCK", ["Version: 1", "", *lines, "=abCD"]), tuple(lines))
    )
    lines = body()
    numbered = "\n".join(f"{number:6}\t{line}" for number, line in enumerate(block(kinds[2], lines).split("\n"), 9))
    found.append(Secret("private key, numbered", numbered, tuple(lines)))
    lines = body()
    putty = "\n".join(["PuTTY-User-" + "Key-File-3: ssh-ed25519", "Private-Lines: 5", *lines, "Private-MAC: 00ff"])
    found.append(Secret("putty key", putty, tuple(lines)))
    return found


_TRICKY = r"""
password = os.environ["DB_PASSWORD"]
password = os.getenv("DB_PASSWORD")
password = os.environ.get("PASSWORD", "")
password = getpass.getpass("Password: ")
password = input("Password: ")
password = get_password(1)
password = args.password2
self.password1 = password1
self.password = hunter2
args.password = hashed9x
user.password = digest7q
form.password = typed2nd
    password = typed2nd
        password = hunter2
password1 = password2
password = password2
password = new_password1
password = user1
password = value2
password = sha256
password = md5
password = utf8
password = base64
password = bytes32
password = UInt8
password = userInput2
password = newValue12
password = random_hash2
password = encrypted_v2
password = typed2nd;
password = typed2nd,
    password = salt1 + hunter2
password = hunter2 if debug else None
password == hunter2
password = %s
password = %(pw1)s
password = ${VAR1}
password = $VAR1
password = /etc/app/pw1
password = ./pw1.txt
password = secrets/db1
password = <pw1>
password = @pw1@
password = config["password"]
password = config.get("database", "password")
password = settings.DATABASE_PASSWORD
password = None
password = ""
password = ''
password: str
password: str = ""
password: str | None = None
password: Optional[str] = None
password: String
password: string;
password?: string;
password: SecretStr = Field(default=...)
password: "********"
password = "***"
password = "<your-password>"
PASSWORD=<your-password>
PASSWORD=changeme
password: changeme
password = "changeme"
password = "your-password-here"
PASSWORD=${DB_PASSWORD}
PASSWORD=$DB_PASSWORD
PASSWORD=$(pass show db)
PASSWORD="$1"
PASSWORD=""
PASSWORD=
password: ${{ secrets.DB_PASSWORD }}
password: {{ .Values.db.password }}
password: !vault |
password: !Ref DbPassword
password: ENC[AES256_GCM,data:abc123]
password_file: /run/secrets/db_password
PASSWORD_FILE=/run/secrets/db1
PASSWORD_HASH=abc
password = password
password=password,
password = self.password
password = user.password2
passwords = ["a", "b"]
if password == other_password:
if password != confirm_password:
if not password:
assert password == "password"
def login(user: str, password: str) -> bool:
def login(user, password=None):
login(user, password=password)
login(user, password=get_password())
login(user=user1, password=pw)
<input type="password" name="password" id="password1">
<label for="password">Password</label>
input[type="password"] { color: red; }
"password": "Password",
"password": "Passwort",
"password": "Mot de passe",
"password": "Enter your password",
"forgot_password": "Forgot your password?",
"password": {"type": "string", "minLength": 8},
{"name": "password", "type": "string"},
"required": ["user", "password"],
raise ValueError("password: too short")
log.info("password changed for %s", user)
print("token: {}".format(token))
f"password={password}"
f"Authorization: Bearer {token}"
"Authorization": f"Bearer {token}",
"Authorization": "Bearer " + token,
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
Authorization: Bearer ${TOKEN}
Authorization: Bearer {token}
-H "Authorization: Bearer $GITHUB_TOKEN"
WWW-Authenticate: Bearer realm="example"
The server expects a bearer token in the header.
Bearer authentication is used for all requests.
headers["Authorization"] = auth_header
Authorization: Basic <credentials>
token = "***"
token: str
token: Token
token: Token | None = None
token: Uint8Array
token: string | undefined;
token = next(tokens)
token = tokens[0]
token = self.tokenizer.next_token()
token = lexer.token()
token = match.group(1)
token = token2
token = tok1
token == "NUMBER"
token = "COMMENT"
token.type = 'IDENTIFIER'
token = 'eof'
token = jwt.encode(payload, key)
token = secrets.token_hex(16)
token_count = 12345678
token_type = "Bearer"
"token_type": "bearer",
"token_endpoint": "https://auth.example.com/oauth2/token",
tokens = 128000
max_tokens: 4096
max_tokens=100000,
"max_tokens": 200000,
total_tokens = 1234567890
prompt_tokens=12, completion_tokens=34
tokenizer = "gpt2"
tokenizer: cl100k_base
csrf_token = request.cookies["csrftoken"]
{% csrf_token %}
<meta name="csrf-token" content="{{ csrf_token() }}">
TOKEN_URL = "https://auth.example.com/token"
token_url: https://auth.example.com/v2/token
secret = os.environ["SECRET"]
secret: Secret
secret: [u8; 32]
secret = None
secretName: my-app-tls
secretKeyRef:
  name: db-credentials
  key: password
secret_id = "projects/1/secrets/db"
secretsmanager:GetSecretValue
SECRET_KEY = os.environ["SECRET_KEY"]
SECRET_KEY = env("SECRET_KEY")
SECRET_KEY=${SECRET_KEY:-}
client_secret = settings.OAUTH_CLIENT_SECRET
client_secret=client_secret,
clientSecret: process.env.CLIENT_SECRET,
apiKey: process.env.API_KEY,
apiKey = import.meta.env.VITE_API_KEY;
api_key = ""
api_key = "your-api-key"
api_key="YOUR_API_KEY"
API_KEY=your_api_key_here
api_key: <API_KEY>
api_key: Optional[str] = None
api_key=settings.api_key2
apikey = request.headers.get("X-Api-Key")
X-Api-Key: <key>
access_key = credentials.access_key
accessKey: string
private_key = rsa.generate_private_key(65537, 2048)
private_key = load_pem_private_key(data, password=None)
private_key: Path = Path("~/.ssh/id_ed25519")
PRIVATE_KEY_PATH=/etc/ssl/private/server1.key
"privateKey": "./server1.key",
public_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8Z1q2w3e4r5t6y7u8i9o0p1a2s3d4f5g6h7j8k9l0z user@host"
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7v1w2x3y4z5a6b7c8d9e0f1g2h3i4j5k6l7m8n9o0 me@host
-----BEGIN CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
if "-----BEGIN PRIVATE KEY-----" in text:
MARKER = "-----BEGIN RSA PRIVATE KEY-----"
grep -q 'BEGIN OPENSSH PRIVATE KEY' ~/.ssh/id_rsa
key = "abc123def456"
key = event.key
key: string
for key, value in items:
primary_key = True
primary_key="user_id1"
foreign_key: users.id2
cache_key = "user:1234567890:profile"
sort_key=name1
"key": "value12345",
"key": "ArrowDown2",
keyboard = "qwerty12345"
monkey = "chimp123456"
compass = "north12345678"
bypass = "route66ab12cd"
passenger = "seat12345a"
passage: chapter12a
pass_rate = 0.98765432
passed = 12345678
pwd = os.getcwd()
PWD=/home/user/project1
OLDPWD=/home/user
pwd
cd "$(pwd)"
credentials = load_credentials()
credentials: "include",
credentials: 'same-origin',
GOOGLE_APPLICATION_CREDENTIALS=/etc/gcp/sa1.json
AWS_PROFILE=default
aws_region = us-east-1
https://example.com/path:with:colons@2x.png
https://user@example.com/x
http://localhost:8080/a@b
ssh://git@github.com:22/org/repo.git
git@github.com:org/repo.git
postgres://localhost:5432/app
postgres://user:${DB_PASSWORD}@localhost/app
postgres://user:<password>@localhost/app
postgres://user:password@localhost/app
postgres://{user}:{password}@{host}/{db}
f"postgres://{user}:{quote(password)}@{host}"
"mongodb://%s:%s@%s/%s"
image: registry.example.com:5000/team/app@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
npm install react@18.2.0
mailto:someone@example.com
arn:aws:iam::123456789012:role/app
arn:aws:secretsmanager:us-east-1:123456789012:secret:db-AbCdEf
vault kv get secret/app
ASIA = "continent"
AKIA is the prefix of key ids
xoxb- tokens are for bots
a ghp_ prefix marks a personal token
the sk- prefix
SG.12
task-0123456789abcdef0123456789abcdef
disk-usage-report-2024-11-30-final-v2-reviewed
risk-assessment0123456789abcdefghijklmnop
eyJhbGciOi is how a token begins
hf_hub_download(repo_id, filename)
from huggingface_hub import hf_hub_download_with_retries_and_progress
npm_config_registry_and_cache_folder_for_project=1
npm_lifecycle_event_name_of_the_current_script
github_pat_rotation_policy_is_documented_here
dapiUrlForTheMainServiceOfThisApplication
SKIP_ALL_INTEGRATION_TESTS_WITH_NETWORK_ACCESS
def test_sk_live_prefix_is_rejected_by_the_validator():
class SecretTokenRepositoryFactoryBeanImpl:
const SECRET_ACCESS_POLICY_DOCUMENT_VERSION = "2012-10-17"
$ ls --color=auto --password-store=basic
chrome --password-store=basic
git config credential.helper store
docker run -e TOKEN -e PASSWORD image
docker run -u 1000:1000 image
curl -o /dev/null x; docker run -u 1000:1000 x
curl -u test:test x
curl -u "$USER:$PASSWORD" x
curl --user <user>:<password> x
sort -u a.txt:b.txt
CACHE_KEY = "user-session-v2-cache-key"
PRIMARY_KEY = "order_line_2_identifier"
getPassword("user1name")
has_token("feature2")
self.password("Enter it")
password = "${DB_PASSWORD}"
PASSWORD: string
TOKEN: Token
echo "::add-mask::$TOKEN"
read -s -p "Password: " password
passwd: all authentication tokens updated successfully.
token ring network, token bucket, token count
secret santa 2024: everyone draws a name
The password is stored hashed (bcrypt, 12 rounds).
# password: see the vault
// TODO: rotate the api key: ask ops
password must be 8-64 characters
Password: 8 to 64 characters
"""


def tricky_lines(seed: int = 2) -> list[str]:
    """At least 700 lines without a secret: references, types, prose, hashes, ids, lock files, images."""
    draw = random.Random(seed)

    def hexadecimal(count: int) -> str:
        return "".join(draw.choice(_HEX) for _ in range(count))

    def base(count: int) -> str:
        return base64.b64encode(draw.randbytes(count)).decode()

    lines = [line for line in _TRICKY.split("\n") if line]
    for _ in range(20):
        name = f"pkg{draw.randrange(1000)}"
        version = f"{draw.randrange(20)}.{draw.randrange(20)}.{draw.randrange(20)}"
        lines += [
            f"commit {hexadecimal(40)}",
            f"index {hexadecimal(7)}..{hexadecimal(7)} 100644",
            f'"id": "{uuid.UUID(int=draw.getrandbits(128))}",',
            f"request {uuid.UUID(int=draw.getrandbits(128))} took {draw.randrange(1000)} ms",
            f"    sha256:{hexadecimal(64)}",
            f"    --hash=sha256:{hexadecimal(64)} \\",
            f'  "integrity": "sha512-{base(64)}",',
            f"{name}@{version}: resolution: {{integrity: sha512-{base(64)}}}",
            f'checksum = "{hexadecimal(64)}"',
            f"github.com/org/{name} v{version} h1:{base(32)}",
            f"{hexadecimal(32)}  file{draw.randrange(100)}.bin",
            f'ETag: "{hexadecimal(32)}"',
            f"const image = 'data:image/png;base64,iVBORw0KGgo{base(90)}';",
            f"  background: url(data:font/woff2;base64,d09GMg{base(60)});",
            f"#{hexadecimal(6)} #{hexadecimal(8)} rgba(1, 2, 3, .4)",
            f"uses: actions/checkout@{hexadecimal(40)} # v4",
            f"FROM python:3.12@sha256:{hexadecimal(64)}",
            f"trace_id={hexadecimal(32)} span_id={hexadecimal(16)}",
            f"toolu_01{base(16).replace('+', 'A').replace('/', 'B').rstrip('=')}",
            f"call_{base(18).replace('+', 'A').replace('/', 'B')}",
            f"{version}+{hexadecimal(7)}.dirty",
            f"/nix/store/{hexadecimal(32)}-{name}-{version}/bin",
            f"{draw.randrange(10**9, 10**10)}: {name}",
            f"https://example.com/{name}/{hexadecimal(40)}.js?v={hexadecimal(8)}",
            f'"resolved": "https://registry.example.com/{name}/-/{name}-{version}.tgz",',
        ]
    return lines
