//! Accounts on pages: sign-in and sign-out, cookies, cross-site requests, and what staff may do.

use serde_json::Value;

use crate::{Lodge, PASSWORD, Response, Server, between, eventually_true, text};

const SIGN_IN: &str = "username=Ada&password=a+lift+in+the+fog";

/// Returns the name, value and attributes of the cookie that a response sets.
fn set_cookie(answer: &Response) -> (&str, &str, &str) {
    let set = answer.header("set-cookie").unwrap_or_else(|| panic!("no cookie: {answer:?}"));
    let (pair, attributes) = set.split_once("; ").unwrap();
    let (name, value) = pair.split_once('=').unwrap();
    (name, value, attributes)
}

/// Signs in on the page. Returns the token in the cookie.
fn cookie(server: &Server, username: &str) -> String {
    let form = format!("username={username}&password={}", PASSWORD.replace(' ', "+"));
    set_cookie(&server.post("/login").form(&form).send()).1.to_owned()
}

#[test]
fn the_session_cookie_is_http_only_and_over_tls_bound_to_the_host() {
    let (lodge, server) = Lodge::new().started();
    server.make_account("ada");
    let answer = server.post("/login").form(SIGN_IN).send();
    answer.leads_to(303, "/links");
    let (name, value, attributes) = set_cookie(&answer);
    assert_eq!(name, "lodge_session");
    assert!(server.is_signed_in(value), "the cookie holds the session token");
    let thirty_days = 30 * 24 * 60 * 60;
    let lasts = |attributes: &str| {
        let age = attributes.split("; ").find_map(|part| part.strip_prefix("Max-Age="));
        age.unwrap().parse::<i64>().unwrap()
    };
    assert!((thirty_days - 5..=thirty_days).contains(&lasts(attributes)), "{attributes}");
    assert!(attributes.ends_with("; HttpOnly; SameSite=Lax"), "{attributes}");
    let answer = server.post("/login").header("X-Forwarded-Proto", "https").form(SIGN_IN).send();
    let (name, _, attributes) = set_cookie(&answer);
    assert_eq!(name, "__Host-lodge_session", "as a proxy on this machine says");
    assert!(attributes.ends_with("; Secure"), "{attributes}");
    drop(server);

    let server = lodge.with("LODGE_PUBLIC_URL", "https://lodge.example").start();
    let answer = server.post("/login").form(SIGN_IN).send();
    let (name, _, attributes) = set_cookie(&answer);
    assert_eq!(name, "__Host-lodge_session");
    assert!(attributes.starts_with("Path=/; "), "{attributes}");
    assert!(attributes.ends_with("; HttpOnly; SameSite=Lax; Secure"), "{attributes}");
    assert!(!attributes.contains("Domain"), "{attributes}");
}

#[test]
fn every_sign_in_creates_a_new_token_and_ends_the_previous_session() {
    let (lodge, server) = Lodge::new().started();
    server.make_account("ada");
    let planted = server.member("eve");
    let answer = server.on_page(&planted, "POST", "/login").form(SIGN_IN).send();
    let (_, first, _) = set_cookie(&answer);
    assert_ne!(first, planted, "the planted token is not reused");
    assert!(server.is_signed_in(first));
    assert!(!server.is_signed_in(&planted), "the previous session of this browser has ended");
    let answer = server.on_page(first, "POST", "/login").form(SIGN_IN).send();
    let (_, second, _) = set_cookie(&answer);
    assert!(second != first && server.is_signed_in(second) && !server.is_signed_in(first));
    let form = format!("api_key={}", lodge.key("me"));
    let answer = server.on_page(second, "POST", "/login").form(&form).send();
    assert!(
        answer.status == 303 && !server.is_signed_in(second),
        "nor with an API key: {answer:?}"
    );
    let unknown = format!("session_{}", "A".repeat(43));
    let answer = server.on_page(&unknown, "POST", "/login").form(SIGN_IN).send();
    assert_ne!(set_cookie(&answer).1, unknown);
}

