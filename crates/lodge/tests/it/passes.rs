//! Passes: claiming a skier's number, and hiding it from leaderboards.

use lodge_contract::pictures::files;
use serde_json::{Value, json};

use crate::{Lodge, Request, Response, Server, eventually_true, tiers::Tiers};

/// Returns the code of a skier's pass.
fn code(lodge: &Lodge, skier: u32) -> String {
    let line = lodge.admin(&["pass", &skier.to_string()]);
    let (number, code) = line.trim_end().split_once(',').unwrap();
    assert_eq!((number, code.len()), (&*skier.to_string(), 11), "{line}");
    code.to_owned()
}

fn asked(server: &Server, method: &str, token: &str, skier: u32) -> Request {
    server.ask(method, &format!("/api/me/passes/{skier}")).bearer(token)
}

fn claim(server: &Server, token: &str, skier: u32, code: &str) -> Response {
    asked(server, "PUT", token, skier).json(json!({ "code": code })).send()
}

fn hide(server: &Server, token: &str, skier: u32, hidden: bool) -> Response {
    asked(server, "PATCH", token, skier).json(json!({ "hidden": hidden })).send()
}

/// Returns the account's passes: number, and whether it is hidden.
fn passes(server: &Server, token: &str) -> Vec<(u64, bool)> {
    let answer = server.ask("GET", "/api/me/passes").bearer(token).send();
    assert_eq!(answer.header("cache-control"), Some("private, no-store"), "{answer:?}");
    let passes = answer.json()["passes"].as_array().unwrap().clone();
    let pass = |pass: Value| (pass["skierID"].as_u64().unwrap(), pass["hidden"] == true);
    passes.into_iter().map(pass).collect()
}

fn leaders(server: &Server) -> Vec<(u64, u64)> {
    let answer = server.get("/api/rides/leaderboard?resort=1&season=2025&day=1&limit=2");
    let leaders = answer.json()["leaders"].as_array().unwrap().clone();
    let number = |value: &Value| value.as_u64().unwrap();
    leaders.iter().map(|one| (number(&one["rank"]), number(&one["skierID"]))).collect()
}

#[test]
fn a_code_claims_its_skier_number() {
    let (lodge, server) = Lodge::new().started();
    let [ada, eve] = server.members(["ada", "eve"]);
    let of_7 = code(&lodge, 7);
    let claimed = claim(&server, &ada, 7, &of_7).expect(201);
    assert_eq!((&claimed.json()["skierID"], &claimed.json()["hidden"]), (&json!(7), &json!(false)));
    let typed = of_7.to_lowercase().replace('-', "").replace('0', "o").replace('1', "l");
    assert_eq!(claim(&server, &ada, 7, &typed).status, 200, "as it may be typed");
    assert_eq!(passes(&server, &ada), [(7, false)]);

    assert_eq!(claim(&server, &eve, 7, &code(&lodge, 8)).status, 403, "another number's code");
    for no_code in ["", "CA4FT", "CA4FT-PA5XU", "CA4FT-PA5XMM"] {
        assert_eq!(claim(&server, &eve, 7, no_code).status, 400, "{no_code}");
    }
    assert_eq!(claim(&server, &eve, 100_001, &of_7).status, 400);
    assert_eq!(hide(&server, &eve, 7, true).status, 404);
    asked(&server, "DELETE", &eve, 7).expect(404);
    assert_eq!((passes(&server, &ada), passes(&server, &eve)), (vec![(7, false)], Vec::new()));

    assert_eq!(hide(&server, &ada, 7, true).status, 200);
    assert_eq!(claim(&server, &eve, 7, &of_7).status, 201, "the pass moves to the new holder");
    let now = (passes(&server, &ada), passes(&server, &eve));
    assert_eq!(now, (Vec::new(), vec![(7, true)]), "and stays hidden");
    asked(&server, "DELETE", &eve, 7).expect(204);
    assert_eq!(passes(&server, &eve), []);

    let api_key = lodge.key("me");
    for token in ["", "session_x", &api_key] {
        server.ask("GET", "/api/me/passes").bearer(token).expect(401);
        assert_eq!(claim(&server, token, 7, &of_7).status, 401, "{token}");
    }
    server.kill();
    assert_eq!(code(&lodge, 7), of_7, "a code is valid until it is renewed");
}

