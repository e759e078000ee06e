//! Sign-in by a real `OpenID` provider, with a browser that follows its pages.

use std::net::Ipv4Addr;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use lodge_testbed::Authority;
use serde_json::{Value, json};
use url::form_urlencoded;

use crate::{
    Lodge, PASSWORD, Response, Server, assert_fields, each, eventually_true,
    provider::{
        Browser, CLIENT_SECRET, OpenIdProvider, authorization_state, parameter, with_providers,
    },
    text,
    tiers::Tiers,
};

fn name(server: &Server, token: &str) -> String {
    server.call(token, "GET", "/api/me").json()["username"].as_str().unwrap().to_owned()
}

/// Returns the issuers that are linked to an account.
pub(crate) fn issuers(server: &Server, token: &str) -> Vec<Value> {
    each(&server.call(token, "GET", "/api/me/providers").json()["linked"], "issuer")
}

/// Unlinks a provider on the account page.
pub(crate) fn unlink_on_page(
    server: &Server,
    browser: &mut Browser,
    issuer: &str,
    current: &str,
) -> Response {
    let issuer = issuer.replace(':', "%3A").replace('/', "%2F");
    let current = current.replace(' ', "+");
    browser.submit(server, "/account/unlink", &format!("issuer={issuer}&current={current}"))
}

/// Returns the kinds of an account's events, newest first.
fn events(server: &Server, token: &str) -> Vec<Value> {
    each(&server.call(token, "GET", "/api/me/export").json()["events"], "what")
}

/// Submits the form that links a provider, with a password.
pub(crate) fn ask_to_link(
    server: &Server,
    browser: &mut Browser,
    provider: &str,
    password: &str,
) -> Response {
    let form = format!("current={}", password.replace(' ', "+"));
    browser.submit(server, &format!("/account/providers/{provider}"), &form)
}

/// Begins to link a provider to the browser's account. Returns the authorization URL.
pub(crate) fn begin_to_link(server: &Server, browser: &mut Browser, provider: &str) -> url::Url {
    let answer = ask_to_link(server, browser, provider, PASSWORD).expect(303);
    answer.location().unwrap().parse().unwrap()
}

/// Links a provider to the browser's account. Returns the response to the callback.
pub(crate) fn link(
    server: &Server,
    browser: &mut Browser,
    provider: &str,
    login: &str,
) -> Response {
    let there = begin_to_link(server, browser, provider);
    let back = browser.through_provider(server, &there, login);
    browser.get(&back)
}

#[test]
fn a_sign_up_by_a_provider_creates_an_account_for_later_sign_ins() {
    let (_provider, _lodge, server) = OpenIdProvider::with_server();
    let listed = server.get("/api/providers").json();
    assert_eq!(each(&listed["providers"], "name"), ["open", "plain", "posted"]);
    server.make_account("taken");

    for (way, login) in [("open", "grace"), ("plain", "mary"), ("posted", "joan")] {
        let mut browser = Browser::default();
        browser.sign_in_by(&server, way, login).leads_to(303, "/signup/name");
        assert!(browser.cookie(&server, "lodge_session").is_none(), "no session yet");
        let page = browser.open(&server, "/signup/name").text();
        assert!(page.contains(&format!("value=\"{login}\"")), "the name is suggested: {page}");
        for (typed, status) in [("taken", 409), ("a b", 400), ("", 400)] {
            let form = format!("username={}", typed.replace(' ', "+"));
            browser.submit(&server, "/signup/name", &form).expect(status).says("aria-invalid");
        }
        let chosen = format!("username=Its-{login}");
        browser.submit(&server, "/signup/name", &chosen).leads_to(303, "/account");
        let first = browser.cookie(&server, "lodge_session").unwrap().to_owned();
        assert_eq!(browser.submit(&server, "/signup/name", &chosen).status, 410, "used up");
        let me = server.call(&first, "GET", "/api/me").json();
        let wanted = format!("its-{login}");
        assert_fields(&me, json!({ "username": wanted, "has_password": false, "email": null }));
        assert_eq!(server.sign_in(&format!("its-{login}"), PASSWORD).status, 401);

        let mut elsewhere = Browser::default();
        elsewhere.sign_in_by(&server, way, login).leads_to(303, "/links");
        let second = elsewhere.cookie(&server, "lodge_session").unwrap().to_owned();
        assert_ne!(first, second, "every sign-in has a token of its own");
        assert_eq!(name(&server, &second), format!("its-{login}"));
        let expected = ["signed_in_by_provider", "signed_in_by_provider", "linked", "signed_up"];
        assert_eq!(events(&server, &second), expected);
        let export = server.call(&second, "GET", "/api/me/export").json();
        assert_eq!(export["identities"][0]["subject"], login);
    }
}

