//! Tables of texts that are found to be secrets, and of texts that are not.

use super::*;

fn whats(text: &str) -> Vec<&'static str> {
    scan(text).iter().map(|finding| finding.what).collect()
}

#[test]
fn keys_of_known_issuers_are_found_wherever_they_stand() {
    let alnum = |length: usize| "aB3dE6gH9kL2nP5rS8uV".repeat(20)[..length].to_owned();
    let cases = [
        ("AKIAIOSFODNN7EXAMPLE".to_owned(), "AWS access key"),
        (format!("ghp_{}", alnum(36)), "GitHub token"),
        (format!("github_pat_{}", alnum(60)), "GitHub token"),
        (format!("xoxb-{}", alnum(24)), "Slack token"),
        (format!("sk_live_{}", alnum(24)), "Stripe key"),
        (format!("sk-ant-api03-{}", alnum(60)), "Anthropic key"),
        (format!("AIza{}", alnum(35)), "Google key"),
        (format!("npm_{}", alnum(36)), "npm token"),
        (format!("GOCSPX-{}", alnum(28)), "Google client secret"),
        (format!("hvs.{}", alnum(24)), "Vault token"),
        (format!("lin_api_{}", alnum(40)), "Linear key"),
    ];
    for (key, what) in cases {
        for text in [key.clone(), format!("use {key}."), format!("K=\"{key}\""), format!("é{key}é")]
        {
            assert_eq!(whats(&text), [what], "{text}");
        }
        assert!(scan(&format!("x{key}")).iter().all(|own| own.layer != Layer::Pattern));
    }
}

#[test]
fn blocks_tokens_addresses_and_named_values_are_found() {
    let block = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----";
    let signed = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P";
    for (text, what) in [
        (block, "private key"),
        (signed, "JSON Web Token"),
        ("postgres://app:s3cr3t-enough@db/x", "password in an address"),
        ("password = \"tr0ub4dor-3-more\"", "value of a secret's name"),
        ("Authorization: Bearer a1b2c3d4e5f6a7b8", "value of a secret's name"),
        ("api_key: 9f86d081884c7d659a2feaa0c55ad015", "value of a secret's name"),
        ("DB_PASSWORD=correcthorsebattery", "value of a secret setting"),
        ("run with PGPASSWORD='two words' psql", "value of a secret setting"),
        (
            "export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "value of a secret setting",
        ),
        ("export db_password=hunter22", "value of a secret setting"),
        ("our signing key\n  q8Zr2Xw5Tn7Lk4Vb9Md1Hs6Jp3Gf0Yc8", "random text"),
    ] {
        assert_eq!(whats(text), [what], "{text}");
    }
}

#[test]
fn ordinary_text_raises_no_alarm() {
    for text in [
        "The token budget is 4000; the key point is that a lease expires on its own.",
        "Fixed in 4b825dc642cb6eb9a060e54bf8d69288fbee4904, see also deadbeef.",
        "key commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "password: argon2id with HMAC-SHA256, never stored",
        "token = get_token(); secret = os.environ[\"SECRET\"]; password = ${PASSWORD}",
        "password=<your password here> or token: xxxxxxxxxxxxxxxxxxxx",
        "postgres://app:${PASSWORD}@db/x and https://example.org/a@b",
        "the function refresh_token_of_the_long_lived_session_in_crates_server makes it",
        "https://docs.rs/tokio/latest/tokio/sync/struct.OwnedSemaphorePermit.html about auth",
        "AKIA is how such keys begin; ghp_ too; sk-learn is a library; npm_config_cache",
        "Ein Schlüssel ist kein Geheimnis: naïve café, 密码 token 令牌",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "signing keys: https://github.com/dalek-cryptography/curve25519-dalek/pull/764",
        "MAX_TOKENS=100000 TOKEN_LIMIT=200000 KEY=value SORT_KEY=created_at a=b",
        "GITHUB_TOKEN=$TOKEN, DB_PASSWORD=<yours>, API_KEY=your-key-here, SECRET=${X}, PASS=1",
        "DB_PASSWORD=$(pass db) TOKEN=get_token() DB_PASSWORD_FILE=/run/secrets/db",
        "DB_PASSWORD=/run/secrets/db API_TOKEN= and COMPASS=north-north-west",
        "a keyboard layout named QwErTy1234567890AsDfGhJkLzXcVbNm is random",
    ] {
        assert_eq!(scan(text), [], "{text}");
    }
}

