//! What is not a provider's answer to this browser's question lets nobody in, and a provider that is not
//! there holds up nobody.

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
    Answer, Lodge, Server,
    provider::{Browser, OpenIdProvider, journey, parameter, with_parameter, with_providers},
    tiers::Tiers,
};

/// Comes back and is refused, with nothing left of it: no session, no ticket, no flow that could be used
/// again; the answer.
fn assert_refused(server: &Server, mut browser: Browser, back: &Url, what: &str) -> Answer {
    let answer = browser.get(back).expect(403);
    for cookie in ["lodge_session", "lodge_newcomer", "lodge_provider"] {
        assert_eq!(browser.cookie(server, cookie), None, "{what}");
    }
    answer
}

#[test]
fn an_answer_to_another_question_is_none() {
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
    let (journey, expires_at) = journey(&flow);
    let longer = URL_SAFE_NO_PAD.encode(json!([journey, expires_at + 1]).to_string());
    changed("x");
    changed(&format!("a{flow}"));
    changed(&format!("{longer}.{mac}"));
    changed(&format!("{said}.{}", &mac[1..]));
    let answer = Browser::default().get(&back);
    assert_eq!(answer.status, 403, "another browser: {answer:?}");
    // After all of that, the right answer is still the right one.
    assert_eq!(browser.get(&back).location(), Some("/signup/name"));
}

#[test]
fn an_answer_counts_once() {
    let (_provider, _lodge, server) = OpenIdProvider::with_server();
    let mut browser = Browser::default();
    let back = browser.there_and_back(&server, "open", "ada");
    let keeps_its_cookies = browser.clone();
    assert_eq!(browser.get(&back).location(), Some("/signup/name"));
    let answer = browser.get(&back);
    assert_eq!(answer.status, 403, "the browser keeps nothing of it: {answer:?}");
    assert_refused(&server, keeps_its_cookies, &back, "the provider takes a code once");
}

#[test]
fn somebody_elses_code_lets_nobody_in() {
    let (_provider, _lodge, server) = OpenIdProvider::with_server();
    for way in ["open", "plain"] {
        let (mut ada, mut mallory) = (Browser::default(), Browser::default());
        let adas = ada.there_and_back(&server, way, "ada");
        let mallorys = mallory.set_out(&server, way);
        let stolen = with_parameter(&adas, "state", Some(&parameter(&mallorys, "state")));
        assert_refused(&server, mallory, &stolen, &format!("{way}: a code is of who asked"));
    }
}

#[test]
fn a_question_that_was_changed_on_its_way_has_no_answer() {
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
fn a_token_that_does_not_say_what_it_must_lets_nobody_in() {
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
fn a_providers_own_words_are_not_repeated() {
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
fn a_provider_that_has_changed_its_keys_is_believed_at_once() {
    let (provider, _lodge, server) = OpenIdProvider::with_server();
    Browser::default().sign_up_by(&server, "open", "ada");
    let _provider = provider.restarted();
    assert_eq!(Browser::default().sign_in_by(&server, "open", "ada").location(), Some("/links"));
}

/// Providers that are not there as they should be: one where nobody listens, one that never answers.
fn lost(lodge: Lodge, silent: &TcpListener) -> Lodge {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let silent = silent.local_addr().unwrap();
    with_providers(lodge, |_| {
        json!([
            { "name": "down", "issuer": format!("http://{nobody}"), "client_id": "x" },
            { "name": "silent", "issuer": format!("http://{silent}"), "client_id": "x" },
        ])
    })
    .with("LODGE_APPS", "links,accounts")
}

/// Politely told to come again, within that time.
fn assert_unavailable(server: &Server, path: &str, within: Duration) {
    let began = Instant::now();
    let answer = server.get(path);
    let took = began.elapsed();
    answer.is_put_off(503);
    assert!(took < within, "{path}: {took:?}");
}

#[test]
fn a_provider_that_is_not_there_holds_up_nobody() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (lodge, server) = lost(Lodge::new(), &silent).started();
    assert_unavailable(&server, "/login/by/down", Duration::from_secs(2));
    thread::scope(|scope| {
        for _ in 0..100 {
            scope
                .spawn(|| assert_unavailable(&server, "/login/by/silent", Duration::from_secs(10)));
        }
        assert_eq!(server.get("/no-such-link").status, 404, "everything else goes on");
        assert_eq!(server.get("/api/users/nobody").status, 404);
    });
    let checked = lodge.run(&["check"]);
    let line = checked.out.lines().find(|line| line.starts_with("BAD   provider down"));
    assert!(checked.code != 0 && line.is_some_and(|line| line.contains("refused")), "{checked:?}");
}

#[test]
fn nor_does_it_where_the_tiers_share_one_connection() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut tiers = Tiers::new().with("LODGE_ACCOUNTS_CONNECTIONS", "1");
    tiers.accounts = lost(tiers.accounts, &silent);
    let (_tiers, _accounts, web) = tiers.start();
    thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| assert_unavailable(&web, "/login/by/silent", Duration::from_secs(10)));
        }
        let _somebody_waits = silent.accept().unwrap();
        let began = Instant::now();
        assert_eq!(web.get("/api/users/nobody").status, 404, "everything else goes on");
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
fn a_provider_that_dies_in_the_middle_is_missed_politely() {
    let (provider, _lodge, server) = OpenIdProvider::with_server();
    let mut slow = Browser::default();
    let began = Instant::now();
    assert_eq!(slow.sign_in_by(&server, "open", "slow").status, 503, "it never answers");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());

    let mut browser = Browser::default();
    let back = browser.there_and_back(&server, "open", "ada");
    drop(provider);
    browser.get(&back).is_put_off(503);
    assert!(browser.cookie(&server, "lodge_session").is_none());
}
