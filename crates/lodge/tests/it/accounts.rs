//! Accounts by the JSON API.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{Lodge, Response, Server, each, sessions::sessions};

/// A password that is not on the list of common passwords.
pub(crate) const PASSWORD: &str = "a lift in the fog";

impl Lodge {
    /// Starts the server and signs up these members. Returns their session tokens.
    pub(crate) fn start_with<const COUNT: usize>(
        &self,
        usernames: [&str; COUNT],
    ) -> (Server, [String; COUNT]) {
        let server = self.start();
        let tokens = server.members(usernames);
        (server, tokens)
    }

    /// Moves the start of all sessions into the past by `seconds`.
    pub(crate) fn age_sessions(&self, seconds: i64) {
        let sql = "UPDATE sessions SET created_at = created_at - ?1, authenticated_at = authenticated_at - ?1";
        self.database().execute(sql, [seconds * 1_000]).unwrap();
    }

    /// Removes the passwords of all accounts, as if their owners signed in by a provider only.
    fn take_passwords(&self) {
        self.database().execute("UPDATE accounts SET password = NULL", []).unwrap();
    }
}

impl Server {
    fn sign_up(&self, account: &Value) -> Response {
        self.post("/api/accounts").json(account).send()
    }

    /// Creates an account with [`PASSWORD`].
    pub(crate) fn make_account(&self, username: &str) -> Value {
        self.sign_up(&json!({ "username": username, "password": PASSWORD })).expect(201).json()
    }

    /// Signs in with a password.
    pub(crate) fn sign_in(&self, username: &str, password: &str) -> Response {
        self.post("/api/session").json(json!({ "username": username, "password": password })).send()
    }

    /// Signs in with [`PASSWORD`]. Returns the token.
    pub(crate) fn token(&self, username: &str) -> String {
        self.sign_in(username, PASSWORD).expect(200).json()["token"].as_str().unwrap().to_owned()
    }

    /// Sets a new password. Returns the token that replaces this one.
    pub(crate) fn set_password(&self, token: &str, request: &Value) -> String {
        let set = self.put("/api/me/password").bearer(token).json(request).expect(200);
        set.json()["token"].as_str().unwrap().to_owned()
    }

    /// Creates an account with [`PASSWORD`] and signs in. Returns the token.
    pub(crate) fn member(&self, username: &str) -> String {
        self.make_account(username);
        self.token(username)
    }

    /// Creates accounts and signs in. Returns the tokens in the order of the names.
    pub(crate) fn members<const COUNT: usize>(&self, usernames: [&str; COUNT]) -> [String; COUNT] {
        usernames.map(|username| self.member(username))
    }

    /// Sends a request without a body, with a token.
    pub(crate) fn call(&self, token: &str, method: &str, path: &str) -> Response {
        self.ask(method, path).bearer(token).send()
    }

    /// Ends the session or sessions at `path`, with the password.
    pub(crate) fn end(&self, token: &str, path: &str) -> Response {
        self.delete(path).bearer(token).json(json!({ "current": PASSWORD })).send()
    }

    /// Returns whether a session token is valid.
    pub(crate) fn is_signed_in(&self, token: &str) -> bool {
        let status = self.call(token, "GET", "/api/me").status;
        assert!(matches!(status, 200 | 401), "{status}");
        status == 200
    }

    /// Deletes an account with [`PASSWORD`]. Returns the response's status.
    pub(crate) fn delete_account(&self, token: &str) -> u16 {
        self.delete("/api/me").bearer(token).json(json!({ "current": PASSWORD })).send().status
    }
}