#[test]
fn two_providers_open_two_accounts_until_they_are_linked() {
    let (provider, _lodge, server) = OpenIdProvider::with_server();
    // The provider claims this address, as verified, for every login.
    let ada = json!({ "username": "ada", "password": PASSWORD, "email": "ada@example.org" });
    server.post("/api/accounts").json(&ada).expect(201);
    let adas = server.token("ada");

    let mut stranger = Browser::default();
    let answer = stranger.sign_in_by(&server, "open", "mallory");
    assert_eq!(answer.leads(), (303, Some("/signup/name")), "an e-mail address is not an identity");
    assert_eq!(issuers(&server, &adas), [""; 0]);

    let mut browser = Browser::signed_in(&server, &adas);
    link(&server, &mut browser, "open", "ada").leads_to(303, "/account");
    assert!(!server.is_signed_in(&adas), "the password gave it a new token");
    let adas = browser.cookie(&server, "lodge_session").unwrap().to_owned();
    assert_eq!(issuers(&server, &adas), [provider.issuer.as_str()]);
    assert_eq!(events(&server, &adas)[0], "linked");
    assert!(server.is_signed_in(&adas), "the session continues");
    let mut elsewhere = Browser::default();
    assert_eq!(elsewhere.sign_in_by(&server, "open", "ada").location(), Some("/links"));
    let second = elsewhere.cookie(&server, "lodge_session").unwrap();
    assert_eq!(name(&server, second), "ada");

    // An account links one identity of each provider.
    link(&server, &mut browser, "open", "another").expect(409);
    server.make_account("grace");
    let mut graces = Browser::signed_in(&server, &server.token("grace"));
    assert_eq!(link(&server, &mut graces, "open", "ada").status, 409, "linked to ada");
    assert_eq!(link(&server, &mut graces, "plain", "ada").location(), Some("/account"));
}

#[test]
fn only_the_session_that_began_to_link_is_linked() {
    let (_provider, _lodge, server) = OpenIdProvider::with_server();
    let [adas, mallorys] = server.members(["ada", "mallory"]);
    // Mallory begins, and makes ada's browser open the callback.
    let mut browser = Browser::signed_in(&server, &mallorys);
    let there = begin_to_link(&server, &mut browser, "open");
    let mallorys = browser.cookie(&server, "lodge_session").unwrap().to_owned();
    let back = browser.through_provider(&server, &there, "mallory");
    let mut victim = browser.clone();
    for session in [&adas, "session_x", ""] {
        victim.set(&server, "lodge_session", session);
        victim.clone().get(&back).expect(403);
    }
    let mut without_the_flow = Browser::signed_in(&server, &adas);
    assert_eq!(without_the_flow.get(&back).status, 403);
    // Another session of the same account is refused too.
    victim.set(&server, "lodge_session", &server.token("mallory"));
    assert_eq!(victim.get(&back).status, 403);
    // So is the session itself after it has ended.
    assert_eq!(server.call(&mallorys, "DELETE", "/api/session").status, 204);
    assert_eq!(browser.get(&back).status, 403);
    assert_eq!(issuers(&server, &adas), [""; 0]);
    assert_eq!(issuers(&server, &server.token("mallory")), [""; 0]);

    let from_elsewhere = server
        .post("/account/providers/open")
        .session(&adas)
        .header("Sec-Fetch-Site", "cross-site");
    from_elsewhere.expect(403);
}

