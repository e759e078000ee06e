//! The first five minutes: a link and its redirect, before and after a crash.

use lodge_web::HttpService;

use crate::Lodge;

#[test]
fn the_first_link_redirects_and_still_does_after_kill_9() {
    let (lodge, server) = Lodge::new().started();
    let put = |long: &str| server.put(&format!("/?short=gg&long={long}")).send().status;
    assert_eq!(put("google.com"), 201);
    server.get("/gg").leads_to(307, "https://google.com/");
    assert_eq!(put("google.com"), 200, "the same link exists");
    assert_eq!(put("example.org"), 409, "an existing link is not replaced");
    server.get("/gg").leads_to(307, "https://google.com/");
    assert_eq!(server.get("/GG").status, 404, "shorts are case-sensitive");
    server.kill();
    lodge.start().get("/gg").leads_to(307, "https://google.com/");
}

#[test]
fn the_public_routes_are_exactly_the_listed_ones() {
    let mut routes: Vec<_> =
        HttpService::routes().iter().map(|(method, path)| format!("{method} {path}")).collect();
    let meant = ROUTES.iter().flat_map(|(path, methods)| {
        methods.split(' ').map(move |method| format!("{method} {path}"))
    });
    let mut meant: Vec<_> = meant.collect();
    routes.sort_unstable();
    meant.sort_unstable();
    assert_eq!(routes, meant);
}