#[test]
fn an_account_works_from_sign_up_to_deletion() {
    let server = Lodge::new().start();
    let account = json!({ "username": "Ada", "password": PASSWORD, "nickname": "Ada L. ♥",
        "email": "ada@example.org" });
    let account = server.sign_up(&account).expect(201).json();
    let seen = |account: &Value| {
        json!([account["username"], account["nickname"], account["email"], account["role"]])
    };
    assert_eq!(seen(&account), json!(["ada", "Ada L. ♥", "ada@example.org", "member"]));

    let token = server.token("ADA");
    assert!(token.starts_with("session_"));
    let me = server.call(&token, "GET", "/api/me");
    assert_eq!((me.status, me.json()), (200, account.clone()));
    assert_eq!(me.header("cache-control"), Some("private, no-store"));

    let edit = json!({ "nickname": "عمر", "email": null, "current": PASSWORD });
    let edited = server.patch("/api/me").bearer(&token).json(&edit).send().json();
    assert_eq!(seen(&edited), json!(["ada", "عمر", null, "member"]));
    let public = server.get("/api/users/Ada").json();
    assert_eq!(seen(&public), json!(["ada", "عمر", null, "member"]));
    assert!(public.get("email").is_none() && public.get("has_password").is_none());

    let export = server.call(&token, "GET", "/api/me/export");
    assert!(export.header("content-disposition").unwrap().starts_with("attachment"));
    let export = export.json();
    assert_eq!(export["account"], edited);
    assert_eq!(each(&export["events"], "what"), ["edited", "signed_in", "signed_up"]);

    assert_eq!(server.delete_account(&token), 204);
    assert!(!server.is_signed_in(&token));
    assert_eq!(server.get("/api/users/ada").status, 404);
    assert_eq!(server.sign_in("ada", PASSWORD).status, 401);
    let again = server.sign_up(&json!({ "username": "ada", "password": PASSWORD }));
    assert_eq!(again.status, 409, "the name is reserved for a while");
}

#[test]
fn an_invalid_sign_up_is_refused_with_the_field() {
    let server = Lodge::new().start();
    let good = json!({ "username": "ada", "password": PASSWORD });
    for (field, value) in [
        ("username", ""),
        ("username", "a b"),
        ("username", "a\u{202e}b"),
        ("username", "a-name-that-is-longer-than-thirty-characters"),
        ("password", "short"),
        ("password", "password123"),
        ("nickname", "\u{202e}ada"),
        ("nickname", "a-nickname-that-is-longer-than-thirty"),
        ("email", "nowhere"),
    ] {
        let mut account = good.clone();
        account[field] = json!(value);
        server.sign_up(&account).expect_field_error(400, field);
    }
    assert_eq!(server.sign_up(&json!({ "username": "ada" })).status, 400);
    let with_a_role = json!({ "username": "ada", "password": PASSWORD, "role": "admin" });
    server.sign_up(&with_a_role).expect(400);
    assert_eq!(server.get("/api/users/ada").status, 404);
    server.make_account("ada");
    assert_eq!(server.sign_up(&json!({ "username": "ＡＤＡ", "password": PASSWORD })).status, 409);
}

#[test]
fn a_repeated_sign_up_with_a_key_is_answered_as_the_first() {
    let server = Lodge::new().start();
    let account = json!({ "username": "ada", "password": PASSWORD });
    let ask = server.post("/api/accounts").idempotency_key("key-1");
    let (first, again) = (ask.clone().json(&account).send(), ask.clone().json(&account).send());
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!(first.json(), again.json());
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    let other = json!({ "username": "grace", "password": PASSWORD });
    ask.json(&other).expect(422);
}

#[test]
fn the_stored_outcome_of_a_sign_up_is_deleted_with_the_account() {
    let (lodge, server) = Lodge::new().started();
    let account = json!({ "username": "ada", "password": PASSWORD, "nickname": "Ada L.",
        "email": "ada@example.org" });
    let ask = || server.post("/api/accounts").idempotency_key("key-1").json(&account).send();
    assert_eq!(ask().status, 201);
    let token = server.token("ada");
    let edit = json!({ "nickname": "Lady Ada", "email": null, "current": PASSWORD });
    let edited = server.patch("/api/me").bearer(&token).json(&edit).send().json();
    let again = ask();
    assert_eq!((again.status, again.json()), (201, edited), "the account's current state");
    assert_eq!(server.delete_account(&token), 204);
    ask().expect(410);
    let outcome: String = lodge.query("SELECT outcome FROM outcomes WHERE app = 1");
    assert!(!outcome.to_lowercase().contains("ada"), "{outcome}");
}