#[test]
fn a_page_that_asks_for_the_password_gives_a_new_token() {
    let server = Lodge::new().start();
    let mut token = server.member("ada");
    let other = server.token("ada");
    let sessions = server.call(&other, "GET", "/api/me/sessions").json();
    let other_id = sessions["sessions"][0]["id"].as_str().unwrap().to_owned();
    let current = "current=a+lift+in+the+fog";
    let email = format!("nickname=Ada&email=ada%40example.org&{current}");
    let ended = format!("/account/sessions/{other_id}");
    for (path, form) in [("/account", email.as_str()), (ended.as_str(), current)] {
        let answer = server.on_page(&token, "POST", path).form(form).expect(303);
        let (_, fresh, _) = set_cookie(&answer);
        assert!(server.is_signed_in(fresh) && !server.is_signed_in(&token), "{path}");
        token = fresh.to_owned();
    }
    assert!(!server.is_signed_in(&other), "its session was ended");
    let listed = server.call(&token, "GET", "/api/me/sessions").json();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "it goes on: {listed}");
    let nickname =
        server.on_page(&token, "POST", "/account").form("nickname=Lady&email=ada%40example.org");
    let answer = nickname.expect(303);
    assert!(answer.header("set-cookie").is_none(), "a nickname takes no password");
}

#[test]
fn a_form_that_is_loaded_again_without_its_values_leads_to_the_account_page() {
    let server = Lodge::new().start();
    for form in ["password", "picture", "providers/x", "unlink", "sessions", "sessions/1", "delete"]
    {
        server.get(&format!("/account/{form}")).leads_to(303, "/account");
    }
}

#[test]
fn every_page_shows_who_is_signed_in() {
    let (lodge, server) = Lodge::new().started();
    let token = server.member("ada");
    let header = |answer: Response| {
        between(&answer.text(), "<header", "</header>").map(str::to_owned).unwrap_or_default()
    };
    for path in ["/", "/links", "/rides", "/board", "/api/docs", "/account", "/no/such/page"] {
        let mine = header(server.on_page(&token, "GET", path).send());
        assert!(mine.contains("<bdi>ada</bdi>") && mine.contains("Sign out"), "{path}: {mine}");
        assert!(!mine.contains("Sign in") && !mine.contains("Admin"), "{path}: {mine}");
    }
    for path in ["/", "/rides", "/api/docs", "/no/such/page"] {
        let theirs = header(server.ask("GET", path).browser().send());
        assert!(theirs.contains("Sign in") && !theirs.contains("Sign out"), "{path}: {theirs}");
    }
    lodge.admin(&["user", "role", "ada", "admin"]);
    eventually_true("an admin's header leads to the administration", || {
        header(server.on_page(&token, "GET", "/rides").send()).contains(">Admin</a>")
    });
    let form = "confirm=ada&current=a+lift+in+the+fog";
    let answer = server.on_page(&token, "POST", "/account/delete").form(form).expect(200);
    assert_eq!(answer.header("clear-site-data"), Some("\"storage\""), "unsent messages");
    let gone = header(answer);
    assert!(gone.contains("Sign in") && !gone.contains("ada"), "{gone}");
}

#[test]
fn signing_out_ends_the_session_and_not_only_the_cookie() {
    let server = Lodge::new().start();
    server.make_account("ada");
    let token = cookie(&server, "ada");
    let answer = server.on_page(&token, "POST", "/logout").form("").send();
    answer.leads_to(303, "/");
    assert_eq!(set_cookie(&answer).1, "");
    assert_eq!(answer.header("clear-site-data"), Some("\"storage\""), "unsent messages");
    assert!(!server.is_signed_in(&token));
    assert_eq!(server.on_page(&token, "POST", "/logout").form("").send().status, 303, "again");
}

