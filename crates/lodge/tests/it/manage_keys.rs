//! A link with an owner has no manage key: only the owner's API key or a session of the account opens it.

use serde_json::{Value, json};

use crate::{Lodge, PASSWORD, Request, Response, Server, assert_fields};

const TARGET: &str = "https://secret.example/";

/// A link of an account with the manage key that it had before it had an owner. It is the key that earlier versions gave
/// owned links.
struct OwnedLink {
    lodge: Lodge,
    server: Server,
    key: String,
}

impl OwnedLink {
    /// Creates the link and the account `ada`, which then becomes the owner.
    fn new() -> Self {
        let (lodge, server) = Lodge::new().started();
        server.make_account("ada");
        let link = server.create(&json!({ "target": TARGET, "short": "mine" }));
        let key = link["manage_key"].as_str().unwrap().to_owned();
        server.manage(&link, "GET").expect(200).says(TARGET);
        assert_eq!(server.stop(), Some(0));
        // Stores negate the number of an account.
        let owned = "UPDATE links SET owner = -(SELECT id FROM accounts WHERE username = 'ada')";
        assert_eq!(lodge.database().execute(owned, []).unwrap(), 1);
        let server = lodge.start();
        Self { lodge, server, key }
    }

    /// A request with the manage key in the cookie, as browsers kept it for 90 days.
    fn page(&self, method: &str, path: &str) -> Request {
        let cookie = format!("lodge_manage_mine={}", self.key);
        self.server.ask(method, path).browser().header("Cookie", &cookie)
    }

    /// Asserts that the manage key opens neither the API nor a page, and that the link stays.
    fn assert_key_is_refused(&self, when: &str) {
        for (method, path) in [
            ("GET", "/api/links/mine"),
            ("GET", "/api/links/mine/clicks"),
            ("PATCH", "/api/links/mine"),
            ("DELETE", "/api/links/mine"),
        ] {
            let ask = self.server.ask(method, path).bearer(&self.key);
            let edit = json!({ "target": "evil.example", "new_manage_key": true });
            let ask = if method == "PATCH" { ask.json(edit) } else { ask };
            let refused = ask.send();
            assert_eq!(refused.status, 403, "{method} {path} {when}: {refused:?}");
            refused.says("use its owner's API key or session");
        }
        for path in ["/links/mine", "/links/mine/stats"] {
            let page = self.page("GET", path).expect(200).says("Is this link yours?").text();
            assert!(!page.contains(TARGET), "{path} {when}");
        }
        self.page("POST", "/links/mine").form("target=evil.example&version=1").expect(403);
        self.page("POST", "/links/mine/delete").form("version=1").expect(403);
        let open = format!("manage_key={}", self.key);
        let open = self.server.post("/links/mine/open").browser().form(&open).expect(403);
        assert_eq!(open.header("set-cookie"), None, "{when}");
        open.says("This link has an owner and no manage key");
        self.server.get("/mine").leads_to(307, TARGET);
    }
}

#[test]
fn a_manage_key_stops_working_when_an_account_becomes_the_owner() {
    let owned = OwnedLink::new();
    owned.assert_key_is_refused("with an owner");
    let token = owned.server.token("ada");
    let edit = json!({ "target": "https://example.org/" });
    owned.server.patch("/api/links/mine").bearer(&token).json(edit).expect(200);
    owned.server.on_page(&token, "GET", "/links/mine").expect(200).says("Edit link");
    owned.server.on_page(&token, "POST", "/links/mine/delete").form("version=2").expect(200);
    owned.server.get("/mine").expect(410);
}

#[test]
fn no_manage_key_opens_an_owned_link_after_sign_out_everywhere_a_new_password_or_a_ban() {
    let owned = OwnedLink::new();
    let server = &owned.server;
    assert_eq!(server.end(&server.token("ada"), "/api/me/sessions").status, 204);
    owned.assert_key_is_refused("after sign-out everywhere");
    let change = json!({ "current": PASSWORD, "new": "another in the fog" });
    server.set_password(&server.token("ada"), &change);
    owned.assert_key_is_refused("after a new password");
    owned.lodge.admin(&["user", "ban", "ada"]);
    owned.assert_key_is_refused("after a ban");
}

#[test]
fn the_owner_gets_no_manage_key_from_the_api() {
    let (lodge, server) = Lodge::new().started();
    for credential in [lodge.key("me"), server.member("ada")] {
        let link = json!({ "target": "example.org" });
        let made = server.post("/api/links").bearer(&credential).json(&link).expect(201).json();
        assert_eq!(made.get("manage_key"), None, "{made}");
        let bulk = json!({ "links": [link] });
        let bulk = server.post("/api/bulk/links").bearer(&credential).json(bulk).expect(200);
        assert_fields(&bulk.json(), json!({ "created": 1 }));
        assert!(!bulk.text().contains("manage_key"), "{bulk:?}");

        let path = format!("/api/links/{}", made["short"].as_str().unwrap());
        let edit = |change: Value| server.patch(&path).bearer(&credential).json(change).send();
        let renewed = edit(json!({ "new_manage_key": true }));
        renewed.expect_field_error(400, "new_manage_key");
        let edited = edit(json!({ "redirect": 301, "new_manage_key": false })).expect(200).json();
        assert_eq!(edited.get("manage_key"), None, "{edited}");
    }
}

/// Returns whether a response sets the cookie with a manage key.
fn sets_key(response: &Response) -> bool {
    response.headers.iter().any(|(name, value)| {
        name == "set-cookie" && value.starts_with("lodge_manage_") && !value.contains("Max-Age=0")
    })
}

#[test]
fn the_owners_pages_show_and_store_no_manage_key() {
    let (server, [token]) = Lodge::new().start_with(["ada"]);
    let send = |path: &str, form: &str| server.on_page(&token, "POST", path).form(form).send();
    let made = send("/links", "target=example.org&short=mine");
    made.leads_to(303, "/links/mine");
    let notice = "lodge_notice_mine=created";
    let cookies = format!("lodge_session={token}; {notice}");
    let page = server.ask("GET", "/links/mine").browser().header("Cookie", &cookies).expect(200);
    let page = page.says("Your link is ready.").text();
    assert!(!page.contains("manage_") && !page.contains("Manage key"), "{page}");
    let saved = send("/links/mine", "target=example.com&version=1");
    saved.leads_to(303, "/links/mine");
    assert!(!sets_key(&made) && !sets_key(&saved), "{made:?} {saved:?}");
    let renewed = send("/links/mine", "target=example.com&version=2&new_manage_key=on");
    assert!(renewed.status == 400 && !sets_key(&renewed), "{renewed:?}");
}