#[test]
fn two_hundred_sign_ups_for_one_name_create_one_account() {
    let server = Lodge::new().start();
    let account = json!({ "username": "ada", "password": PASSWORD });
    let mut statuses = BTreeMap::new();
    for answer in server.post("/api/accounts").json(account).at_once(200) {
        *statuses.entry(answer.status).or_insert(0) += 1;
    }
    assert_eq!(statuses.get(&201), Some(&1), "{statuses:?}");
    assert!(statuses.keys().all(|status| matches!(status, 201 | 409 | 503)), "{statuses:?}");
}

#[test]
fn a_password_change_ends_all_sessions_and_begins_a_new_one() {
    let server = Lodge::new().start();
    server.make_account("ada");
    let (mine, other) = (server.token("ada"), server.token("ada"));
    let change = |current: &Value, new: &str| {
        let request = json!({ "current": current, "new": new });
        server.put("/api/me/password").bearer(&mine).json(&request).send().status
    };
    assert_eq!(change(&json!("wrong password"), "another in the fog"), 403);
    assert_eq!(change(&Value::Null, "another in the fog"), 400);
    assert_eq!(change(&json!(PASSWORD), "12345678"), 400);
    assert_eq!(change(&json!(PASSWORD), PASSWORD), 400, "it is the current one");
    assert!(server.is_signed_in(&other));
    let request = json!({ "current": PASSWORD, "new": "another in the fog" });
    let fresh = server.set_password(&mine, &request);
    assert_eq!(
        [&fresh, &mine, &other].map(|token| server.is_signed_in(token)),
        [true, false, false]
    );
    assert_eq!(sessions(&server, &fresh).len(), 1);
    assert_eq!(server.sign_in("ada", PASSWORD).status, 401);
    assert_eq!(server.sign_in("ada", "another in the fog").status, 200);
}

#[test]
fn a_session_alone_cannot_set_a_first_password() {
    let (server, [token]) = Lodge::new().start_with(["ada"]);
    server.lodge.take_passwords();
    let set = || {
        let request = json!({ "new": "another in the fog" });
        server.put("/api/me/password").bearer(&token).json(&request).send()
    };
    server.lodge.age_sessions(601);
    set().expect(403).says("sign in again with your provider");
    let page = server.post("/account/password").browser().session(&token);
    page.form("new=another+in+the+fog").expect(403).says("Sign in again with your provider first.");
    server.lodge.age_sessions(-61);
    assert_eq!(set().status, 200);
}

#[test]
fn a_session_alone_cannot_change_the_email_address() {
    let (server, [token]) = Lodge::new().start_with(["ada"]);
    let edit = |request: &Value| server.patch("/api/me").bearer(&token).json(request).send();
    let address = || edit(&json!({})).json()["email"].clone();
    assert_eq!(edit(&json!({ "nickname": "Ada", "email": null })).status, 200, "it has none");
    for (current, status) in [(Value::Null, 400), (json!("a guess"), 403)] {
        let request = json!({ "email": "eve@example.org", "current": current });
        assert_eq!(edit(&request).status, status, "{request}");
    }
    let form = "nickname=Ada&email=eve%40example.org&current=a+guess";
    let page = server.post("/account").browser().session(&token).form(form);
    page.expect(403).says("id=\"profile-current-error\"").says("value=\"eve@example.org\"");
    assert_eq!(address(), Value::Null);
    let right = json!({ "email": "ada@example.org", "current": PASSWORD });
    assert_eq!(edit(&right).json()["email"], "ada@example.org");

    server.lodge.take_passwords();
    server.lodge.age_sessions(601);
    edit(&json!({ "email": null })).expect(403).says("sign in again with your provider");
    assert_eq!(edit(&json!({ "nickname": "Lady Ada" })).status, 200);
    assert_eq!(address(), "ada@example.org");
}