#[test]
fn the_last_way_to_sign_in_cannot_be_unlinked() {
    let (provider, _lodge, server) = OpenIdProvider::with_server();
    let mut browser = Browser::default();
    let token = browser.member_by(&server, "open", "ada");
    let unlink = |way: &str| server.call(&token, "DELETE", &format!("/api/me/providers/{way}"));
    assert_eq!((unlink("open").status, unlink("plain").status), (409, 404));
    assert_eq!(unlink("unknown").status, 404);
    assert_eq!(link(&server, &mut browser, "plain", "ada").location(), Some("/account"));
    assert_eq!(unlink("open").status, 204);
    assert_eq!(unlink("plain").status, 409);

    let mut other = Browser::default();
    assert_eq!(other.sign_in_by(&server, "plain", "ada").location(), Some("/links"));
    let others = other.cookie(&server, "lodge_session").unwrap().to_owned();
    let password = json!({ "new": PASSWORD });
    let token = server.set_password(&token, &password);
    let mut browser = Browser::signed_in(&server, &token);
    assert!(!server.is_signed_in(&others));
    assert_eq!(other.sign_in_by(&server, "plain", "ada").location(), Some("/links"));
    let others = other.cookie(&server, "lodge_session").unwrap().to_owned();
    let issuer = format!("{}/plain", provider.issuer);
    for guess in ["", "a guess"] {
        let page = unlink_on_page(&server, &mut browser, &issuer, guess);
        page.expect(if guess.is_empty() { 400 } else { 403 })
            .says("This is not your current password.");
    }
    let by_api = |request: &Value| {
        server.delete("/api/me/providers/plain").bearer(&token).json(request).send().status
    };
    assert_eq!([json!({}), json!({ "current": "a guess" })].each_ref().map(by_api), [400, 403]);
    let answer = unlink_on_page(&server, &mut browser, &issuer, PASSWORD);
    answer.leads_to(303, "/account");
    let token = browser.cookie(&server, "lodge_session").unwrap();
    assert!(
        server.is_signed_in(token) && !server.is_signed_in(&others),
        "it may be the provider's"
    );
    assert_eq!(server.sign_in("ada", PASSWORD).status, 200);
    let answer = Browser::default().sign_in_by(&server, "open", "ada");
    assert_eq!(answer.location(), Some("/signup/name"), "the identity is unlinked");
}

#[test]
fn a_banned_or_deleted_account_cannot_sign_in_by_a_provider() {
    let (_provider, lodge, server) = OpenIdProvider::with_server();
    let token = Browser::default().sign_up_by(&server, "open", "ada");
    lodge.admin(&["user", "ban", "ada"]);
    let mut browser = Browser::default();
    let answer = browser.sign_in_by(&server, "open", "ada").expect(403);
    answer.says("banned");
    assert!(browser.cookie(&server, "lodge_session").is_none() && !server.is_signed_in(&token));
    lodge.admin(&["user", "unban", "ada"]);
    assert_eq!(browser.reauthenticate_by(&server, "open", "ada").location(), Some("/account"));
    let token = browser.cookie(&server, "lodge_session").unwrap();
    server.delete("/api/me").bearer(token).json(json!({})).expect(204);
    let answer = Browser::default().sign_in_by(&server, "open", "ada");
    assert_eq!(answer.location(), Some("/signup/name"), "a new account");
}

#[test]
fn with_sign_up_closed_no_provider_creates_accounts() {
    let (_provider, lodge, server) = OpenIdProvider::with_server();
    let mut late = Browser::default();
    assert_eq!(late.sign_in_by(&server, "open", "late").location(), Some("/signup/name"));
    let ticket = late.cookie(&server, "lodge_sign_up").unwrap().to_owned();
    Browser::default().sign_up_by(&server, "open", "ada");
    drop(server);
    let server = lodge.with("LODGE_ACCOUNTS_OPEN_SIGN_UP", "false").start();
    Browser::default().sign_in_by(&server, "open", "grace").expect(403).says("administrator");
    // A sign-up that began before the setting changed is refused too, though its ticket is valid.
    let mut late = Browser::default();
    late.set(&server, "lodge_sign_up", &ticket);
    late.submit(&server, "/signup/name", "username=late")
        .expect(403)
        .says("You were not signed in");
    assert_eq!(late.cookie(&server, "lodge_session"), None);
    assert_eq!(server.get("/api/users/late").status, 404);
    assert_eq!(Browser::default().sign_in_by(&server, "open", "ada").location(), Some("/links"));
}

