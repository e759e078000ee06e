//! Linking a provider to an account requires reauthentication, and leaves no unwanted way to sign in.

use serde_json::json;

use crate::{
    PASSWORD, Response, Server,
    provider::{Browser, OpenIdProvider, parameter, with_parameter, with_providers},
    providers::{ask_to_link, begin_to_link, issuers, link, unlink_on_page},
};

/// Asserts a refusal page with this reason, and that the account stays signed in.
fn assert_not_linked(server: &Server, token: &str, answer: &Response, why: &str) {
    let text = answer.text();
    assert!(text.contains("The provider was not linked") && text.contains(why), "{text}");
    assert!(text.contains("href=\"/account\"") && server.is_signed_in(token), "{text}");
    assert_eq!(issuers(server, token), [""; 0]);
}

#[test]
fn a_session_alone_cannot_link_a_provider() {
    let (_provider, _lodge, server) = OpenIdProvider::with_server();
    let token = server.member("ada");
    let mut browser = Browser::signed_in(&server, &token);
    for password in ["", "a guess", &"x".repeat(200)] {
        let answer = ask_to_link(&server, &mut browser, "open", password);
        assert!(matches!(answer.status, 400 | 403), "{password}: {answer:?}");
        let text = answer.text();
        assert!(text.contains("id=\"link-open-error\""), "{password}: {text}");
        assert!(text.contains("This is not your current password."), "{text}");
        assert_eq!(browser.cookie(&server, "lodge_provider"), None);
    }
    assert_eq!(link(&server, &mut browser, "open", "ada").location(), Some("/account"));

    let mut visitor = Browser::default();
    let sign_in = (303, Some("/login?next=/account"));
    assert_eq!(ask_to_link(&server, &mut visitor, "open", PASSWORD).leads(), sign_in);
}

#[test]
fn an_account_without_a_password_links_soon_after_a_sign_in() {
    let (provider, lodge, server) = OpenIdProvider::with_server();
    let mut browser = Browser::default();
    browser.sign_up_by(&server, "open", "ada");
    ask_to_link(&server, &mut browser, "plain", "").expect(403);
    assert_eq!(browser.reauthenticate_by(&server, "open", "ada").location(), Some("/account"));
    let token = browser.cookie(&server, "lodge_session").unwrap().to_owned();
    lodge.age_sessions(9 * 60);
    begin_to_link(&server, &mut browser, "plain");
    lodge.age_sessions(61);
    ask_to_link(&server, &mut browser, "plain", "")
        .expect(403)
        .says("Sign in again with your provider first.");
    assert_eq!(issuers(&server, &token), [provider.issuer.as_str()]);
    // The provider may have remembered this sign-in, and does not say.
    assert_eq!(browser.sign_in_by(&server, "open", "ada").status, 303);
    let page = browser.open(&server, "/account").text();
    assert!(page.contains("/login/by/open?next=/account&amp;reauthenticate=1"), "{page}");
    ask_to_link(&server, &mut browser, "plain", "").expect(403);
    assert_eq!(browser.reauthenticate_by(&server, "open", "ada").status, 303);
    assert!(!browser.open(&server, "/account").text().contains("reauthenticate=1"));
    assert_eq!(link(&server, &mut browser, "plain", "ada").location(), Some("/account"));
}

#[test]
fn a_sign_in_that_a_provider_remembers_is_no_reauthentication() {
    let (_provider, _lodge, server) = OpenIdProvider::with_server();
    let mut browser = Browser::default();
    browser.sign_up_by(&server, "open", "remembered");
    let refused = "The provider did not ask you to sign in again";
    let there = browser.set_out_to_reauthenticate(&server, "open");
    assert_eq!(parameter(&there, "max_age"), "0");
    let back = browser.through_provider(&server, &there, "remembered");
    browser.get(&back).expect(403).says(refused);
    // Without max_age, which the browser can remove, the provider does not say when.
    let mut browser = Browser::default();
    browser.sign_up_by(&server, "open", "ada");
    let there = browser.set_out_to_reauthenticate(&server, "open");
    let back = browser.through_provider(&server, &with_parameter(&there, "max_age", None), "ada");
    browser.get(&back).expect(403).says(refused);
    // Plain OAuth 2 has no way to say it.
    let mut browser = Browser::default();
    browser.member_by(&server, "plain", "grace");
    ask_to_link(&server, &mut browser, "open", "").expect(303);
}

#[test]
fn a_failed_link_keeps_the_session_and_shows_the_reason() {
    let (_provider, _lodge, server) = OpenIdProvider::with_server();
    Browser::default().sign_up_by(&server, "open", "grace");
    let token = server.member("ada");
    let mut browser = Browser::signed_in(&server, &token);
    let answer = link(&server, &mut browser, "open", "grace").expect(409);
    let token = browser.cookie(&server, "lodge_session").unwrap().to_owned();
    assert_not_linked(
        &server,
        &token,
        &answer,
        "This identity is already linked to another account.",
    );
    let there = begin_to_link(&server, &mut browser, "open");
    let back = browser.refuse_provider(&server, &there);
    let answer = browser.get(&back).expect(403);
    let token = browser.cookie(&server, "lodge_session").unwrap().to_owned();
    assert_not_linked(
        &server,
        &token,
        &answer,
        "The provider denied access, or you cancelled the sign-in.",
    );
    let answer = Browser::default().get(&back);
    assert!(answer.text().contains("You were not signed in"), "a browser without a session");
}

