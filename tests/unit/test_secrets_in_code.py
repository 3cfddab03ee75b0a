"""Code that handles secrets is not redacted (contract C1)."""

from __future__ import annotations

import pytest

from muisti.text.secrets import redact_secrets

CODE = r"""
'password' => 'required|min:8',
'password' => 'required|string|min:8|confirmed',
"password": "required|string|min:8",
'password' => 'nullable|min:8|max:64',
'password' => 'sometimes|required|between:8,64',
'password' => ['required', 'min:8', 'confirmed'],
'password' => 'min:8',
'password' => 'required_with:old|same:password_confirmation',
'api_token' => 'required|unique:users|max:80',
'token' => 'required|uuid|exists:tokens,id',
'password' => Password::min(8)->mixedCase(),
'password' => Hash::make($request->password1),
'password' => bcrypt('x'),
password = getpass.getpass()
password = getpass.getpass("Password: ")
password = getpass.getpass('Password for user1: ')
pwd = getpass("Enter password 2: ")
password = input("Password: ")
password = click.prompt("Password", hide_input=True)
password = typer.prompt("Password 1")
password = await prompt("Password 1: ")
password = yield ask_password1
password = keyring.get_password("svc1", "user1")
password = new_password1()
password = lambda: get1()
String password = scanner.nextLine();
String password = new String(console.readPassword());
char[] password = System.console().readPassword("pw1");
var password = Console.ReadLine();
password = ENV["DB_PASSWORD1"]
password = ENV.fetch("DB_PASSWORD1")
password = os.environ.get("P1")
password = environ["P1"]
password = os.getenv("P1")
password: process.env.PASSWORD_1
password: import.meta.env.VITE_PASS1
const password = req.body.password1
const { token } = await res.json1()
let password = std::env::var("P1").unwrap();
let token = env!("TOKEN1");
let password: Vec<u8> = x
pub password: Option<String>,
password: &'a str,
password: &[u8],
password: [u8; 32]
token: uint256
token: int64
token: bytes32
password: Int32
Password string `json:"password" validate:"required,min=8"`
Password *string `json:"password,omitempty"`
password := os.Getenv("DB_PASS1")
password := flag.String("password", "", "pw1")
password := viper.GetString("db.pass1")
$password = $_POST['password1'];
$password = $_ENV["DB1"];
$password = getenv('DB1');
$password = $request->input('password1');
$password = $this->config1;
$token = $user->createToken('app1')->plainTextToken;
my $pwd = $ftp->pwd;
effective_pass => $test,
password = params[:password1]
password = params.require(:user1)
password: @password1
password: "#{password1}"
password: "${db.password1}"
password: ${{ secrets.DB_PASSWORD1 }}
password: {{ vault_password1 }}
password: "{{ lookup('env', 'P1') }}"
password: <%= ENV['P1'] %>
password: !vault |
password: !Ref DbPassword1
password: !Sub "${P1}"
password: !secret wifi_password1
password: %env(DB_PASS1)%
password: op://vault/item1/password
password: vault:secret/data/db#pass1
password: ssm:/prod/db/pass1
password: ENC[AES256_GCM,data:abc1,iv:x2]
password: env:DB_PASS1
password: env(DB_PASS1)
password: file:/run/secrets/pw1
password: $1
password = sys.argv[1]
password = args.password1
password = options[:pw1]
password = self._password1
password = cls.password1
password = user1.password
password = form.cleaned_data["password1"]
password = request.form["password1"]
password = data["password1"]
password = serializers.CharField(min_length=8)
password = forms.CharField(widget=forms.PasswordInput1)
password: str = Field(min_length=8)
password: SecretStr = Field(...)
password: Annotated[str, Len(8)]
password: str | None = None
password: Mapped[str1]
password: constr(min_length=8)
password: z.string().min(8)
password: Joi.string().min(8).required()
password: yup.string().min(8)
password: Yup.string().required()
password: t.String({ minLength: 8 })
password: { type: String, minlength: 8 }
password: { required: true, minLength: 8 }
password: ['', [Validators.required, Validators.minLength(8)]]
"password": {"type": "string", "minLength": 8}
password VARCHAR(255) NOT NULL
password: varchar(255)
private_key: ed25519.Ed25519PrivateKey
private_key: Ed25519PrivateKey | Ed448PrivateKey
private_key: PKCS7PrivateKeyTypes,
private_key = ec.generate_private_key(ec.SECP256R1())
credential_source=Ec2InstanceMetadata
api_key: ApiKeyV2
token: OAuth2Token
token: AccessTokenV1Response
TOKEN_PREFIX = 'k8s-aws-v1.'
TOKEN_URL = "https://example.org/oauth2/token"
token_type: "bearer"
token_expires_at: "2024-01-02T03:04:05Z"
token_ttl = "3600s"
password_last_used = "no_information"
last_pass_time => '1219328376.07815',
password_min_length = "8"
password_pattern: "^(?=.*[A-Z])(?=.*[0-9]).{8,}$"
password_regex = r"^[A-Za-z0-9@#$%]{8,}$"
secret_name: "prod/db-1a2b"
secretName: my-tls-cert-2024
secretKeyRef: {name: db1, key: pw1}
passwordSecretRef: name1
"SecretArn": "arn:aws:secretsmanager:us-west-2:123456789012:secret:MySecret-a1b2c3"
arn:aws:secretsmanager:us-west-2:123456789012:secret:MyTestSecret-a1b2c3
"IAMUserChangePassword": "arn:aws:iam::aws:policy/IAMUserChangePassword",
"pattern": "^arn:aws:secretsmanager:[a-z0-9-]{1,20}:([0-9]{12}|):secret:[a-zA-Z0-9!/_+=.@-]{1,512}$",
password: "Enter your password (8+ characters)"
password: 'Password must be 8+ characters'
password: "Your password"
password_label = "Password1"
password_placeholder: "At least 8 characters"
<input type="password" name="password" minlength="8">
type="password" id="pw1"
password: "example1"
password: "<password1>"
password: "[password1]"
password: "your_password1"
password: "yourpassword1"
password: "your-password-here1"
password: "xxxxxxxx1"
password: "XXXX-1"
password = "********1"
api_key = "YOUR_API_KEY_1"
api_key: "sk-..."
api_key = "insert-key-1-here"
api_key = "<API_KEY_1>"
token = "dummy-token-1"
token = "test_token_1"
token = tokenizer.encode("a1b2c3d4")
token = jwt.sign(payload1, secret1)
token = secrets.token_hex(16)
token = uuid4().hex1
secret = base64.b32encode(os.urandom1)
secret = Secret.from_ref1("x1")
key_access_token = await this.getToken1()
tokens = line.split1()
token2 = tokens[i1]
token = next(tokens1)
token=$(cat token1.txt)
token=`cat token1`
token="$TOKEN1"
PASSWORD="$(openssl rand -hex 16)"
export PASSWORD=$(pwgen 16 1)
read -s -p "Password: " PASSWORD1
echo "Password: $PASS1"
printf("Password: %s1\n", pw1);
logger.info("password: %s", p1)
throw new Error("Invalid password: must be 8+ chars")
assert password == expected1
if password != password2:
if (password === confirmPassword1) {
while token != EOF1:
case TOKEN1:
token->type = TOK_INT32;
token.type === 'T1'
it("password: rejects short1", () => {})
wg genkey > key; PublicKey = VCHUgLIyFAO6mgM5BApyoulqQsATgwVXKN6wgF3STec=
import getpass; password = getpass.getpass()
x = 1; pwd = os.getcwd(); password = None; password = self.password1
f"postgres://{user}:{password}@{host}/{name}"
"postgres://%s:%s@%s/app" % (user, password, host)
postgres://$PGUSER:$PGPASSWORD@db/app
Authorization: Bearer YOUR_ACCESS_TOKEN
curl -H "Authorization: Bearer $ACCESS_TOKEN"
curl -H "Authorization: token your-token-goes-here"
{"auth": "required"} {"auth": "OAuth2Bearer"} {"auth": "BasicAuth"} {"auth": "anonymous"} {'auth': 'AuthorizationCode'}
fw_version_major = fw_get_version2()
""".strip().splitlines()
"""Code that names a secret without having one: validation rules, calls, look-ups, types."""


@pytest.mark.parametrize("text", CODE, ids=range(len(CODE)))
def test_code_that_fetches_or_checks_a_secret_has_none(text: str) -> None:
    assert redact_secrets(text) == text