#[test]
fn what_is_found_is_not_repeated() {
    let secret = "q8Zr2Xw5Tn7Lk4Vb9Md1Hs6Jp3Gf0Yc8";
    for text in [format!("token: {secret}"), "AKIAIOSFODNN7EXAMPLE".to_owned()] {
        let findings = scan(&text);
        assert_eq!(findings.len(), 1, "{text}");
        let finding = &findings[0];
        let whole = &text[finding.start..finding.end];
        let expected = format!("[{}, {} characters]", finding.what, whole.chars().count());
        assert_eq!(finding.excerpt, expected, "nothing of it is told");
    }
}

#[test]
fn files_in_which_secrets_lie_are_named_and_are_no_leak() {
    for path in
        [".env", "app/.env.local", "~/.ssh/id_ed25519", "certs/site.pem", ".aws/credentials"]
    {
        assert!(is_secret_path(path), "{path}");
        let findings = scan(&format!("It is in {path}."));
        let found: Vec<_> =
            findings.iter().map(|own| (own.is_leak(), own.excerpt.as_str())).collect();
        assert_eq!(found, [(false, path)]);
    }
    for path in [".env.example", "id_rsa.pub", "src/environment.rs", "docs/keys.md", "a.ssh/x"] {
        assert!(!is_secret_path(path), "{path}");
    }
}

#[test]
fn no_issued_key_is_too_short_to_be_looked_for() {
    let shortest = issued::ISSUED.iter().map(|(_, begins, _, min, _)| begins.len() + min).min();
    assert_eq!(shortest, Some(ISSUED_BYTES_MIN));
}

proptest::proptest! {
    /// Layers that are skipped for plain texts would have found nothing in them.
    #[test]
    fn layers_are_only_skipped_where_they_find_nothing(
        parts in proptest::collection::vec(
            proptest::sample::select(vec![
                "AKIA", "xoxb-", "sk-", "sk-ant-", "eyJ", ".", "-", "--", "token", "password", "pwd",
                "export", "://", "@", "curl", "mysql", "-p", "-u", "is", "Bearer", "basic", "secret",
                "=", ":", ">", " ", "'", "\"", "abc123DEF", "0123456789", "hunter2", "A1b2C3d4E5f6",
                "-----BEGIN", "PRIVATE", "KEY-----", "DB_PASSWORD", "dXNlcjpwYXNz", "\t", "\n", "é",
            ]),
            0..8,
        ),
    ) {
        let text = parts.concat();
        let lower = text.to_ascii_lowercase();
        let mut all = Found { text: &text, lower: &lower, findings: Vec::new() };
        for layer in [
            issued::keys,
            issued::signed_tokens,
            issued::bots,
            random::words,
            issued::key_blocks,
            written::settings,
            written::values,
            written::addresses,
            shell::flags,
            shell::logins,
            shell::headers,
        ] {
            layer(&mut all);
        }
        proptest::prop_assert_eq!(look(&text), all.findings);
    }
}

/// Texts that would take long if any layer read a part more than a few times.
#[test]
fn hostile_texts_are_read_in_no_time() {
    for part in [
        "sk-",
        "eyJ.",
        "eyJ-",
        "://a:",
        "-----BEGIN ",
        "token=",
        "password",
        "A",
        "é",
        "xoxb-",
        "password is ",
        "--password ",
        "curl -u ",
        "mysql -p",
        "basic ",
        "a.",
        "1:",
        "\u{200b}",
        "password=1a",
        "Authorization: Bearer ",
    ] {
        let text = part.repeat(400_000 / part.len());
        let begun = std::time::Instant::now();
        scan(&text);
        let took = begun.elapsed();
        assert!(took.as_secs() < 3, "{part}: {took:?}");
    }
}