#[test]
fn an_expired_sign_up_by_a_provider_begins_again() {
    let (_provider, lodge, server) = OpenIdProvider::with_server();
    assert_eq!(Browser::default().open(&server, "/signup/name").status, 410);
    let mut browser = Browser::default();
    browser.sign_in_by(&server, "open", "ada");
    let kept = browser.cookie(&server, "lodge_sign_up").unwrap().to_owned();
    lodge.database().execute("UPDATE tickets SET expires_at = 0", []).unwrap();
    assert_eq!(browser.submit(&server, "/signup/name", "username=ada").status, 410);
    assert!(browser.cookie(&server, "lodge_sign_up").is_none());
    let mut forger = Browser::default();
    forger.set(&server, "lodge_sign_up", &kept.replacen('.', "A.", 1));
    assert_eq!(forger.submit(&server, "/signup/name", "username=ada").status, 410);
    assert_eq!(server.get("/api/users/ada").status, 404);
    browser.sign_up_by(&server, "open", "ada");
}

#[test]
fn the_web_tier_needs_no_client_secret_of_a_provider() {
    let provider = OpenIdProvider::start();
    let mut tiers = Tiers::new();
    tiers.accounts = with_providers(tiers.accounts, |secret| provider.settings(secret));
    let (_tiers, _accounts, web) = tiers.start();
    let mut browser = Browser::default();
    let token = browser.member_by(&web, "open", "ada");
    assert_eq!(name(&web, &token), "ada");
    assert_eq!(Browser::default().sign_in_by(&web, "open", "ada").location(), Some("/links"));
    assert_eq!(link(&web, &mut browser, "plain", "ada").location(), Some("/account"));
    assert_eq!(issuers(&web, &token).len(), 2);
    assert_eq!(web.call(&token, "DELETE", "/api/me/providers/open").status, 204);
    assert_eq!(web.get("/login/by/unknown").status, 404);
}

#[test]
fn a_sign_in_by_a_provider_redirects_to_this_site_only() {
    let (_provider, _lodge, server) = OpenIdProvider::with_server();
    server
        .get("/login?next=/account?welcome%26x")
        .says("/login/by/open?next=%2Faccount%3Fwelcome%26x\"");
    let mut browser = Browser::default();
    let mut came_to = |next: &str| {
        let answer = browser.open(&server, &format!("/login/by/open?next={next}"));
        let there = answer.location().unwrap().parse().unwrap();
        let back = browser.through_provider(&server, &there, "ada");
        let mut answer = browser.get(&back);
        if answer.location() == Some("/signup/name") {
            answer = browser.submit(&server, "/signup/name", "username=ada");
        }
        answer.expect(303).location().unwrap().to_owned()
    };
    assert_eq!(came_to("/links?page=2"), "/links?page=2", "a sign-up");
    assert_eq!(came_to("/account?welcome"), "/account?welcome");
    let long = format!("/account/{}", "a".repeat(5_000));
    for next in [
        "",
        "//evil.example",
        "https://evil.example/",
        "/%5Cevil.example",
        "/%0D%0Aa:b",
        &long,
        "/promo",
        "/account/../promo",
    ] {
        assert_eq!(came_to(next), "/links", "{next}");
    }

    let mut forger = Browser::default();
    forger.sign_in_by(&server, "open", "mallory");
    let kept = forger.cookie(&server, "lodge_sign_up").unwrap();
    // "//evil.example", which the unsigned part of the cookie may hold.
    let changed = format!("{}.Ly9ldmlsLmV4YW1wbGU", kept.rsplit_once('.').unwrap().0);
    forger.set(&server, "lodge_sign_up", &changed);
    forger.submit(&server, "/signup/name", "username=mallory").leads_to(303, "/account");
}