#[test]
fn a_password_reset_unlinks_all_providers() {
    let (_provider, lodge, server) = OpenIdProvider::with_server();
    server.make_account("ada");
    let mut mallory = Browser::signed_in(&server, &server.token("ada"));
    assert_eq!(link(&server, &mut mallory, "open", "mallory").location(), Some("/account"));
    let begun = begin_to_link(&server, &mut mallory, "plain");
    let late = mallory.through_provider(&server, &begun, "mallory");

    let code = lodge.admin(&["user", "reset", "ada"]);
    let new = "another in the fog";
    let request = json!({ "username": "ada", "code": code.trim(), "new": new });
    server.post("/api/password").json(&request).expect(204);
    assert_eq!(mallory.get(&late).status, 403, "the reset invalidates pending authorizations");
    for way in ["open", "plain"] {
        let answer = Browser::default().sign_in_by(&server, way, "mallory");
        assert_eq!(answer.location(), Some("/signup/name"), "{way}: unlinked by the reset");
    }
    let session = json!({ "username": "ada", "password": new });
    let answer = server.post("/api/session").json(&session).send().json();
    assert_eq!(issuers(&server, answer["token"].as_str().unwrap()), [""; 0]);
}

#[test]
fn unlinking_on_the_page_shows_errors_and_can_be_repeated() {
    let (provider, _lodge, server) = OpenIdProvider::with_server();
    let mut browser = Browser::default();
    browser.member_by(&server, "open", "ada");
    let text = unlink_on_page(&server, &mut browser, &provider.issuer, "").expect(409).text();
    assert!(
        text.contains("id=\"ways-error\"") && text.contains("set a password or link another"),
        "{text}"
    );
    assert_eq!(link(&server, &mut browser, "plain", "ada").location(), Some("/account"));
    for _ in 0..2 {
        unlink_on_page(&server, &mut browser, &provider.issuer, "").leads_to(303, "/account");
    }
    unlink_on_page(&server, &mut Browser::default(), &provider.issuer, "")
        .leads_to(303, "/login?next=/account");
}

#[test]
fn a_provider_that_is_no_longer_configured_can_be_unlinked() {
    let (provider, lodge, server) = OpenIdProvider::with_server();
    let mut browser = Browser::default();
    let token = browser.member_by(&server, "open", "ada");
    assert_eq!(link(&server, &mut browser, "plain", "ada").location(), Some("/account"));
    drop(server);
    let server = with_providers(lodge, |secret| json!([provider.settings(secret)[0]])).start();
    let mut browser = Browser::signed_in(&server, &token);
    let former = format!("{}/plain", provider.issuer);
    browser.open(&server, "/account").says(&format!("<strong class=\"wrap\">{former}</strong>"));
    // The former provider cannot sign the account in, so the last working one stays.
    unlink_on_page(&server, &mut browser, &provider.issuer, "").expect(409);
    assert_eq!(unlink_on_page(&server, &mut browser, &former, "").location(), Some("/account"));
    assert_eq!(issuers(&server, &token), [provider.issuer.as_str()]);
    assert!(!browser.open(&server, "/account").text().contains(&former));
}

#[test]
fn forms_of_the_account_page_may_redirect_to_providers_if_any_are_configured() {
    let (_provider, lodge, server) = OpenIdProvider::with_server();
    let token = server.member("ada");
    let leads_away = |answer: &Response| {
        let policy = answer.header("content-security-policy").unwrap();
        policy.contains("form-action 'self' http: https:;")
    };
    let mut browser = Browser::signed_in(&server, &token);
    assert!(leads_away(&browser.open(&server, "/account")));
    for (path, form) in [
        ("/account", "nickname="),
        ("/account/password", "current=x&new=y"),
        ("/account/delete", "confirm=x"),
        ("/account/providers/open", "current=x"),
    ] {
        let answer = browser.submit(&server, path, form);
        assert!(matches!(answer.status, 400 | 403) && leads_away(&answer), "{path}: {answer:?}");
    }
    assert!(!leads_away(&browser.open(&server, "/login")));
    drop(server);
    let server = lodge.with("LODGE_ACCOUNTS_PROVIDERS", "[]").start();
    let mut browser = Browser::signed_in(&server, &token);
    assert!(!leads_away(&browser.open(&server, "/account")));
}

#[test]
fn sign_ins_by_a_provider_are_limited_per_address() {
    let provider = OpenIdProvider::start();
    let server = provider.lodge().with("LODGE_LIMITS_ATTEMPTS_PER_MINUTE", "3").start();
    server.make_account("ada");
    let cookie = format!("lodge_session={}", server.token("ada"));
    let there = ("GET", "/login/by/open");
    let back = ("GET", "/login/by/open/callback?state=x&code=y");
    let link = ("POST", "/account/providers/open");
    for (number, (method, path)) in [there, back, link].into_iter().enumerate() {
        let ask = || {
            let ask = server.ask(method, path).header("Cookie", &cookie);
            let ask = if method == "POST" { ask.form("current=x") } else { ask };
            ask.header("X-Forwarded-For", &format!("198.51.100.{number}")).send()
        };
        for _ in 0..3 {
            assert_ne!(ask().status, 429, "{path}");
        }
        ask().expect_retry_after(429);
    }
}
