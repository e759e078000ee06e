//! A stored outcome is given only to the client of the first request, and only for the same request, passwords
//! included.

use serde_json::{Value, json};

use crate::{Lodge, PASSWORD, Request, Response, Server, between, tiers::Tiers};

pub(crate) const UUID_4: &str = "f47ac10b-58cc-4372-a567-0e02b2c3d479";
const UUID_7: &str = "0190163d-8694-739b-aea5-966c26f8ad91";

/// Addresses of two clients.
const ONE: &str = "192.0.2.1";
const TWO: &str = "192.0.2.2";

fn create(server: &Server, key: &str, address: &str) -> Response {
    let link = json!({ "target": "example.org" });
    server.post("/api/links").idempotency_key(key).from(address).json(link).expect(201)
}

fn sign_up(server: &Server, key: &str, password: &str) -> Request {
    let account = json!({ "username": "ada", "password": password });
    server.post("/api/accounts").idempotency_key(key).json(account)
}

fn is_replayed(answer: &Response) -> bool {
    answer.header("idempotency-replayed") == Some("true")
}

/// Asserts that the second answer is the stored outcome of the first.
#[track_caller]
fn assert_replay(first: &Response, second: &Response) {
    assert!(!is_replayed(first) && is_replayed(second), "{first:?} {second:?}");
    assert_eq!(first.text(), second.text());
}

#[test]
fn a_client_at_another_address_does_not_get_the_manage_key_of_the_first() {
    let server = Lodge::new().start();
    let first = create(&server, "1", ONE);
    assert_replay(&first, &create(&server, "1", ONE));
    for other in [TWO, "2001:db8::1"] {
        let answer = create(&server, "1", other);
        assert!(!is_replayed(&answer), "{answer:?}");
        assert_ne!(answer.json()["manage_key"], first.json()["manage_key"]);
    }
    assert_eq!(server.links_stored(), 3);
    let same_network = create(&server, "1", "2001:db8::ffff");
    assert!(is_replayed(&same_network), "{same_network:?}");
    let direct =
        server.post("/api/links").idempotency_key("1").json(json!({ "target": "example.org" }));
    assert!(!is_replayed(&direct.expect(201)));
}

#[test]
fn a_client_whose_key_is_a_random_uuid_may_change_its_address_between_tries() {
    let server = Lodge::new().start();
    for key in [UUID_4, UUID_7] {
        let first = create(&server, key, ONE);
        assert_replay(&first, &create(&server, key, TWO));
    }
    assert_eq!(server.links_stored(), 2);
}

#[test]
fn an_invented_manage_key_does_not_make_two_clients_one() {
    let server = Lodge::new().start();
    let post = |address: &str| {
        let ask = server.post("/api/links").idempotency_key("1").bearer("manage_x").from(address);
        ask.json(json!({ "target": "example.org" })).expect(201)
    };
    let (first, second) = (post(ONE), post(TWO));
    assert!(!is_replayed(&second), "{second:?}");
    assert_ne!(second.json()["manage_key"], first.json()["manage_key"]);
    assert_replay(&first, &post(ONE));
}

#[test]
fn the_holder_of_a_replaced_manage_key_does_not_get_the_new_one_by_guessing() {
    let server = Lodge::new().start();
    let link = server.create(&json!({ "target": "example.org" }));
    let renew = json!({ "new_manage_key": true });
    let renew = |key: &str, address: &str| {
        server.manage(&link, "PATCH").idempotency_key(key).from(address).json(&renew).send()
    };
    renew("1", ONE).expect_field_error(400, "Idempotency-Key");
    let first = renew(UUID_4, ONE).expect(200);
    assert_replay(&first, &renew(UUID_4, TWO));
    for address in [ONE, TWO] {
        let guess = renew(UUID_7, address).expect(403);
        assert!(!guess.text().contains("manage_"), "{guess:?}");
    }
}