#[test]
fn a_cross_site_request_does_not_begin_a_sign_in_by_a_provider() {
    let (provider, _lodge, server) = OpenIdProvider::with_server();
    let asked = |site: &str| {
        server.ask("GET", "/login/by/open").header("Sec-Fetch-Site", site).browser().send()
    };
    for site in ["cross-site", "same-site"] {
        let answer = asked(site);
        answer.leads_to(303, "/login");
        assert_eq!(answer.header("set-cookie"), None, "{site}");
    }
    for site in ["same-origin", "none"] {
        let answer = asked(site);
        assert!(answer.location().unwrap().starts_with(&provider.issuer), "{site}: {answer:?}");
    }
}

#[test]
fn the_callback_url_does_not_trust_the_host_header() {
    let (_provider, lodge, server) = OpenIdProvider::with_server();
    let depart = |host: &str| server.ask("GET", "/login/by/open").header("Host", host).send();
    for host in ["evil.example", "localhost.evil.example", "10.0.0.1"] {
        let answer = depart(host);
        assert_eq!((answer.status, answer.location()), (500, None), "{host}");
    }
    assert_eq!(depart("localhost:8080").status, 303);
    drop(server);
    let server = lodge.with("LODGE_PUBLIC_URL", "https://go.example.org").start();
    let there = server.ask("GET", "/login/by/open").header("Host", "evil.example").send();
    let back = parameter(&there.location().unwrap().parse().unwrap(), "redirect_uri");
    assert!(back.starts_with("https://go.example.org/"), "{back}");
}