/// Every text here holds a secret.
#[test]
fn secrets_are_found_however_they_are_written() {
    let texts = [
        "The password is Tr0ub4dor&3",
        "the db password is x7Kq92",
        "password: hunter2",
        "Password: aB3$xY",
        "password = s3cr3t99",
        "passwd=Winter2024!",
        "the staging password was Sommer77x",
        "set the root password to k3yb0ard",
        "passphrase is 7horses8",
        "admin passcode: 84kd02",
        "pwd: P@ssword",
        "db_password: pa$$word",
        "password is `qX7!mm2`",
        "**password**: zx81Spectrum",
        "{\"password\":\"Xy7kq2\"}",
        "{\"user\": \"a\", \"password\": \"QwErTyUi\"}",
        "\"{\\\"password\\\":\\\"r4nd0mpw\\\"}\"",
        "'db_passwd': 'summer-2024x'",
        "{\"client_secret\":\"x7Kq92ab\"}",
        "config[\"password\"] = \"m0nk3ys\"",
        "deploy --password S3cure99",
        "deploy --password=correcthorse",
        "run `tool --db-password 'two4six8'` first",
        "tool --token=abcdefghij",
        "tool --api-key k9f8e7d6c5b4a3",
        "gh --auth-token 'q7w8e9r0t1'",
        "mysql -u root -pS3cr3t!x shop",
        "mysql -u root -p S3cr3t9 shop",
        "mysqldump -h db -pQ9w8e7 shop > dump.sql",
        "sshpass -p 'h0p3ful' ssh deploy@host",
        "docker login -u ci -p t0psecret9 registry",
        "curl -u alice:open-sesame https://api",
        "curl -s --user admin:Zx81 https://api",
        "curl -X POST -u 'bot:correct horse' https://api",
        "Authorization: Basic YWxpY2U6c2VzYW1l",
        "authorization: basic dXNlcjpwYXNzMQ==",
        "-H 'Authorization: Bearer abcDEFghiJKLmnoPQRst'",
        "Authorization: Bearer a1b2c3d4e5f6a7b8",
        "\"Authorization\": \"Bearer 9f8e7d6c5b4a39281706\"",
        "Authorization: token 0123456789abcdef0123",
        "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsawx",
        "https://api.telegram.org/bot110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsawx/getMe",
        "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs",
        "https://discord.com/api/webhooks/123456789012345678/abcdef",
        "AKIA\u{200b}IOSFODNN7EXAMPLE",
        "AKIAIOSF\u{ad}ODNN7EXAMPLE",
        "gh\u{2060}p_aB3dE6gH9kL2nP5rS8uVaB3dE6gH9kL2nP5r",
        "pass\u{200d}word: hunter2x",
        "key\u{200b}AKIAIOSFODNN7EXAMPLE",
        "src/AKIAIOSFODNN7EXAMPLE/main.rs",
        "tag:AKIAIOSFODNN7EXAMPLE",
        "the api key is 9f86d081884c7d65",
        "token is a1b2c3d4e5f6",
        "secret: 9f86d081884c7d659a2feaa0c55ad015",
        "DB_PASSWORD=correcthorsebattery",
        "export db_password=hunter22",
        "API_TOKEN=\"zq8v7u6t5\"",
        "postgres://app:s3cr3t-enough@db/x",
        "redis://:p4ssw0rd@cache:6379",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
        "our signing key q8Zr2Xw5Tn7Lk4Vb9Md1Hs6Jp3Gf0Yc8",
        "bearer 0a1b2c3d4e5f60718293",
        "access key: AbCd1234EfGh5678",
    ];
    assert!(texts.len() >= 60, "{}", texts.len());
    for text in texts {
        let leak = scan(text).into_iter().find(Finding::is_leak);
        let leak = leak.unwrap_or_else(|| panic!("not found: {text}"));
        assert!(leak.excerpt.starts_with('[') && leak.excerpt.ends_with("characters]"), "{leak:?}");
        assert!(text.is_char_boundary(leak.start) && text.is_char_boundary(leak.end), "{leak:?}");
    }
}