/// All public routes, of all apps: paths and the methods of each.
const ROUTES: &[(&str, &str)] = &[
    ("/", "GET PUT"),
    ("/-/pictures/{id}/{size}", "GET"),
    ("/account", "GET POST"),
    ("/account/check", "POST"),
    ("/account/delete", "GET POST"),
    ("/account/export", "GET"),
    ("/account/password", "GET POST"),
    ("/account/picture", "GET POST"),
    ("/account/picture/delete", "POST"),
    ("/account/providers/{provider}", "GET POST"),
    ("/account/sessions", "GET POST"),
    ("/account/sessions/{id}", "GET POST"),
    ("/account/unlink", "GET POST"),
    ("/admin", "GET"),
    ("/admin/accounts", "GET"),
    ("/admin/accounts/{username}", "GET POST"),
    ("/admin/bots", "GET POST"),
    ("/admin/events", "GET"),
    ("/admin/gates", "GET POST"),
    ("/admin/keys", "GET POST"),
    ("/admin/setup", "GET POST"),
    ("/admin/webhooks", "GET POST"),
    ("/api/accounts", "POST"),
    ("/api/board", "GET POST"),
    ("/api/board/-/bans", "GET"),
    ("/api/board/-/bans/{username}", "DELETE PUT"),
    ("/api/board/-/hidden", "GET"),
    ("/api/board/-/hooks", "GET POST"),
    ("/api/board/-/hooks/{id}", "DELETE"),
    ("/api/board/-/reports", "GET"),
    ("/api/board/-/reports/{id}", "DELETE"),
    ("/api/board/-/search", "GET"),
    ("/api/board/-/unread", "GET"),
    ("/api/board/{channel}", "PATCH"),
    ("/api/board/{channel}/events", "GET"),
    ("/api/board/{channel}/messages", "GET POST"),
    ("/api/board/{channel}/messages/{id}", "DELETE GET PATCH"),
    ("/api/board/{channel}/messages/{id}/hidden", "DELETE PUT"),
    ("/api/board/{channel}/messages/{id}/reactions/{reaction}", "DELETE PUT"),
    ("/api/board/{channel}/messages/{id}/reports", "POST"),
    ("/api/board/{channel}/people", "GET"),
    ("/api/board/{channel}/read", "PUT"),
    ("/api/board/{channel}/stream", "GET"),
    ("/api/bulk/links", "POST"),
    ("/api/docs", "GET"),
    ("/api/links", "GET POST"),
    ("/api/links/{short}", "DELETE GET PATCH"),
    ("/api/links/{short}/clicks", "GET"),
    ("/api/links/{short}/qr.svg", "GET"),
    ("/api/me", "DELETE GET PATCH"),
    ("/api/me/export", "GET"),
    ("/api/me/passes", "GET PATCH"),
    ("/api/me/passes/{skierID}", "DELETE PATCH PUT"),
    ("/api/me/password", "PUT"),
    ("/api/me/picture", "DELETE PUT"),
    ("/api/me/providers", "GET"),
    ("/api/me/providers/{provider}", "DELETE"),
    ("/api/me/sessions", "DELETE GET"),
    ("/api/me/sessions/{id}", "DELETE"),
    ("/api/openapi.json", "GET"),
    ("/api/password", "POST"),
    ("/api/providers", "GET"),
    ("/api/rides", "POST"),
    ("/api/rides/export.csv", "GET"),
    ("/api/rides/hours", "GET"),
    ("/api/rides/leaderboard", "GET"),
    ("/api/rides/ledger", "GET"),
    ("/api/rides/lifts", "GET"),
    ("/api/rides/live", "GET"),
    ("/api/rides/resorts", "GET"),
    ("/api/rides/search", "GET"),
    ("/api/session", "DELETE POST"),
    ("/api/users/{username}", "GET"),
    ("/assets/{file}", "GET"),
    ("/board", "GET"),
    ("/board/-/bans", "GET POST"),
    ("/board/-/channels", "GET POST"),
    ("/board/-/hidden", "GET"),
    ("/board/-/names", "GET"),
    ("/board/-/pictures/{id}/{size}", "GET"),
    ("/board/-/reports", "GET POST"),
    ("/board/-/unread", "GET"),
    ("/board/{channel}", "GET POST"),
    ("/board/{channel}/live", "GET"),
    ("/board/{channel}/m/{message}", "GET POST"),
    ("/board/{channel}/read", "POST"),
    ("/board/{channel}/search", "GET"),
    ("/board/{channel}/since", "GET"),
    ("/favicon.ico", "GET"),
    ("/links", "GET POST"),
    ("/links/{short}", "GET POST"),
    ("/links/{short}/delete", "POST"),
    ("/links/{short}/open", "POST"),
    ("/links/{short}/qr", "GET"),
    ("/links/{short}/stats", "GET"),
    ("/login", "GET POST"),
    ("/login/by/{provider}", "GET"),
    ("/login/by/{provider}/callback", "GET"),
    ("/login/reset", "GET POST"),
    ("/logout", "POST"),
    ("/new", "GET"),
    ("/resorts", "GET"),
    ("/resorts/{resortID}/seasons", "GET POST"),
    ("/resorts/{resortID}/seasons/{seasonID}/day/{dayID}/skiers", "GET"),
    ("/resorts/{resortID}/seasons/{seasonID}/days/{dayID}/skiers", "GET"),
    ("/rides", "GET"),
    ("/rides/leaderboard", "GET"),
    ("/rides/passes", "GET POST"),
    ("/rides/passes/profile", "POST"),
    ("/rides/passes/{skierID}", "POST"),
    ("/rides/resorts/{resort}", "GET"),
    ("/rides/skiers", "GET"),
    ("/rides/skiers/{skier}", "GET"),
    ("/robots.txt", "GET"),
    ("/signup", "GET POST"),
    ("/signup/name", "GET POST"),
    ("/skiers/{resortID}/seasons/{seasonID}/days/{dayID}/skiers/{skierID}", "GET POST"),
    ("/skiers/{skierID}/vertical", "GET"),
    ("/{short}", "GET POST"),
];

#[test]
fn links_alone_is_a_complete_shortener_without_other_apps() {
    let server = Lodge::new().with("LODGE_APPS", "links").start();
    server.get_each(200, &["/", "/new", "/login", "/api/docs", "/api/openapi.json", "/robots.txt"]);
    server.get_each(404, &["/board", "/rides", "/signup"]);
    server.get_each(404, &["/skiers/1/vertical", "/api/board/lobby/people", "/api/me"]);
    server.create(&serde_json::json!({ "target": "example.org", "short": "gg" }));
    assert_eq!(server.get("/gg").status, 307);
}