#[test]
fn cookies_of_a_sign_in_by_a_provider_are_http_only_and_bound_to_the_host() {
    let provider = OpenIdProvider::start();
    let server = provider.lodge().with("LODGE_PUBLIC_URL", "https://go.example.org").start();
    let answer = Browser::default().open(&server, "/login/by/open");
    let cookie = answer.header("set-cookie").unwrap();
    let (name, attributes) = cookie.split_once('=').unwrap();
    assert_eq!(name, "__Host-lodge_provider");
    for attribute in ["; Path=/;", "; Max-Age=600;", "; HttpOnly;", "; SameSite=Lax", "; Secure"] {
        assert!(attributes.contains(attribute), "{cookie}");
    }
    assert!(!attributes.contains("Domain"), "{cookie}");
    let there = answer.location().unwrap().parse().unwrap();
    assert_eq!(parameter(&there, "redirect_uri"), "https://go.example.org/login/by/open/callback");
    assert_eq!(parameter(&there, "code_challenge_method"), "S256");
    assert_eq!(parameter(&there, "response_type"), "code");
    assert_eq!(parameter(&there, "scope"), "openid profile email");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

/// Returns the encodings of the client secret: plain, in URLs, in forms, and in a header.
fn written(client_id: &str) -> [String; 4] {
    let in_form: String = form_urlencoded::byte_serialize(CLIENT_SECRET.as_bytes()).collect();
    let in_header = STANDARD.encode(format!("{client_id}:{in_form}"));
    [CLIENT_SECRET.to_owned(), in_form.replace('+', "%20"), in_form, in_header]
}

/// Signs up by a provider. Returns the secrets of the flow.
fn rested_on(server: &Server, way: &str, login: &str) -> [String; 6] {
    let mut browser = Browser::default();
    let there = browser.set_out(server, way);
    let flow = browser.cookie(server, "lodge_provider").unwrap().to_owned();
    let back = browser.through_provider(server, &there, login);
    assert_eq!(browser.get(&back).location(), Some("/signup/name"));
    let sign_up = browser.cookie(server, "lodge_sign_up").unwrap().to_owned();
    browser.submit(server, "/signup/name", &format!("username={login}"));
    let token = browser.cookie(server, "lodge_session").unwrap()["session_".len()..].to_owned();
    assert_eq!(browser.get(&back).status, 403);
    let (authorization_state, _) = authorization_state(&flow);
    let part = |name: &str| authorization_state["flow"][name].as_str().unwrap().to_owned();
    let (nonce, verifier) = (part("nonce"), part("verifier"));
    let ticket = sign_up.split('.').next().unwrap();
    let ticket = ticket.strip_prefix("ticket_").unwrap();
    [parameter(&back, "code"), flow, nonce, verifier, ticket.to_owned(), token]
}

#[test]
fn no_secret_of_a_sign_in_by_a_provider_is_logged_or_stored() {
    let provider = OpenIdProvider::start();
    let lodge =
        provider.lodge().with("LODGE_LOG_FILTER", "trace").with("LODGE_LOG_REQUESTS", "true");
    let server = lodge.start();
    let mut secrets = [written("lodge"), written("posted")].concat();
    for (way, login) in [("open", "ada"), ("plain", "grace"), ("posted", "joan")] {
        secrets.extend(rested_on(&server, way, login));
    }
    let issued = provider.issued();
    assert_eq!(issued.len(), 6, "an access token and an id token for each");
    secrets.extend(issued);
    server.get("/the-last-one");
    eventually_true("the last request is logged", || server.log().contains("/the-last-one"));
    let log = server.log();
    let address = provider.issuer.strip_prefix("http://").unwrap();
    assert!(log.contains(address), "requests to the provider are logged");
    assert_eq!(server.stop(), Some(0));
    let database = std::fs::read(lodge.data().join("lodge.db")).unwrap();
    let kept = String::from_utf8_lossy(&database);
    for secret in secrets {
        assert!(secret.len() > 20, "{secret}");
        assert!(!log.contains(&secret) && !kept.contains(&secret), "{secret}");
    }
}

#[test]
fn a_check_queries_providers_with_discovery() {
    let provider = OpenIdProvider::start();
    let lodge = provider.lodge();
    let checked = lodge.run(&["check"]);
    let said = |line: String| checked.out.lines().any(|known| known == line);
    assert!(said(format!("ok    provider open: {}", provider.issuer)), "{checked:?}");
    for way in ["plain", "posted"] {
        let line = format!("ok    provider {way}: not tested; it has no OpenID Connect discovery");
        assert!(said(line), "{checked:?}");
    }
    drop(provider);
    let checked = lodge.run(&["check"]);
    assert!(checked.out.contains("BAD   provider open: "), "{checked:?}");
}

#[test]
fn a_provider_is_trusted_by_the_machines_root_certificates() {
    let folder = tempfile::tempdir().unwrap();
    let [trusted, another] = ["trusted", "another"].map(|name| {
        let authority = Authority::at(folder.path().join(name));
        authority.make([Ipv4Addr::LOCALHOST.into()]).unwrap();
        authority
    });
    let empty = folder.path().join("empty");
    std::fs::write(&empty, "").unwrap();
    let provider = OpenIdProvider::start_over_tls(&trusted);
    let mut lodge = provider.lodge().with("LODGE_PUBLIC_URL", "https://go.example.org");
    for (roots, start, said) in [
        (trusted.root(), "ok    provider open: ", "https"),
        (another.root(), "BAD   provider open: ", "certificate"),
        (empty, "BAD   ", "has no root certificates"),
    ] {
        lodge = lodge.with("SSL_CERT_FILE", text(&roots));
        let checked = lodge.run(&["check"]);
        let line = checked.out.lines().find(|line| line.starts_with(start));
        assert!(line.is_some_and(|line| line.contains(said)), "{said}: {checked:?}");
    }
}

#[test]
fn a_misconfigured_provider_is_reported_at_startup() {
    for (settings, said) in [
        (json!([{ "name": "a", "issuer": "http://id.example.org", "client_id": "x" }]), "issuer"),
        (json!([{ "name": "a", "issuer": "https://id.example.org" }]), "client_id"),
        (
            json!([{ "name": "a", "issuer": "https://id.example.org", "client_id": "x",
                "client_secret_file": "/nowhere" }]),
            "client_secret_file",
        ),
        (json!([{ "nam": "a" }]), "nam"),
    ] {
        let lodge = with_providers(Lodge::new(), |_| settings.clone());
        let lodge = lodge.with("LODGE_PUBLIC_URL", "https://go.example.org");
        let ran = lodge.with("LODGE_APPS", "accounts").run(&["serve"]);
        assert!(ran.code != 0 && ran.err.contains(said), "{settings}: {ran:?}");
        assert!(!ran.err.contains(CLIENT_SECRET));
    }
}
