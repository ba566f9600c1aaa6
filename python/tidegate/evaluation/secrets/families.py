"""Families of secret names, and prefixes of secret values.

``rust/core/src/redact/families.txt`` is the same text; ``tests/evaluation/test_families.py`` compares
the two.
"""

from __future__ import annotations

# ruff: noqa: E501

TEXT = """\
# Families of secret names and beginnings of secret values (docs/fields.md, "What is kept of an event").
# python/tidegate/evaluation/secrets/families.py has the same text, and tests/evaluation/test_families.py
# compares them. A section begins with [name]; white space separates its entries.

# Anywhere in a name, whatever its other letters are.
[stems]
password passwort passwd passwrd passord passwuert passw0rd pa55word passphrase passcode passkey pswd psswd
secret credential credencial servicechallenge websocketprotocol encryptioncustomer authorization authorisation clientprincipal connectionstring connstring
apikey accesskey privatekey privkey authkey signingkey encryptionkey decryptionkey masterkey sharedkey
subscriptionkey sessionkey accountkey storagekey functionskey licensekey licencekey recoverykey
sessionid sessid jsession aspsession sharedaccesssignature magiclink resetlink
authcode authorizationcode accesscode verificationcode verifycode securitycode confirmationcode activationcode
recoverycode backupcode devicecode onetimecode onetimepass twofactorcode codeverifier
samlresponse samlrequest samlart samlassertion securityanswer
cardnumber cardno cardnum creditcard debitcard cardcode cardverification cardsecurity ccnumber primaryaccountnumber
socialsecurity socialinsurance nationalid nationalinsurance passportn aadhaar personnummer
mnemonic seedphrase recoveryphrase
contrasena contrasenia contrasenha contrasenya contrasinal claveacceso claveprivada motdepasse motpasse
cleapi cleprivee codeconfidentiel kennwort losungswort zugangscode geheimzahl geheimnis geheimcode
apischlussel apischluessel palavrapasse chaveapi chaveprivada paroladordine chiaveapi chiaveprivata wachtwoord
losenord adgangskode kodeord salasana lykilord lykilorð lozinka zaporka slaptazodis salasona matkhau katasandi
katalaluan nenosiri wagwoord pasahitza cyfrinair pasfhocal pasvorto fjalekalim
парол лозинка секрет құпиясөз нууцүг токен κωδικοσπροσβασησ κωδικοςπροσβασης συνθηματικο գաղտնաբառ პაროლ
סיסמה סיסמא סיסמת كلمةالمرور كلمةالسر كلمهالمرور كلمهالسر كلمةمرور رمزعبور رمزالمرور گذرواژه
पासवर्ड পাসওয়ার্ড கடவுச்சொல் పాస్‌వర్డ్ පස්වර්ඩ් මුරපදය รหัสผ่าน ລະຫັດຜ່ານ ពាក្យសម្ងាត់ စကားဝှက် የይለፍቃል
密码 密碼 口令 密钥 密鑰 令牌 验证码 驗證碼 秘密鍵 暗証番号 合言葉 卡号 卡號
パスワード パスコード パスフレーズ トークン シークレット 認証コード 비밀번호 암호 패스워드 토큰 인증번호

# Taken out of a name before the stems are looked for.
[benign]
secretar secretion undersecret accesscontrolallowcredential passwordless секретар

# Words of a name. The other words do not count.
[words]
token jwt jws jwe dpop oidc otp totp hotp bearer pwd pw psw pswd creds cvv cvv2 cvc cvc2 ccv cvn csc ccnum ccn ssn
iban signature sig hmac assertion sess wresult mdp senha parola parol parole geslo haslo hasło heslo jelszo
sifre şifre mima sandi geheim hemlighet segredo segreto jeton пинкод κωδικοσ κωδικος

# Ends of words.
[endings]
token pwd

# A word, and the other words that may stand next to it; alone it is secret too.
[guarded]
pass: user usr username db admin root login my new old current cur account acct ftp sftp smtp imap pop mail email wifi wlan wp sql mysql postgres pg redis ldap proxy http https auth basic key store keystore truststore confirm confirmation again repeat retype verify cert certificate word phrase code hash enc encrypted md5 sha value x api app service svc client sudo ssh vpn web site wordpress mongo rabbitmq amqp mqtt nats kafka portal member customer the your plain text input field txt default temp tmp temporary initial server host device router zip pdf archive
pin: user my new old current cur confirm confirmation again repeat retype verify code number no card sim atm upi wallet account acct login auth entry input field txt hash value debit credit bank mobile phone device security personal x client customer member puk admin parental the your plain temp sms transaction payment block encrypted enc
auth: x my user http https basic proxy data value header string key code session aspx api app client server device ftp smtp mail db redis mqtt nats docker npm registry gateway rest oauth hash the custom service forwarded original internal request raw tableau zumo
authentication: x proxy info forwarded original http basic value header data
sas: x token url uri query shared signature
cookie: x set forwarded original raw http https session auth request login sso header value jar string user my client
cookies: x set forwarded original raw http session auth request header value jar string
session: x my user usr id key cookie data hash php asp aspx net java laravel ci django flask rails login auth sso admin web app api client current old new value uuid guid ref sid wp
sid: x my connect session sess php sso user auth app web login value net
clave: usuario acceso actual nueva anterior confirmar confirma repetir repite mi tu de
chave: acesso atual nova minha senha de

# A whole name that is secret in a query or form when the value is one word.
[queried]
key code ticket

# A whole name that is secret when the value looks generated,
[generated]
key code ticket tokens mfa tfa 2fa codes

# also when the value is six to eight digits.
[numeric]
code codes mfa tfa 2fa

# A last word that is secret when one of these words is before it,
[led]
key: api access secret private auth sign signing signature encryption crypto cipher aes des rsa ssh hmac jwt webhook server client app application consumer deploy root admin user device stream merchant partner secure token activation backup seed wallet vault write ingest integration reset login invite unlock security service master shared subscription function functions x rest
code: auth authorization verification verify security access otp totp sms mfa fa tfa factor login signin pin pass reset recovery backup activation unlock device onetime oob oauth sso confirm confirmation cvv cvc card secret entry puk authenticator
codes: recovery backup otp mfa scratch verification
tokens: access refresh id auth api device session user csrf reset bearer service security
pan: card payment
ticket: auth cas sso kerberos login session service granting
seed: wallet totp otp hd master
answer: security secret challenge recovery

# and is not when one of these words is.
[unled]
key: primary foreign public publishable sort partition cache idempotency routing object row group order translation message dedup index lookup search composite unique natural surrogate shard range map dict json field column config setting feature flag event metric tag label attribute property item product sku site recaptcha websocket arrow enter hot shortcut press last first image blob path resource entity record document doc parent child node page tab menu theme locale lang language text template category filter query topic ordering sorting grouping hash major minor home

# A last word that says something about a secret and is none.
[about]
length len size count strength policy type types expires expire expired expiry expiration ttl age date time timestamp changed updated created modified issued at since until in required requirements needed enabled disabled allowed supported support status attempt attempts tries retries failures failed errors valid validity validated version algorithm alg score rating format pattern placeholder label title help tooltip icon min max limit limits quota used usage remaining total budget bucket rate endpoint endpoints issuer audience scope scopes mode method methods provider providers manager managers name names prefix consent notice banner accepted exists missing color colour rotated

# A first word that asks about a secret.
[asking]
has have is are was show hide toggle display max min maximum minimum num total require requires enable disable allow supports

# Other words that words are split into, where they are written together.
[neutral]
the your raw plain id data atual nova antiga minha nueva nuevo actual confirmar neues neu alt

# Beginnings of credentials, and how many more of letters, digits, `_`, `-` and `.` there are at least.
[prefixes]
AKIA:12 ASIA:12 ABIA:12 ACCA:12 AIza:20 ya29.:16 GOCSPX-:12 1//0:20
ghp_:12 gho_:12 ghu_:12 ghs_:12 ghr_:12 github_pat_:12 glpat-:12 gldt-:12 glrt-:12 glcbt-:12 glptt-:12 glsoat-:12
sk_live_:8 sk_test_:8 rk_live_:8 rk_test_:8 whsec_:8 xoxa-:8 xoxb-:8 xoxe-:8 xoxo-:8 xoxp-:8 xoxr-:8 xoxs-:8
xapp-:8 sk-ant-:12 sk-proj-:12 sk-svcacct-:12 sk-or-:20 sk-:40 SG.:30 npm_:20 pypi-:20 hf_:20 dop_v1_:20 doo_v1_:20 dor_v1_:20
shpat_:16 shpca_:16 shppa_:16 shpss_:16 sq0atp-:16 sq0csp-:16 EAACEdEose0cBA:8 lin_api_:16 ntn_:20 figd_:16 dapi:32
hvs.:16 hvb.:16 hvr.:16 PMAK-:20 NRAK-:16 rubygems_:20 sbp_:20 pscale_tkn_:16 pscale_pw_:16 dp.pt.:16 fo1_:20
glsa_:16 glc_:20 ATATT3x:16 ATCTT3x:16 ATBB:24 bkua_:20 CFPAT-:16 r8_:30 gsk_:30 xai-:30 pplx-:30 AGE-SECRET-KEY-1:16
sntrys_:20 sntryu_:20 tskey-:12 AKCp:20 dckr_pat_:16 dckr_oat_:16 pat-na1-:16 pat-eu1-:16 rzp_live_:10 rzp_test_:10 LTAI:16
v1.local.:16 v2.local.:16 v3.local.:16 v4.local.:16 v1.public.:16 v2.public.:16 v3.public.:16 v4.public.:16
tg_:24

# Addresses whose path is a credential, and how many more characters there are at least.
[addresses]
hooks.slack.com/services/:12 discord.com/api/webhooks/:12 discordapp.com/api/webhooks/:12 api.telegram.org/bot:12

# Schemes of credentials, which a space and the credentials follow.
[schemes]
basic bearer negotiate ntlm ssws apikey sharedkey

# Payment cards: the first digits, from and to, and the lengths, from and to.
[cards]
41-42:13-13 45-48:13-13 4-4:16-16 4-4:19-19 51-55:16-16 2221-2720:16-16 34-34:15-15 37-37:15-15 300-305:14-14 3095-3095:14-14
36-36:14-19 38-39:14-19 3528-3589:16-19 6011-6011:16-19 644-649:16-19 65-65:16-19 62-62:16-19 81-81:16-19
5018-5018:13-19 5020-5020:13-19 5038-5038:13-19 5893-5893:13-19 6304-6304:13-19 6759-6763:13-19 2200-2204:16-19
508-508:16-16 60-60:16-16 353-353:16-16 356-356:16-16
"""


def section(name: str) -> list[str]:
    """The lines of a section, without comments."""
    body = TEXT.partition(f"[{name}]\n")[2].partition("\n[")[0]
    return [line for line in body.splitlines() if line and not line.startswith("#")]


def entries(name: str) -> list[str]:
    """The entries of a section."""
    return [entry for line in section(name) for entry in line.split()]


def named(name: str) -> dict[str, list[str]]:
    """The entries of a section with lines that begin with a name and a colon, by name."""
    lines = (line.partition(":") for line in section(name))
    return {head: rest.split() for head, _, rest in lines}


def numbered(name: str) -> list[tuple[str, str]]:
    """The entries of a section, split at their last colon."""
    return [(entry.rpartition(":")[0], entry.rpartition(":")[2]) for entry in entries(name)]