#[test]
fn a_session_alone_cannot_delete_an_account() {
    let (server, [token]) = Lodge::new().start_with(["ada"]);
    let delete = |server: &Server, request: &Value| {
        server.delete("/api/me").bearer(&token).json(request).send().status
    };
    let on_page = |server: &Server, form: &str| {
        server.post("/account/delete").browser().session(&token).form(form).send()
    };
    assert_eq!(delete(&server, &json!({})), 400);
    assert_eq!(delete(&server, &json!({ "current": "a guess" })), 403);
    for (form, field) in [
        ("confirm=grace&current=a+lift+in+the+fog", "confirm"),
        ("confirm=ada", "delete-current"),
        ("confirm=ada&current=a+guess", "delete-current"),
    ] {
        let page = on_page(&server, form);
        assert!(matches!(page.status, 400 | 403), "{form}: {page:?}");
        page.says(&format!("id=\"{field}-error\""));
    }

    server.lodge.take_passwords();
    server.lodge.age_sessions(601);
    // The server knows nothing of a change in its file.
    let server = server.restart_after_kill();
    assert_eq!(delete(&server, &json!({})), 403);
    on_page(&server, "confirm=ada").expect(403).says("Sign in again with your provider first.");
    server.lodge.age_sessions(-61);
    let server = server.restart_after_kill();
    assert_eq!(delete(&server, &json!({})), 204);
}

#[test]
fn failed_reauthentication_is_limited_per_address() {
    let (server, [token]) =
        Lodge::new().with("LODGE_LIMITS_ATTEMPTS_PER_MINUTE", "0").start_with(["ada"]);
    let change = |address: &str, current: &str| {
        let request = json!({ "current": current, "new": "another in the fog" });
        server.put("/api/me/password").bearer(&token).from(address).json(&request).send().status
    };
    for _ in 0..10 {
        assert_eq!(change("192.0.2.1", "a guess"), 403);
    }
    assert_eq!(change("192.0.2.1", PASSWORD), 429);
    assert_eq!(change("192.0.2.2", PASSWORD), 200);
}

#[test]
fn ten_failures_from_an_address_lock_it_out_of_the_name() {
    let server = Lodge::new().with("LODGE_LIMITS_ATTEMPTS_PER_MINUTE", "0").start();
    server.make_account("ada");
    let from = |address: &str, name: &str, password: &str| {
        let who = json!({ "username": name, "password": password });
        server.post("/api/session").from(address).json(&who).send()
    };
    for name in ["ada", "stranger"] {
        for _ in 0..10 {
            assert_eq!(from("192.0.2.1", name, "a guess").status, 401);
        }
        let wait = from("192.0.2.1", &name.to_uppercase(), PASSWORD).expect_retry_after(429);
        assert!((800..=900).contains(&wait), "{wait}");
    }
    assert_eq!(from("192.0.2.2", "ada", PASSWORD).status, 200);
}

#[test]
fn the_owner_signs_in_on_a_known_device_while_others_have_locked_the_name() {
    let server = Lodge::new().with("LODGE_LIMITS_ATTEMPTS_PER_MINUTE", "0").start();
    server.make_account("ada");
    let on_page = |password: &str, device: &str| {
        let form = format!("username=ada&password={}", password.replace(' ', "+"));
        let ask = server.post("/login").browser().from("203.0.113.7").form(&form);
        ask.header("Cookie", &format!("lodge_device={device}")).send()
    };
    let cookie = |answer: &Response, prefix: &str| {
        let set = answer.headers.iter().filter(|(name, _)| name == "set-cookie");
        let mut set = set.filter_map(|(_, value)| value.strip_prefix(prefix));
        set.next().unwrap().split(';').next().unwrap().to_owned()
    };
    let first = on_page(PASSWORD, "");
    assert_eq!(first.status, 303);
    let device = cookie(&first, "lodge_device=");
    for number in 0..100 {
        let who = json!({ "username": "ada", "password": "a guess" });
        let from = format!("198.51.100.{}", number / 10);
        server.post("/api/session").from(&from).json(&who).expect(401);
    }
    assert_eq!(on_page(PASSWORD, "").status, 429, "the name is locked");
    let (expiry, mac) = device.split_once('.').unwrap();
    let later = expiry.parse::<i64>().unwrap() + 1;
    for forged in [
        "x".to_owned(),
        format!("{expiry}."),
        format!("{later}.{mac}"),
        format!("{expiry}.{}", mac.to_uppercase()),
        // Failures are counted by the token, so another spelling would be as good as another device.
        format!("+{device}"),
        format!("0{device}"),
    ] {
        assert_eq!(on_page(PASSWORD, &forged).status, 429, "{forged}");
    }
    assert_eq!(on_page("a guess", &device).status, 403);
    assert_eq!(on_page(PASSWORD, &device).status, 303);
    let request = json!({ "current": PASSWORD, "new": "another in the fog" });
    let token = cookie(&on_page(PASSWORD, &device), "lodge_session=");
    server.set_password(&token, &request);
    assert_eq!(on_page("another in the fog", &device).status, 429, "a new password forgets it");
}