#[test]
fn signing_out_ends_the_session_of_an_api_key_and_no_other() {
    let (lodge, server) = Lodge::new().started();
    let form = format!("api_key={}", lodge.key("me"));
    let sign_in = || set_cookie(&server.post("/login").form(&form).send()).1.to_owned();
    let (ended, stays) = (sign_in(), sign_in());
    let is_refused = |server: &Server| {
        server.on_page(&ended, "GET", "/links").send().leads_to(303, "/login?next=/links");
        server.on_page(&stays, "GET", "/links").expect(200);
    };
    server.on_page(&ended, "GET", "/links").expect(200);
    server.ask("GET", "/api/links").bearer(&ended).expect(401);
    let answer = server.on_page(&ended, "POST", "/logout").form("").send();
    answer.leads_to(303, "/");
    assert_eq!(set_cookie(&answer).1, "");
    is_refused(&server);
    let page = server.on_page(&ended, "GET", "/").expect(200).text();
    assert!(page.contains("Sign in") && !page.contains("Sign out"), "{page}");
    let server = server.restart_after_kill();
    is_refused(&server);
    // A sign-in in the same browser ends its previous session.
    server.on_page(&stays, "POST", "/login").form(&form).expect(303);
    server.on_page(&stays, "GET", "/links").send().leads_to(303, "/login?next=/links");
}

#[test]
fn a_cookie_opens_pages_and_never_the_api() {
    let server = Lodge::new().start();
    server.make_account("ada");
    let token = cookie(&server, "ada");
    server.on_page(&token, "GET", "/account").expect(200);
    server.on_page(&token, "GET", "/api/me").expect(401);
    let exported = server.on_page(&token, "GET", "/account/export").send();
    assert_eq!(exported.json()["account"]["username"], "ada");
    assert!(exported.header("content-disposition").unwrap().starts_with("attachment"));
}

#[test]
fn cross_site_requests_cannot_change_an_account() {
    let server = Lodge::new().start();
    server.make_account("ada");
    let token = cookie(&server, "ada");
    let forms = [
        ("/login", SIGN_IN),
        ("/logout", ""),
        ("/signup", "username=mallory&password=correct+horse"),
        ("/account", "nickname=Mallory&email="),
        ("/account/password", "current=a+lift+in+the+fog&new=correct+horse"),
        ("/account/sessions", "current=a+lift+in+the+fog"),
        ("/account/delete", "confirm=ada"),
        ("/account/check", "field=username&value=ada"),
        ("/admin/accounts/ada", "action=ban"),
        ("/admin/keys", "action=create&name=a"),
        ("/admin/setup", "username=mallory&password=correct+horse"),
    ];
    let foreign =
        [("Sec-Fetch-Site", "cross-site"), ("Origin", "https://evil.example"), ("Origin", "null")];
    for (path, form) in forms {
        for (name, value) in foreign {
            let answer = server.on_page(&token, "POST", path).form(form).header(name, value).send();
            assert_eq!((answer.status, answer.header("set-cookie")), (403, None), "{path} {name}");
        }
    }
    assert!(server.is_signed_in(&token));
    assert_eq!(server.sign_in("ada", PASSWORD).status, 200);
    assert_eq!(server.get("/api/users/mallory").status, 404);
}

#[test]
fn a_sign_in_redirects_to_this_site_only() {
    let server = Lodge::new().start();
    server.make_account("ada");
    for (next, leads) in [
        ("%2Faccount%3Fx%3D1", "/account?x=1"),
        ("%2F%2Fevil.example", "/links"),
        ("https%3A%2F%2Fevil.example", "/links"),
        ("%2F%5Cevil.example", "/links"),
        ("%2Fa%0D%0ASet-Cookie%3A+x", "/links"),
        // A short link leads to another site.
        ("%2Fpromo", "/links"),
        ("%2Faccount%2F..%2Fpromo", "/links"),
    ] {
        server.post("/login").form(&format!("{SIGN_IN}&next={next}")).send().leads_to(303, leads);
    }
}

