//! The first admin of a server.

use std::thread;

use serde_json::Value;

use crate::{Lodge, Request, Response, Server, client::HttpConnection, tiers::Tiers};

const FORM: &str = "username=ada&password=a+lift+in+the+fog";
const NOTICE: &str = "This server has no admin yet.";

/// Returns the setup code in the log.
fn code(server: &Server) -> String {
    let log = server.log();
    let events = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let codes: Vec<_> =
        events.filter_map(|event| Some(event["code"].as_str()?.to_owned())).collect();
    assert!(matches!(&codes[..], [code] if code.starts_with("setup_")), "{log}");
    codes[0].clone()
}

fn set_up(server: &Server, form: &str) -> Request {
    server.post("/admin/setup").browser().form(form)
}

fn token(answer: &Response) -> String {
    let set = answer.header("set-cookie").unwrap();
    set.split(['=', ';']).nth(1).unwrap().to_owned()
}

fn admins(lodge: &Lodge) -> u32 {
    lodge.query("SELECT count(*) FROM accounts WHERE role = 2")
}

#[test]
fn the_first_visitor_on_this_machine_becomes_the_admin_and_then_the_page_is_gone() {
    let (lodge, server) = Lodge::new().with("LODGE_ACCOUNTS_OPEN_SIGN_UP", "false").started();
    for path in ["/", "/login", "/rides"] {
        server.get(path).expect(200).says(NOTICE);
    }
    let page = server.get("/admin/setup").expect(200).text();
    assert!(!page.contains("id=\"code\""), "{page}");
    set_up(&server, "username=ada&password=short").expect(400).says("at least 8 characters");
    let made = set_up(&server, FORM).send();
    made.leads_to(303, "/admin");
    server.on_page(&token(&made), "GET", "/admin").expect(200).says("/admin/keys");
    server.get_each(404, &["/admin/setup"]);
    set_up(&server, &FORM.replace("ada", "eve")).send().leads_to(303, "/admin");
    set_up(&server, "username=eve&password=short").send().leads_to(303, "/admin");
    assert_eq!((admins(&lodge), server.get("/api/users/eve").status), (1, 404));
    assert!(!server.get("/").text().contains(NOTICE));
    let server = server.restart();
    assert!(!server.log().contains("setup_"), "no code is made while there is an admin");
    server.get_each(404, &["/admin/setup"]);
}

#[test]
fn a_visitor_who_may_come_from_elsewhere_needs_the_code_in_the_log() {
    let (lodge, server) = Lodge::new().started();
    let evil = format!("evil.example:{}", server.address.port());
    let disguises = [
        ("X-Forwarded-For", "127.0.0.1"),
        ("X-Forwarded-For", "192.0.2.1, ::1"),
        ("Forwarded", "for=127.0.0.1"),
        ("X-Forwarded-Host", "localhost"),
        ("X-Real-IP", "127.0.0.1"),
        ("Via", "1.1 proxy"),
        ("Host", &evil),
        ("Host", "127.0.0.1.evil.example"),
    ];
    for (name, value) in disguises {
        let ask = |path| server.ask("GET", path).browser().header(name, value).expect(200).text();
        assert!(!ask("/").contains(NOTICE), "{name}: {value}");
        assert!(ask("/admin/setup").contains("id=\"code\""), "{name}: {value}");
        let refused = set_up(&server, FORM).header(name, value).expect(403);
        refused.says("This is not the setup code of this server.");
    }
    let mut old = HttpConnection::connect(server.address).unwrap();
    old.write(b"GET /admin/setup HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n").unwrap();
    assert!(old.read().unwrap().text().contains("id=\"code\""), "as nginx asks by default");
    assert_eq!(admins(&lodge), 0);

    let form = format!("{FORM}&code=+{}+", code(&server));
    set_up(&server, &form).from("192.0.2.1").send().leads_to(303, "/admin");
    assert_eq!(admins(&lodge), 1);

    let server = Lodge::new().with("LODGE_PUBLIC_URL", "https://go.example").start();
    server.get("/admin/setup").expect(200).says("id=\"code\"");
    assert!(!server.get("/").text().contains(NOTICE));
}

#[test]
fn tries_of_the_setup_code_are_limited_per_address() {
    let server = Lodge::new().with("LODGE_LIMITS_ATTEMPTS_PER_MINUTE", "3").start();
    let guess = || set_up(&server, &format!("{FORM}&code=setup_guess")).from("192.0.2.1").send();
    for _ in 0..3 {
        assert_eq!(guess().status, 403);
    }
    guess().expect_retry_after(429);
}

#[test]
fn of_many_visitors_at_once_one_becomes_the_admin() {
    let (lodge, server) = Lodge::new().started();
    let tokens = server.members(["a", "b", "c", "d", "e", "f"]);
    thread::scope(|scope| {
        for token in &tokens {
            let ask = server.on_page(token, "POST", "/admin/setup").form("");
            scope.spawn(move || ask.send().leads_to(303, "/admin"));
        }
    });
    assert_eq!(admins(&lodge), 1);
    let opens = |token: &&String| server.on_page(token, "GET", "/admin").send().status == 200;
    assert_eq!(tokens.iter().filter(opens).count(), 1);
}

#[test]
fn an_admin_made_by_the_operator_closes_the_setup() {
    let (lodge, server) = Lodge::new().started();
    server.make_account("ada");
    lodge.admin(&["user", "role", "ada", "admin"]);
    server.get_each(404, &["/admin/setup"]);
    let form = format!("{}&code={}", FORM.replace("ada", "eve"), code(&server));
    set_up(&server, &form).send().leads_to(303, "/admin");
    assert_eq!((admins(&lodge), server.get("/api/users/eve").status), (1, 404));
}

#[test]
fn with_accounts_on_another_process_the_code_is_in_its_log() {
    let (tiers, accounts, web) = Tiers::new().start();
    web.get("/").expect(200).says(NOTICE);
    web.get("/admin/setup").expect(200).says("id=\"code\"");
    set_up(&web, FORM).expect(403);
    let made = set_up(&web, &format!("{FORM}&code={}", code(&accounts))).send();
    made.leads_to(303, "/admin");
    web.on_page(&token(&made), "GET", "/admin/keys").expect(200);
    web.get_each(404, &["/admin/setup"]);
    assert_eq!(admins(&tiers.accounts), 1);
}