#[test]
fn sign_in_attempts_are_limited_per_address_across_names() {
    let server = Lodge::new().with("LODGE_LIMITS_ATTEMPTS_PER_MINUTE", "5").start();
    let from = |address: &str, path: &str, body: &Value| {
        server.post(path).from(address).json(body).send().status
    };
    for number in 0..5 {
        let who = json!({ "username": format!("name-{number}"), "password": "a guess" });
        assert_eq!(from("192.0.2.1", "/api/session", &who), 401);
    }
    let who = json!({ "username": "name", "password": "a guess" });
    let code = json!({ "username": "name", "code": "reset_x", "new": PASSWORD });
    assert_eq!(from("192.0.2.1", "/api/session", &who), 429);
    assert_eq!(from("192.0.2.1", "/api/password", &code), 429);
    assert_eq!(from("192.0.2.2", "/api/password", &code), 403);
}

#[test]
fn a_refused_sign_in_does_not_reveal_whether_the_name_exists() {
    let (lodge, server) = Lodge::new().started();
    for name in ["ada", "banned"] {
        server.make_account(name);
    }
    lodge.admin(&["user", "ban", "banned"]);
    let file = lodge.write("people.csv", "username\nprovided\n");
    lodge.admin(&["user", "import", file.to_str().unwrap()]);
    let plain = |name: &str| {
        let mut answer = server.sign_in(name, "a guess").json();
        answer.as_object_mut().unwrap().remove("request_id");
        answer
    };
    let known = plain("ada");
    for name in ["stranger", "banned", "provided", "a b", "", "\u{202e}"] {
        assert_eq!(plain(name), known, "{name:?}");
    }
}

#[test]
fn links_belong_to_the_account_that_created_them() {
    let (server, [adas, graces]) = Lodge::new().start_with(["ada", "grace"]);
    let key = server.lodge.key("one");
    let create = |owner: &str, short: &str| {
        let link = json!({ "target": "example.org", "short": short, "tags": ["t"] });
        server.post("/api/links").bearer(owner).json(&link).expect(201);
    };
    create(&adas, "adas");
    create(&graces, "graces");
    // The key's id is also the id of an account.
    create(&key, "keys");
    let shorts = |owner: &str, query: &str| {
        let page = server.call(owner, "GET", &format!("/api/links{query}")).json();
        each(&page["links"], "short")
    };
    for query in ["", "?tag=t", "?search=example"] {
        assert_eq!(shorts(&adas, query), ["adas"], "{query}");
        assert_eq!(shorts(&graces, query), ["graces"], "{query}");
        assert_eq!(shorts(&key, query), ["keys"], "{query}");
    }
    let edit = |owner: &str| {
        let edit = json!({ "target": "example.com" });
        server.patch("/api/links/adas").bearer(owner).json(&edit).send().status
    };
    assert_eq!((edit(&graces), edit(&key), edit(&adas)), (403, 403, 200));
    assert_eq!(server.call(&adas, "GET", "/api/links/adas/clicks").status, 200);
    assert_eq!(server.call(&graces, "GET", "/api/links/adas/clicks").status, 403);
    assert_eq!(server.end(&adas, "/api/me/sessions").status, 204);
    assert_eq!(edit(&adas), 401);
}