#[test]
fn fields_are_checked_while_typing_by_the_rules_of_the_form() {
    let server = Lodge::new().start();
    server.make_account("ada");
    let check = |field: &str, value: &str| -> Value {
        let form = format!("field={field}&value={value}&username=grace");
        server.post("/account/check").form(&form).expect(200).json()["problem"].clone()
    };
    assert_eq!(
        check("username", "ADA"),
        "This username is taken or looks like one that is taken; choose another one."
    );
    assert_eq!(check("username", "grace"), Value::Null);
    assert_eq!(check("password", "short"), "The password must be at least 8 characters.");
    let common = "The password is too common; choose another one.";
    assert_eq!(check("password", "password"), common);
    assert_eq!(check("new", "correct+horse"), Value::Null);
    assert_eq!(check("nickname", "Gr%E2%80%AEace").as_str().map(|_| ()), Some(()));
    assert_eq!(check("email", "grace").as_str().map(|_| ()), Some(()));
    for (field, value) in
        [("username", "a b"), ("password", "grace"), ("email", "x@"), ("nickname", "a%E2%80%AEb")]
    {
        let said = check(field, value);
        let form = format!(
            "username={}&password={}&email={}&nickname={}",
            if field == "username" { value } else { "grace" },
            if field == "password" { value } else { "correct+horse" },
            if field == "email" { value } else { "" },
            if field == "nickname" { value } else { "" },
        );
        let sent = server.post("/signup").browser().form(&form).send();
        match said {
            Value::Null => assert_eq!(sent.status, 303, "{field}"),
            said => {
                assert_eq!(sent.status, 400, "{field}");
                let page = sent.text().replace("&#39;", "'");
                assert!(page.contains(said.as_str().unwrap()), "{field}: {said}");
            }
        }
    }
}

#[test]
fn a_sign_up_form_sent_twice_creates_one_account_and_signs_in_both_times() {
    let server = Lodge::new().start();
    let page = server.ask("GET", "/signup").browser().send().text();
    let id = between(&page, "name=\"form\" value=\"", "\"").unwrap();
    let form = format!("form={id}&username=ada&password=a+lift+in+the+fog&nickname=&email=");
    for _ in 0..2 {
        let answer = server.post("/signup").form(&form).send();
        answer.leads_to(303, "/account?welcome");
        assert!(server.is_signed_in(set_cookie(&answer).1));
    }
    let another = form.replace("a+lift", "another+lift");
    for form in [&*another, "username=ada&password=a+lift+in+the+fog"] {
        server
            .post("/signup")
            .browser()
            .form(form)
            .expect(409)
            .says("This username is taken or looks like one that is taken; choose another one.");
    }
}

#[test]
fn where_sign_up_is_closed_no_page_offers_it() {
    let server = Lodge::new().with("LODGE_ACCOUNTS_OPEN_SIGN_UP", "false").start();
    let page = server.ask("GET", "/signup").browser().expect(200).text();
    assert!(page.contains("Sign-up is closed") && !page.contains("name=\"password\""), "{page}");
    let page = server.ask("GET", "/login").browser().expect(200).text();
    assert!(!page.contains("/signup"), "{page}");
    let refused = "username=ada&password=a+lift+in+the+fog";
    server.post("/signup").browser().form(refused).expect(403);
    server.post("/signup").browser().form("username=a").expect(400).says("Sign-up is closed");
}

#[test]
fn the_pages_that_sign_in_say_who_is_signed_in() {
    let (server, [token]) = Lodge::new().start_with(["ada"]);
    for path in ["/login", "/signup"] {
        let page = server.on_page(&token, "GET", path).expect(200).text();
        assert!(
            page.contains("You are signed in as <strong class=\"wrap\">ada</strong>"),
            "{page}"
        );
        let page = server.ask("GET", path).browser().expect(200).text();
        assert!(!page.contains("You are signed in"), "{page}");
    }
}

#[test]
fn a_sign_up_redirects_to_the_page_that_asked_for_it() {
    let server = Lodge::new().start();
    server
        .ask("GET", "/login?next=/board/lobby")
        .browser()
        .send()
        .says("href=\"/signup?next=%2Fboard%2Flobby\"");
    let page = server.ask("GET", "/signup?next=%2Fboard%2Flobby").browser().send().text();
    assert!(page.contains("name=\"next\" value=\"/board/lobby\""), "{page}");
    assert!(page.contains("href=\"/login?next=%2Fboard%2Flobby\""), "{page}");
    for (name, next, leads) in
        [("ada", "/board/lobby", "/board/lobby"), ("bob", "//evil.example", "/account?welcome")]
    {
        let form = format!("username={name}&password=a+lift+in+the+fog&next={next}");
        server.post("/signup").form(&form).send().leads_to(303, leads);
    }
}