#[test]
fn a_sign_up_repeated_with_another_password_is_refused() {
    let server = Lodge::new().start();
    for key in ["1", UUID_4] {
        let username = format!("ada-{}", key.len());
        let ask = |password: &str| {
            let account = json!({ "username": username, "password": password });
            server.post("/api/accounts").idempotency_key(key).json(account)
        };
        let first = ask(PASSWORD).expect(201);
        ask("another in the fog").expect(422);
        assert_replay(&first, &ask(PASSWORD).expect(201));
    }
}

#[test]
fn a_sign_up_repeated_from_another_address_is_not_answered_as_the_first() {
    let server = Lodge::new().start();
    let first = sign_up(&server, "1", PASSWORD).from(ONE).expect(201);
    sign_up(&server, "1", PASSWORD).from(TWO).expect(409);
    assert_replay(&first, &sign_up(&server, "1", PASSWORD).from(ONE).expect(201));
}

#[test]
fn a_sign_up_repeated_on_another_web_process_is_answered_as_the_first() {
    let (tiers, _accounts, web) = Tiers::new().start();
    let other = tiers.another_web().start();
    let first = sign_up(&web, "1", PASSWORD).expect(201);
    assert_replay(&first, &sign_up(&other, "1", PASSWORD).expect(201));
    sign_up(&other, "1", "another in the fog").expect(422);
}

#[test]
fn a_link_repeated_with_another_password_is_refused() {
    let server = Lodge::new().start();
    for key in ["1", UUID_4] {
        let ask = |password: &str| {
            let link = json!({ "target": "example.org", "password": password });
            server.post("/api/links").idempotency_key(key).json(link)
        };
        let first = ask("one").expect(201);
        ask("two").expect(422);
        assert_replay(&first, &ask("one").expect(201));
    }
}

/// Returns the stored fingerprints after the same requests with passwords, by programs and by forms.
fn fingerprints() -> Vec<Vec<u8>> {
    let (lodge, server) = Lodge::new().started();
    let link = json!({ "target": "example.org", "short": "one", "password": "secret" });
    server.post("/api/links").idempotency_key(UUID_4).json(link).expect(201);
    sign_up(&server, UUID_4, PASSWORD).expect(201);
    let form = format!("form={UUID_7}&target=example.org&short=two&password=secret");
    server.post("/links").form(&form).expect(303);
    let form = format!("form={UUID_7}&username=grace&password=a+lift+in+the+fog");
    server.post("/signup").form(&form).expect(303);
    let database = lodge.database();
    let mut rows = database.prepare("SELECT fingerprint FROM outcomes").unwrap();
    rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn a_stored_fingerprint_allows_no_guesses_at_a_password_without_the_installations_secret() {
    let (one, other) = (fingerprints(), fingerprints());
    assert_eq!((one.len(), other.len()), (4, 4));
    let same = one.iter().filter(|fingerprint| other.contains(fingerprint)).count();
    assert_eq!(same, 0, "each fingerprint is keyed with the installation's secret");
}

#[test]
fn a_form_sent_twice_creates_one_link_also_from_another_address() {
    let server = Lodge::new().start();
    let page = server.get("/new").text();
    let id = between(&page, "name=\"form\" value=\"", "\"").unwrap();
    let form = format!("target=example.org&form={id}");
    let send = |address: &str| server.post("/links").from(address).form(&form).expect(303);
    assert_eq!(send(ONE).location(), send(TWO).location());
    assert_eq!(server.links_stored(), 1);
}

#[test]
fn a_form_sent_again_after_signing_out_does_not_get_the_outcome_of_the_account() {
    let (server, [token]) = Lodge::new().start_with(["ada"]);
    let form = format!("target=example.org&form={UUID_4}");
    let first = server.on_page(&token, "POST", "/links").form(&form).expect(303);
    let again = server.on_page(&token, "POST", "/links").form(&form).expect(303);
    assert_eq!(again.location(), first.location());
    let signed_out = server.post("/links").browser().form(&form).expect(303);
    assert_ne!(signed_out.location(), first.location());
    let owned: Value = server.call(&token, "GET", "/api/links").json();
    assert_eq!(owned["links"].as_array().map(Vec::len), Some(1));
}
