//! Linking a provider to an account takes more than a session, and leaves no way in behind.

use serde_json::json;

use crate::{
    accounts::{PASSWORD, made, opens, token},
    client::Answer,
    provider::{Browser, OpenIdProvider},
    providers::{ask_to_link, begin_to_link, issuers, link},
    server::Server,
};

/// Refused on a page with these words, for somebody who stays signed in.
fn assert_not_linked(server: &Server, token: &str, answer: &Answer, why: &str) {
    let text = answer.text();
    assert!(text.contains("That did not link") && text.contains(why), "{text}");
    assert!(text.contains("href=\"/account\"") && opens(server, token), "{text}");
    assert_eq!(issuers(server, token), [""; 0]);
}

#[test]
fn a_session_alone_links_no_provider() {
    let provider = OpenIdProvider::start();
    let lodge = provider.lodge();
    let server = lodge.start();
    made(&server, "ada");
    let token = token(&server, "ada");
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

    let mut nobody = Browser::default();
    let sign_in = (303, Some("/login?next=/account"));
    assert_eq!(ask_to_link(&server, &mut nobody, "open", PASSWORD).leads(), sign_in);
}

#[test]
fn who_has_no_password_links_soon_after_a_sign_in() {
    let provider = OpenIdProvider::start();
    let lodge = provider.lodge();
    let server = lodge.start();
    let mut browser = Browser::default();
    let token = browser.sign_up_by(&server, "open", "ada");
    let age = |seconds: i64| {
        let sql = "UPDATE sessions SET created_at = created_at - ?1";
        lodge.database().execute(sql, [seconds * 1_000]).unwrap();
    };
    age(9 * 60);
    begin_to_link(&server, &mut browser, "plain");
    age(61);
    let answer = ask_to_link(&server, &mut browser, "plain", "");
    assert_eq!(answer.status, 403);
    assert!(answer.text().contains("Sign in again first."), "{}", answer.text());
    assert_eq!(issuers(&server, &token), [provider.issuer.as_str()]);
    assert_eq!(browser.sign_in_by(&server, "open", "ada").status, 303);
    assert_eq!(link(&server, &mut browser, "plain", "ada").location(), Some("/account"));
}

#[test]
fn a_link_that_fails_leaves_one_signed_in_and_says_why() {
    let provider = OpenIdProvider::start();
    let lodge = provider.lodge();
    let server = lodge.start();
    Browser::default().sign_up_by(&server, "open", "grace");
    made(&server, "ada");
    let token = token(&server, "ada");
    let mut browser = Browser::signed_in(&server, &token);
    let answer = link(&server, &mut browser, "open", "grace");
    assert_eq!(answer.status, 409);
    assert_not_linked(&server, &token, &answer, "This opens another account already.");
    let mut browser = Browser::signed_in(&server, &token);
    let there = begin_to_link(&server, &mut browser, "open");
    let back = browser.refuse_provider(&server, &there);
    let answer = browser.get(&back);
    assert_eq!(answer.status, 403);
    assert_not_linked(&server, &token, &answer, "You did not let the provider say who you are.");
    let answer = Browser::default().get(&back);
    assert!(answer.text().contains("That did not sign you in"), "nobody is signed in there");
}

#[test]
fn a_recovered_account_has_one_way_in() {
    let provider = OpenIdProvider::start();
    let lodge = provider.lodge();
    let server = lodge.start();
    made(&server, "ada");
    let mut mallory = Browser::signed_in(&server, &token(&server, "ada"));
    assert_eq!(link(&server, &mut mallory, "open", "mallory").location(), Some("/account"));
    let begun = begin_to_link(&server, &mut mallory, "plain");
    let late = mallory.through_provider(&server, &begun, "mallory");

    let code = lodge.admin(&["user", "reset", "ada"]);
    let new = "another in the fog";
    let wish = json!({ "username": "ada", "code": code.trim(), "new": new });
    assert_eq!(server.ask("POST", "/api/password").json(&wish).send().status, 204);
    assert_eq!(mallory.get(&late).status, 403, "what was begun before ends with it");
    for way in ["open", "plain"] {
        let answer = Browser::default().sign_in_by(&server, way, "mallory");
        assert_eq!(answer.location(), Some("/signup/name"), "{way}: nobody's now");
    }
    let session = json!({ "username": "ada", "password": new });
    let answer = server.ask("POST", "/api/session").json(&session).send().json();
    assert_eq!(issuers(&server, answer["token"].as_str().unwrap()), [""; 0]);
}