#[test]
fn the_deletion_page_names_what_stays_in_the_apps_that_are_on() {
    let said = |apps: &str| {
        let (server, [ada]) = Lodge::new().with("LODGE_APPS", apps).start_with(["ada"]);
        let mut said = server.on_page(&ada, "GET", "/account").send().text();
        let form = format!("confirm=ada&current={}", PASSWORD.replace(' ', "+"));
        let gone = server.on_page(&ada, "POST", "/account/delete").form(&form).expect(200);
        said.push_str(&gone.text());
        let stays = said.matches("Your board messages stay, without your name").count();
        (said.matches("our links").count(), stays)
    };
    assert_eq!(said("accounts"), (0, 0));
    assert_eq!(said("board"), (0, 2));
    assert_eq!(said("links,accounts"), (2, 0));
}

fn order(server: &Server, token: &str, name: &str, form: &str) -> u16 {
    server.on_page(token, "POST", &format!("/admin/accounts/{name}")).form(form).send().status
}

/// A server where Ada is an admin, Max a moderator, Eve and Mia members.
fn staffed() -> (Lodge, Server) {
    let (lodge, server) = Lodge::new().started();
    for name in ["ada", "max", "eve", "mia"] {
        server.make_account(name);
    }
    lodge.admin(&["user", "role", "ada", "admin"]);
    lodge.admin(&["user", "role", "max", "moderator"]);
    (lodge, server)
}

#[test]
fn staff_moderate_only_accounts_below_their_role() {
    let (_lodge, server) = staffed();
    let [ada, max, eve] = ["ada", "max", "eve"].map(|name| cookie(&server, name));
    server.on_page(&eve, "GET", "/admin/accounts").expect(403);
    assert_eq!(order(&server, &eve, "mia", "action=ban"), 403);
    assert_eq!(order(&server, &max, "ada", "action=ban"), 403);
    assert_eq!(order(&server, &max, "max", "action=ban"), 403);
    assert_eq!(order(&server, &max, "eve", "action=set_role&role=admin"), 403);
    assert_eq!(order(&server, &max, "eve", "action=reset"), 403);
    assert_eq!(order(&server, &ada, "ada", "action=set_role&role=member"), 403, "the last admin");
    assert_eq!(order(&server, &ada, "stranger", "action=ban"), 404);
    assert_eq!(order(&server, &eve, "mia", "action=take_picture"), 403);
    assert_eq!(order(&server, &max, "ada", "action=take_picture"), 403);
    assert_eq!(order(&server, &max, "max", "action=take_picture"), 403);

    assert_eq!(order(&server, &max, "eve", "action=ban"), 303);
    assert!(!server.is_signed_in(&eve));
    assert_eq!(order(&server, &max, "eve", "action=unban"), 303);
    assert_eq!(server.sign_in("eve", PASSWORD).status, 200);
    assert_eq!(order(&server, &ada, "max", "action=set_role&role=member"), 303);
    assert_eq!(server.on_page(&max, "GET", "/admin/accounts").send().status, 403, "at once");
}

#[test]
fn staff_end_the_sessions_of_accounts_below_their_role() {
    let (lodge, server) = staffed();
    let [max, eve] = ["max", "eve"].map(|name| cookie(&server, name));
    assert_eq!(order(&server, &max, "ada", "action=end_sessions"), 403);
    assert_eq!(order(&server, &eve, "mia", "action=end_sessions"), 403);
    assert_eq!(order(&server, &max, "eve", "action=end_sessions"), 303);
    assert!(!server.is_signed_in(&eve));
    let newest = &lodge.admin_list(&["user", "events", "eve"])[0];
    assert_eq!((&*newest[1], &*newest[2]), ("signed_out_everywhere", "max"));
    assert_eq!(server.sign_in("eve", PASSWORD).status, 200);
}