#[test]
fn requests_without_a_valid_session_are_refused() {
    let (server, [token]) = Lodge::new().start_with(["ada"]);
    let last = if token.ends_with('A') { "E" } else { "A" };
    let forged = format!("{}{last}", &token[..token.len() - 1]);
    for (method, path) in [
        ("GET", "/api/me"),
        ("PATCH", "/api/me"),
        ("DELETE", "/api/me"),
        ("PUT", "/api/me/password"),
        ("PUT", "/api/me/picture"),
        ("DELETE", "/api/me/picture"),
        ("GET", "/api/me/sessions"),
        ("DELETE", "/api/me/sessions"),
        ("GET", "/api/me/export"),
        ("DELETE", "/api/session"),
    ] {
        let ask = || server.ask(method, path).json(json!({}));
        ask().expect(401);
        for token in [forged.as_str(), "session_", "lodge_x", "x"] {
            ask().bearer(token).expect(401);
        }
    }
}

#[test]
fn neither_a_password_nor_a_token_is_stored_or_logged() {
    let (lodge, server) =
        Lodge::new().with("LODGE_LOG_FILTER", "trace").with("LODGE_LOG_REQUESTS", "true").started();
    let token = server.member("ada");
    assert_eq!(server.sign_in("ada", "a lift in the smoke").status, 401);
    assert!(server.is_signed_in(&token));
    let log = server.log();
    assert_eq!(server.stop(), Some(0));
    let database = std::fs::read(lodge.data().join("lodge.db")).unwrap();
    let kept = String::from_utf8_lossy(&database);
    for secret in [PASSWORD, "a lift in the smoke", &token["session_".len()..]] {
        assert!(!log.contains(secret) && !kept.contains(secret), "{secret}");
    }
    assert!(kept.contains("$argon2id$"));
}

#[test]
fn each_app_alone_has_no_trace_of_the_others() {
    let server = Lodge::new().with("LODGE_APPS", "accounts").start();
    server.make_account("ada");
    assert!(server.is_signed_in(&server.token("ada")));
    server.put("/?short=gg&long=example.org").expect(405);
    server.post("/api/links").json(json!({})).expect(404);
    let paths = server.get("/api/openapi.json").json()["paths"].clone();
    assert!(paths["/api/me"].is_object() && paths.get("/api/links").is_none());
    assert!(paths.get("/api/rides").is_none());
    for path in ["/resorts", "/skiers/1/vertical", "/api/rides/ledger"] {
        let answer = server.get(path).expect(404);
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{path}");
    }
    server.get("/").leads_to(303, "/account");
    server.get("/account").leads_to(303, "/login?next=/account");
    let page = server.get("/login").text();
    assert!(!page.contains("/links") && !page.contains("/rides"), "no trace of the other apps");
    assert_eq!(server.get("/rides").status, 404);
    drop(server);

    let server = Lodge::new().with("LODGE_APPS", "links").start();
    assert_eq!(server.sign_in("ada", PASSWORD).status, 404);
    let paths = server.get("/api/openapi.json").json()["paths"].clone();
    assert!(paths["/api/links"].is_object() && paths.get("/api/me").is_none());
    assert!(paths.get("/api/rides").is_none());
    assert_eq!(server.get("/api/rides/ledger").status, 404);
    assert!(!server.get("/").text().contains("/rides"));
    assert_eq!(server.get("/rides").status, 404);
    drop(server);

    let server = Lodge::new().with("LODGE_APPS", "rides").start();
    assert_eq!(server.get("/resorts").status, 200);
    assert_eq!(server.sign_in("ada", PASSWORD).status, 404);
    server.put("/?short=gg&long=example.org").expect(405);
    for path in ["/", "/rides", "/rides/skiers/1", "/nowhere"] {
        let page = server.ask("GET", path).browser().send().text();
        for trace in ["/links", "/new", "/account", "/login", "short links"] {
            assert!(!page.contains(trace), "{path} has {trace}: {page}");
        }
    }
    assert!(server.get("/").text().contains("All resorts"));
    assert_eq!(server.get("/login").status, 404, "rides need no accounts");
    let paths = server.get("/api/openapi.json").json()["paths"].clone();
    assert!(paths["/api/rides"].is_object());
    assert!(paths.get("/api/links").is_none() && paths.get("/api/me").is_none());
}
