//! Forged and foreign provider responses are refused, and an unreachable provider delays no other request.

use std::{
    net::TcpListener,
    thread,
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rustix::process::Signal;
use serde_json::json;
use url::Url;

use crate::{
    Lodge, Response, Server,
    provider::{
        Browser, OpenIdProvider, authorization_state, parameter, with_parameter, with_providers,
    },
    tiers::Tiers,
};

/// Opens the callback, which must be refused and leave no session, no sign-up ticket and no authorization
/// state. Returns the response.
fn assert_refused(server: &Server, mut browser: Browser, back: &Url, what: &str) -> Response {
    let answer = browser.get(back).expect(403);
    for cookie in ["lodge_session", "lodge_sign_up", "lodge_provider"] {
        assert_eq!(browser.cookie(server, cookie), None, "{what}");
    }
    answer
}

#[test]
fn a_callback_that_does_not_match_the_request_is_refused() {
    let (_provider, _lodge, server) = OpenIdProvider::with_server();
    let mut browser = Browser::default();
    let back = browser.there_and_back(&server, "open", "ada");
    let other_way =
        Url::parse(&back.as_str().replace("/login/by/open/", "/login/by/plain/")).unwrap();
    let flow = browser.cookie(&server, "lodge_provider").unwrap().to_owned();
    for (what, url) in [
        ("another state", with_parameter(&back, "state", Some("x"))),
        ("no state", with_parameter(&back, "state", None)),
        ("no code", with_parameter(&back, "code", None)),
        ("an empty code", with_parameter(&back, "code", Some(""))),
        ("another code", with_parameter(&back, "code", Some("x"))),
        ("another issuer", with_parameter(&back, "iss", Some("https://id.example.org"))),
        ("another provider", other_way),
    ] {
        assert_refused(&server, browser.clone(), &url, what);
    }
    let changed = |flow: &str| {
        let mut browser = browser.clone();
        browser.set(&server, "lodge_provider", flow);
        assert_refused(&server, browser, &back, flow);
    };
    let (said, mac) = flow.rsplit_once('.').unwrap();
    let (authorization_state, expires_at) = authorization_state(&flow);
    let longer = URL_SAFE_NO_PAD.encode(json!([authorization_state, expires_at + 1]).to_string());
    changed("x");
    changed(&format!("a{flow}"));
    changed(&format!("{longer}.{mac}"));
    changed(&format!("{said}.{}", &mac[1..]));
    let answer = Browser::default().get(&back);
    assert_eq!(answer.status, 403, "another browser: {answer:?}");
    // After all that the genuine response is still accepted.
    assert_eq!(browser.get(&back).location(), Some("/signup/name"));
}

#[test]
fn a_callback_is_accepted_once() {
    let (_provider, _lodge, server) = OpenIdProvider::with_server();
    let mut browser = Browser::default();
    let back = browser.there_and_back(&server, "open", "ada");
    let keeps_its_cookies = browser.clone();
    assert_eq!(browser.get(&back).location(), Some("/signup/name"));
    let answer = browser.get(&back);
    assert_eq!(answer.status, 403, "the browser has no authorization state left: {answer:?}");
    assert_refused(&server, keeps_its_cookies, &back, "the provider accepts a code once");
}

#[test]
fn a_stolen_code_is_refused() {
    let (_provider, _lodge, server) = OpenIdProvider::with_server();
    for way in ["open", "plain"] {
        let (mut ada, mut mallory) = (Browser::default(), Browser::default());
        let adas = ada.there_and_back(&server, way, "ada");
        let mallorys = mallory.set_out(&server, way);
        let stolen = with_parameter(&adas, "state", Some(&parameter(&mallorys, "state")));
        assert_refused(&server, mallory, &stolen, &format!("{way}: the code is of ada's"));
    }
}

#[test]
fn a_tampered_authorization_request_is_refused() {
    let (_provider, _lodge, server) = OpenIdProvider::with_server();
    let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
    for (way, name, value) in [
        ("open", "nonce", "another"),
        ("open", "code_challenge", challenge),
        ("plain", "code_challenge", challenge),
    ] {
        let mut browser = Browser::default();
        let there = browser.set_out(&server, way);
        let there = with_parameter(&there, name, Some(value));
        let back = browser.through_provider(&server, &there, "ada");
        assert_refused(&server, browser, &back, &format!("{way}: {name}"));
    }
}

#[test]
fn an_invalid_id_token_is_refused() {
    let (_provider, _lodge, server) = OpenIdProvider::with_server();
    for login in [
        "wrong-audience",
        "two-audiences",
        "wrong-issuer",
        "expired",
        "wrong-nonce",
        "no-nonce",
        "wrong-key",
        "unsigned",
        "signed-with-the-secret",
    ] {
        let mut browser = Browser::default();
        let back = browser.there_and_back(&server, "open", login);
        assert_refused(&server, browser, &back, login);
    }
    Browser::default().sign_in_by(&server, "open", "ada").leads_to(303, "/signup/name");
}

#[test]
fn error_texts_of_a_provider_are_not_shown() {
    let (_provider, _lodge, server) = OpenIdProvider::with_server();
    let mut browser = Browser::default();
    let there = browser.set_out(&server, "open");
    let back = browser.refuse_provider(&server, &there);
    assert_eq!(parameter(&back, "error"), "access_denied");
    let answer = assert_refused(&server, browser.clone(), &back, "access_denied");
    answer.says("The provider denied access");
    assert!(!answer.text().contains(&parameter(&back, "error_description")));
    for (error, status) in [("server_error", 503), ("%3Cscript%3E", 403), ("invalid_scope", 403)] {
        let mut browser = browser.clone();
        let url = with_parameter(&back, "error", None);
        let url = format!("{url}&error={error}").parse().unwrap();
        let answer = browser.get(&url).expect(status);
        assert_eq!(answer.header("retry-after").is_some(), status == 503);
        let text = answer.text();
        assert!(!text.contains("<script>") && !text.contains("invalid_scope"), "{text}");
    }
}

#[test]
fn new_signing_keys_of_a_provider_are_used_at_once() {
    let (provider, _lodge, server) = OpenIdProvider::with_server();
    Browser::default().sign_up_by(&server, "open", "ada");
    let _provider = provider.restarted();
    assert_eq!(Browser::default().sign_in_by(&server, "open", "ada").location(), Some("/links"));
}

/// Sets up two unavailable providers: one that refuses connections, one that never responds.
fn lost(lodge: Lodge, silent: &TcpListener) -> Lodge {
    // A port that is given to no other test, as those are above 1023.
    let closed = "127.0.0.1:1";
    let silent = silent.local_addr().unwrap();
    with_providers(lodge, |_| {
        json!([
            { "name": "down", "issuer": format!("http://{closed}"), "client_id": "x" },
            { "name": "silent", "issuer": format!("http://{silent}"), "client_id": "x" },
        ])
    })
    .with("LODGE_APPS", "links,accounts")
}

/// Asserts 503 with `Retry-After`, within that time.
fn assert_unavailable(server: &Server, path: &str, within: Duration) {
    let began = Instant::now();
    let answer = server.get(path);
    let took = began.elapsed();
    answer.expect_retry_after(503);
    assert!(took < within, "{path}: {took:?}");
}

#[test]
fn an_unreachable_provider_does_not_delay_other_requests() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (lodge, server) = lost(Lodge::new(), &silent).started();
    assert_unavailable(&server, "/login/by/down", Duration::from_secs(2));
    thread::scope(|scope| {
        for _ in 0..100 {
            scope
                .spawn(|| assert_unavailable(&server, "/login/by/silent", Duration::from_secs(10)));
        }
        assert_eq!(server.get("/no-such-link").status, 404, "other requests are served");
        assert_eq!(server.get("/api/users/stranger").status, 404);
    });
    let checked = lodge.run(&["check"]);
    let line = checked.out.lines().find(|line| line.starts_with("BAD   provider down"));
    assert!(checked.code != 0 && line.is_some_and(|line| line.contains("refused")), "{checked:?}");
}