#[test]
fn the_operator_sees_the_events_of_an_account_and_who_caused_them() {
    let (lodge, server) = staffed();
    let [eve, max] = ["eve", "max"].map(|name| cookie(&server, name));
    assert_eq!(order(&server, &max, "eve", "action=ban"), 303);
    lodge.admin(&["user", "unban", "eve"]);
    assert!(!server.is_signed_in(&eve));
    let listed = lodge.admin_list(&["user", "events", "Eve"]);
    let told: Vec<_> = listed.iter().map(|row| (&*row[1], &*row[2])).collect();
    let by_staff = [("unbanned", "the command line"), ("banned", "max")];
    let by_owner = [("signed_in", "its owner"), ("signed_up", "its owner")];
    assert_eq!(told, [by_staff, by_owner].concat());
    assert_eq!(lodge.run(&["admin", "user", "events", "stranger"]).code, 1);
}

#[test]
fn an_ended_session_does_not_silently_create_a_link_without_an_owner() {
    let server = Lodge::new().start();
    server.make_account("ada");
    let ada = cookie(&server, "ada");
    server.on_page(&ada, "POST", "/logout").expect(303);
    let form = "form=0123456789abcdef&target=example.org&short=mine";
    let answer = server.on_page(&ada, "POST", "/links").form(form).expect(401);
    assert!(answer.header("set-cookie").unwrap().starts_with("lodge_session=;"), "{answer:?}");
    answer.says("You are signed out. Sign in to create");
    server.post("/links").browser().form(form).expect(303);
}

#[test]
fn an_admin_issues_a_code_that_resets_a_password_on_the_page() {
    let (lodge, server) = staffed();
    let ada = cookie(&server, "ada");
    let page = server.on_page(&ada, "POST", "/admin/accounts/eve").form("action=reset").send();
    assert_eq!((page.status, page.header("cache-control")), (200, Some("no-store")));
    let page = page.text();
    let code = page.split("<code>").nth(1).unwrap().split('<').next().unwrap();
    let set = |code: &str| {
        let form = format!("username=eve&code={code}&new=another+in+the+fog");
        server.post("/login/reset").browser().form(&form).send()
    };
    assert_eq!(set("reset_x").status, 403);
    assert_eq!(set(code).status, 200);
    assert_eq!(set(code).status, 403, "once");
    assert_eq!(server.sign_in("eve", "another in the fog").status, 200);
    drop(server);
    let noted: i64 =
        lodge.query("SELECT count(*) FROM account_events WHERE kind = 'reset_issued' AND did > 0");
    assert_eq!(noted, 1, "the event names the admin who issued the code");
}

#[test]
fn the_account_list_is_paged_and_searched_by_name_prefix() {
    let (lodge, server) = staffed();
    let ada = cookie(&server, "ada");
    let lines: Vec<String> = (0..120).map(|n| format!("guest{n:03},,,,")).collect();
    let lines = format!("username,nickname,email,password_hash,role\n{}\n", lines.join("\n"));
    lodge.admin(&["user", "import", text(&lodge.write("people.csv", lines))]);
    let mut names = Vec::new();
    let mut path = "/admin/accounts?search=guest".to_owned();
    loop {
        let page = server.on_page(&ada, "GET", &path).send().text();
        let rows = page.split("<a class=\"short\"").skip(1);
        names.extend(rows.map(|rest| between(rest, ">", "<").unwrap().to_owned()));
        let Some(next) = page.split("rel=\"next\"").next().filter(|start| start.len() < page.len())
        else {
            break;
        };
        let (_, link) = next.rsplit_once("href=\"").unwrap();
        let (link, _) = link.split_once('"').unwrap();
        path = link.replace("&amp;", "&").replace("&#38;", "&");
    }
    let expected: Vec<String> = (0..120).map(|n| format!("guest{n:03}")).collect();
    assert_eq!(names, expected);
    let wide = server.on_page(&ada, "GET", "/admin/accounts?search=%EF%BC%A7uest119").send();
    assert!(wide.text().contains("guest119"), "names are normalised");
}