#[test]
fn a_renewed_code_invalidates_the_old_one() {
    let (lodge, server) = Lodge::new().started();
    let [ada, eve] = server.members(["ada", "eve"]);
    let old = code(&lodge, 7);
    assert_eq!(claim(&server, &eve, 7, &old).status, 201);
    let renewed = lodge.admin(&["pass", "7", "--to", "8", "--renew"]);
    let new = code(&lodge, 7);
    assert_eq!(renewed, format!("7,{new}\n8,{}\n", code(&lodge, 8)), "the renewed code");
    assert_ne!(new, old);
    assert_eq!(claim(&server, &ada, 7, &old).status, 403);
    assert_eq!(passes(&server, &eve), [(7, false)], "kept until it is claimed");
    assert_eq!(claim(&server, &ada, 7, &new).status, 201);
    assert_eq!((passes(&server, &eve), passes(&server, &ada)), (Vec::new(), vec![(7, false)]));
    server.kill();
    assert_eq!(code(&lodge, 7), new);
    lodge.admin(&["pass", "7", "--renew"]);
    assert!(![old, new].contains(&code(&lodge, 7)), "also without a server");
}

/// Reads skier, account and hidden flag of all passes from the database.
fn holders(lodge: &Lodge) -> Vec<(u32, i64, bool)> {
    let database = lodge.database();
    let sql = "SELECT skier, account, hidden FROM passes ORDER BY skier";
    let mut statement = database.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

/// Lets two accounts claim passes, deletes one of them on `deletes_on`, and checks its passes.
fn passes_go_with_their_account_on(lodge: &Lodge, server: &Server, deletes_on: &Server) {
    server.make_account("ada");
    server.make_account("eve");
    let (ada, eve) = (server.token("ada"), server.token("eve"));
    for (who, skier) in [(&ada, 7), (&ada, 8), (&eve, 9)] {
        assert_eq!(claim(server, who, skier, &code(lodge, skier)).status, 201);
    }
    assert_eq!(hide(server, &ada, 8, true).status, 200);
    assert_eq!(deletes_on.delete_account(&ada), 204);
    let unclaimed = |skier| (skier, 0, skier == 8);
    eventually_true("the passes are unclaimed, and a hidden one stays hidden", || {
        let holders = holders(lodge);
        holders[..2] == [unclaimed(7), unclaimed(8)] && holders[2].1 > 0
    });
    assert_eq!(passes(server, &eve), [(9, false)]);
}

#[test]
fn passes_are_released_with_their_account() {
    let (lodge, server) = Lodge::new().started();
    passes_go_with_their_account_on(&lodge, &server, &server);
}

#[test]
fn passes_are_released_with_an_account_deleted_by_another_process() {
    let tiers = Tiers::new().with("LODGE_APPS", "links,accounts,rides");
    let (tiers, _accounts, web) = tiers.start();
    let other = tiers.another_web().start();
    passes_go_with_their_account_on(&tiers.web, &web, &other);
}

#[test]
fn passes_are_released_with_an_account_deleted_while_the_process_was_down() {
    let tiers = Tiers::new().with("LODGE_APPS", "links,accounts,rides");
    let (tiers, _accounts, web) = tiers.start();
    let other = tiers.another_web().start();
    let ada = web.member("ada");
    assert_eq!(claim(&web, &ada, 7, &code(&tiers.web, 7)).status, 201);
    web.kill();
    assert_eq!(other.delete_account(&ada), 204);
    let _web = tiers.web.start();
    eventually_true("the pass is unclaimed", || holders(&tiers.web) == [(7, 0, false)]);
}

#[test]
fn passes_are_in_the_account_export() {
    let (server, [ada]) = Lodge::new().start_with(["ada"]);
    let export =
        || server.ask("GET", "/api/me/export").bearer(&ada).send().json()["passes"].clone();
    assert_eq!(export(), json!([]));
    claim(&server, &ada, 7, &code(&server.lodge, 7));
    hide(&server, &ada, 7, true);
    assert_eq!((&export()[0]["skierID"], &export()[0]["hidden"]), (&json!(7), &json!(true)));
}

#[test]
fn an_account_has_at_most_ten_passes() {
    let (server, [ada]) = Lodge::new().start_with(["ada"]);
    let printed = server.lodge.admin(&["pass", "1", "--to", "11"]);
    let codes: Vec<_> = printed.lines().map(|line| line.split_once(',').unwrap().1).collect();
    assert_eq!(codes.len(), 11);
    for (skier, code) in (1..=10).zip(&codes) {
        assert_eq!(claim(&server, &ada, skier, code).status, 201);
    }
    assert_eq!(claim(&server, &ada, 11, codes[10]).status, 409);
    asked(&server, "DELETE", &ada, 3).expect(204);
    assert_eq!(claim(&server, &ada, 11, codes[10]).status, 201);
    let has: Vec<_> = passes(&server, &ada).into_iter().map(|(skier, _)| skier).collect();
    assert_eq!(has, [1, 2, 4, 5, 6, 7, 8, 9, 10, 11]);
}

#[test]
fn pass_codes_are_printed_for_a_range_of_skiers() {
    let (lodge, server) = Lodge::new().started();
    let printed = lodge.admin(&["pass", "99", "--to", "20100"]);
    let numbers: Vec<u32> =
        printed.lines().map(|line| line.split_once(',').unwrap().0.parse().unwrap()).collect();
    assert!(numbers.iter().copied().eq(99..=20_100));
    server.stop();
    assert_eq!(lodge.admin(&["pass", "99", "--to", "20100"]), printed);
    for bad in [&["pass", "0"][..], &["pass", "100001"], &["pass", "7", "--to", "6"]] {
        assert_eq!(lodge.run(&[&["admin"], bad].concat()).code, 1, "{bad:?}");
    }
}

#[test]
fn a_hidden_skier_is_on_no_leaderboard() {
    let (server, [ada]) = Lodge::new().start_with(["ada"]);
    for skier in 1..=4 {
        server.ride([1, 2025, 1, skier], 1, skier);
    }
    assert_eq!(leaders(&server), [(1, 4), (2, 3)]);
    assert_eq!(claim(&server, &ada, 4, &code(&server.lodge, 4)).status, 201);
    assert_eq!(leaders(&server), [(1, 4), (2, 3)], "still shown until it is hidden");
    let hidden = hide(&server, &ada, 4, true);
    assert_eq!((hidden.status, &hidden.json()["hidden"]), (200, &json!(true)));
    assert_eq!(leaders(&server), [(1, 3), (2, 2)]);
    let own = server.get("/skiers/1/seasons/2025/days/1/skiers/4");
    assert_eq!(own.json(), json!(40), "the course's API does not hide skiers");
    assert_eq!(hide(&server, &ada, 4, false).status, 200);
    assert_eq!(leaders(&server), [(1, 4), (2, 3)]);
    hide(&server, &ada, 4, true);
    asked(&server, "DELETE", &ada, 4).expect(204);
    assert_eq!(leaders(&server), [(1, 4), (2, 3)]);
}

/// Returns what the leaderboard shows of the first skier's holder, to programs and on its page.
fn named(server: &Server) -> (Value, bool) {
    let path = "/rides/leaderboard?resort=1&season=2025&day=1";
    let page = server.ask("GET", path).browser().send().text();
    assert!(page.contains("Skier 7<"), "the number is shown in any case: {page}");
    let json = server.get(&format!("/api{path}")).json();
    (json["leaders"][0]["profile"].clone(), page.contains("<bdi>"))
}

#[test]
fn a_leaderboard_names_a_skier_only_while_the_account_allows_it() {
    let (server, [ada, eve]) = Lodge::new().start_with(["ada", "eve"]);
    server.ride([1, 2025, 1, 7], 1, 10);
    claim(&server, &ada, 7, &code(&server.lodge, 7)).expect(201);
    let nameless = (Value::Null, false);
    assert_eq!(named(&server), nameless, "off by default");
    let export = |name: &str| server.call(&ada, "GET", "/api/me/export").json()[name].clone();
    assert_eq!(export("leaderboard_profile"), json!([]));

    let set = |form: &str| server.on_page(&ada, "POST", "/rides/passes/profile").form(form);
    let elsewhere = set("shown=true").header("Sec-Fetch-Site", "cross-site");
    elsewhere.expect(403);
    assert_eq!(named(&server), nameless);
    set("shown=true").send().leads_to(303, "/rides/passes");
    let ada_alone = |nickname: &str| (json!({ "nickname": nickname }), true);
    assert_eq!(named(&server), ada_alone("ada"));
    assert_eq!(export("leaderboard_profile")[0]["profile"], json!({ "nickname": "ada" }));
    assert!(export("leaderboard_profile")[0]["since"].is_string());

    server.patch("/api/me").bearer(&ada).json(json!({ "nickname": "Ada" })).expect(200);
    eventually_true("the new nickname is shown", || named(&server) == ada_alone("Ada"));
    let picture = server.put("/api/me/picture").bearer(&ada).body(files::jpeg()).expect(200);
    let small = picture.json()["picture"]["small"].clone();
    eventually_true("the picture is shown", || named(&server).0["picture"] == small);

    assert_eq!(hide(&server, &ada, 7, true).status, 200);
    assert_eq!(leaders(&server), [], "a hidden skier is not named either");
    assert_eq!(hide(&server, &ada, 7, false).status, 200);
    let show = |token: &str, shown: bool| {
        let edit = json!({ "profile_shown": shown });
        let passes = server.patch("/api/me/passes").bearer(token).json(edit).expect(200).json();
        assert_eq!(passes["profile_shown"], shown);
    };
    show(&ada, false);
    assert_eq!(named(&server), nameless, "at once");
    show(&ada, true);
    assert_eq!(named(&server).0["nickname"], "Ada");
    show(&eve, true);
    claim(&server, &eve, 7, &code(&server.lodge, 7)).expect(201);
    assert_eq!(named(&server), (json!({ "nickname": "eve" }), true), "the new holder");
    assert_eq!(server.delete_account(&eve), 204);
    eventually_true("the profile is deleted with the account", || named(&server) == nameless);
    let profiles = "SELECT COUNT(*) FROM pass_profiles WHERE username = 'eve'";
    assert_eq!(server.lodge.query::<i64>(profiles), 0);
    server.patch("/api/me/passes").json(json!({ "profile_shown": true })).expect(401);
}

#[test]
fn the_holder_of_a_pass_sees_which_skier_they_are() {
    let (server, [ada, eve]) = Lodge::new().start_with(["ada", "eve"]);
    server.ride([1, 2025, 1, 7], 1, 10);
    claim(&server, &ada, 7, &code(&server.lodge, 7)).expect(201);
    for path in ["/rides/leaderboard", "/rides/resorts/1", "/rides/skiers/7"] {
        let marked =
            |token| server.on_page(token, "GET", path).send().text().contains(">You</span>");
        assert_eq!((marked(&ada), marked(&eve), marked("ended")), (true, false, false), "{path}");
    }
}

#[test]
fn attempts_to_claim_a_pass_are_limited() {
    let (server, [ada]) =
        Lodge::new().with("LODGE_LIMITS_ATTEMPTS_PER_MINUTE", "5").start_with(["ada"]);
    let of_7 = code(&server.lodge, 7);
    let from = |address: &str, code: &str| {
        asked(&server, "PUT", &ada, 7).from(address).json(json!({ "code": code })).send()
    };
    for _ in 0..5 {
        assert_eq!(from("198.51.100.1", "22222-22222").status, 403);
    }
    from("198.51.100.1", &of_7).expect_retry_after(429);
    assert_eq!(from("198.51.100.2", &of_7).status, 201);
}

#[test]
fn without_accounts_there_are_no_passes() {
    let server = Lodge::new().with("LODGE_APPS", "links,rides").start();
    server.get_each(404, &["/api/me/passes", "/rides/passes"]);
    let paths = server.get("/api/openapi.json").json()["paths"].clone();
    assert!(paths["/api/rides"].is_object() && paths.get("/api/me/passes").is_none());
}

#[test]
fn a_pass_is_claimed_hidden_and_released_on_the_page() {
    let (server, [ada]) = Lodge::new().start_with(["ada"]);
    let of_7 = code(&server.lodge, 7);
    let post = |path: &str, form: &str| server.on_page(&ada, "POST", path).form(form).send();
    let shown = || server.on_page(&ada, "GET", "/rides/passes").send().text();
    assert!(shown().contains("No passes yet"));
    server.ride([1, 2025, 1, 9], 1, 9);
    for led_here in ["/account", "/rides"] {
        server.on_page(&ada, "GET", led_here).send().says("href=\"/rides/passes\"");
    }
    let wrong = post("/rides/passes", "skierID=7&code=22222-22222");
    assert!(wrong.status == 403 && wrong.text().contains("id=\"code-error\""), "{wrong:?}");
    let wrong_id = post("/rides/passes", &format!("skierID=0&code={of_7}"));
    assert!(
        wrong_id.status == 400 && wrong_id.text().contains("id=\"skierID-error\""),
        "{wrong_id:?}"
    );
    assert_eq!(passes(&server, &ada), []);

    let back = (303, Some("/rides/passes"));
    assert_eq!(post("/rides/passes", &format!("skierID=7&code={of_7}")).leads(), back);
    assert!(shown().contains("action=\"/rides/passes/7\""));
    assert_eq!(post("/rides/passes/7", "action=hide").leads(), back);
    let hidden = shown();
    assert!(hidden.contains("hidden from leaderboards"), "{hidden}");
    assert!(hidden.contains("All else stays public"), "the page says what hiding does not do");
    assert_eq!(passes(&server, &ada), [(7, true)]);
    assert_eq!(post("/rides/passes/7", "action=show").leads(), back);
    assert_eq!(passes(&server, &ada), [(7, false)]);
    let elsewhere = server.on_page(&ada, "POST", "/rides/passes/7");
    let elsewhere = elsewhere.header("Sec-Fetch-Site", "cross-site").form("action=release").send();
    assert_eq!((elsewhere.status, passes(&server, &ada).len()), (403, 1));
    assert_eq!(post("/rides/passes/7", "action=release").leads(), back);
    assert_eq!(post("/rides/passes/7", "action=release").leads(), back, "a second click");
    assert_eq!(passes(&server, &ada), []);

    let sign_in = (303, Some("/login?next=/rides/passes"));
    assert_eq!(server.ask("GET", "/rides/passes").browser().send().leads(), sign_in);
    let form = format!("skierID=7&code={of_7}");
    assert_eq!(server.post("/rides/passes").browser().form(&form).send().leads(), sign_in);
}