#[test]
fn an_unresponsive_provider_does_not_block_the_connection_between_the_tiers() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut tiers = Tiers::new().with("LODGE_ACCOUNTS_CONNECTIONS", "1");
    tiers.accounts = lost(tiers.accounts, &silent);
    let (_tiers, _accounts, web) = tiers.start();
    thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| assert_unavailable(&web, "/login/by/silent", Duration::from_secs(10)));
        }
        let _pending = silent.accept().unwrap();
        let began = Instant::now();
        assert_eq!(web.get("/api/users/stranger").status, 404, "other requests are served");
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    });
}

#[test]
fn the_sign_in_page_does_not_wait_long_for_the_list_of_providers() {
    let provider = OpenIdProvider::start();
    let mut tiers = Tiers::new();
    tiers.accounts = with_providers(tiers.accounts, |secret| provider.settings(secret));
    let (_tiers, accounts, web) = tiers.start();
    assert!(web.get("/login").text().contains("Sign in with Open"));
    accounts.signal(Signal::STOP);
    let began = Instant::now();
    let answer = web.get("/login");
    let took = began.elapsed();
    let text = answer.expect(200).text();
    assert!(!text.contains("Sign in with Open"), "{text}");
    assert!(took < Duration::from_secs(2), "{took:?}");
    accounts.signal(Signal::CONT);
}

#[test]
fn a_provider_that_fails_during_a_sign_in_is_answered_with_503() {
    let (provider, _lodge, server) = OpenIdProvider::with_server();
    let mut slow = Browser::default();
    let began = Instant::now();
    assert_eq!(slow.sign_in_by(&server, "open", "slow").status, 503, "the provider never responds");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());

    let mut browser = Browser::default();
    let back = browser.there_and_back(&server, "open", "ada");
    drop(provider);
    browser.get(&back).expect_retry_after(503);
    assert!(browser.cookie(&server, "lodge_session").is_none());
}