/// Nothing here is a secret, though much of it speaks of some.
#[test]
fn what_only_speaks_of_secrets_is_let_through() {
    let texts = [
        "the password is hashed with argon2",
        "token budget is 4000",
        "password: argon2id with 64MB of memory",
        "The password is required.",
        "password is base64-encoded before it is sent",
        "password: bcrypt, cost 12",
        "the password is at least 12 characters long",
        "password: min 8chars, max 64chars",
        "passwords are stored as sha256 with a salt",
        "reset the password to log in again",
        "password: see AUTH-123",
        "the password is AUTH-1234",
        "password: string",
        "\"password\": \"string\"",
        "\"password\": \"required\"",
        "\"password\": {\"type\": \"string\"}",
        "\"password\": \"********\"",
        "password: Option<String>, token: &str, secret: [u8; 32]",
        "fn login(name: &str, password: &str2)",
        "password = get_password2()",
        "password: config.db1.password",
        "password = self.form.password2",
        "password = os.environ[\"DB_PASS1\"]",
        "password=<your password here1>",
        "password: ${DB_PASSWORD1}, token: {{ token1 }}",
        "password is user1.name@example.org's business",
        "the password is 2fa protected",
        "password: sha-256 or pbkdf2-sha512",
        "password is valid for 90days",
        "password: hash+salt",
        "password == confirmation",
        "secret: vault/prod2/db",
        "secret = my-secret-v2-1-3",
        "use --password to set it, or --password-stdin",
        "--password PASSWORD, --token TOKEN_FILE, --secret <name>",
        "--password=$PASSWORD1 --token=${TOKEN2}",
        "--password is read from stdin; --token flag",
        "psql -p 5432 and docker run -p 8080:80 -u 1000:1000",
        "mysql -P 3306 -p, then it asks",
        "mkdir -p build2/out3",
        "curl -u $USER:$PASS https://api",
        "curl -u user:password https://api",
        "git push -u origin:feature2",
        "Authorization: Basic authentication is not enough",
        "Basic knowledge of HTTP12345 is assumed",
        "Authorization: Bearer <token>",
        "Authorization: Bearer $ACCESS_TOKEN_VALUE1",
        "the Bearer scheme, as in rfc6750, and a bearer token",
        "key lease_06abcdefghjkmnpqrstvwxyz01 of epoch 42",
        "token: lease_06ABCDEFGHJKMNPQRSTVWXYZ01, epoch 42",
        "the key is in entry 06f7zq2k9m3x8v5t1r4w6y0a2c and session ws_06f7zq2k9m3x8v5t1r4w6y0a2c",
        "fencing token: 18446744073709551615",
        "key fix in commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "auth: see commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        "key sha256:q8Zr2Xw5Tn7Lk4Vb9Md1Hs6Jp3Gf0Yc8q8Zr2Xw5Tn7",
        "\"integrity\": \"sha512-q8Zr2Xw5Tn7Lk4Vb9Md1Hs6Jp3Gf0Yc8\" of oauth",
        "authorized key ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8Zr2Xw5Tn7Lk4Vb9Md1Hs6Jp3Gf0Yc8",
        "pln#42 waits for pln_0000002a; the token of trp#7 is over",
        "the tests pass: 120 of 121, step2 takes 30min",
        "meeting at 12:34:56, ratio 1:2, 12345678:short",
        "postgres://user:password@localhost/db is what the docs say",
        "https://example.org/a@b and mailto:a@b",
        "naïve\u{200b}café and emoji 👩\u{200d}💻 with a password field",
        "MAX_TOKENS=100000 TOKEN_LIMIT=200000 SORT_KEY=created_at",
        "DB_PASSWORD=PASSWORD API_KEY=your-key-here",
        "The secret to speed is caching; the key to it is locality.",
    ];
    assert!(texts.len() >= 60, "{}", texts.len());
    for text in texts {
        let leaks: Vec<Finding> = scan(text).into_iter().filter(Finding::is_leak).collect();
        assert_eq!(leaks, [], "{text}");
    }
}

/// A value goes with the name of its field; a name that is repeated in an error tells nothing.
#[test]
fn names_say_what_values_are_and_are_repeated_with_care() {
    assert_eq!(scan_named("password", "x7Kq92")[0].what, "value of a secret's name");
    assert_eq!(scan_named("db_password", "é x7Kq92"), [], "a sentence");
    assert_eq!(scan_named("note", "x7Kq92"), []);
    assert_eq!(scan_named("password", "required"), []);
    assert_eq!(repeated("staus"), "staus");
    assert_eq!(repeated("expected_version"), "expected_version");
    assert_eq!(repeated("AKIAIOSFODNN7EXAMPLE"), "[AWS access key, 20 characters]");
    assert_eq!(repeated("q8Zr2Xw5Tn7Lk4Vb"), "[text, 16 characters]");
    assert_eq!(repeated(&"é".repeat(60)), "[text, 60 characters]");
}

/// Where a secret lies that characters run through which nobody sees.
#[test]
fn hidden_characters_hide_nothing() {
    let text = "é AKIA\u{200b}IOSF\u{ad}ODNN7EXAMPLE.";
    let found = scan(text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(&text[found[0].start..found[0].end], "AKIA\u{200b}IOSF\u{ad}ODNN7EXAMPLE");
    assert_eq!(found[0].excerpt, "[AWS access key, 20 characters]");
}
