//! The first five minutes: a link, its redirect, and that both are still there after the worst.

use lodge_web::Front;

use crate::server::Lodge;

#[test]
fn the_first_link_redirects_and_still_does_after_kill_9() {
    let (lodge, server) = Lodge::new().started();
    let put = |long: &str| server.put(&format!("/?short=gg&long={long}")).send().status;
    assert_eq!(put("google.com"), 201);
    server.get("/gg").leads_to(307, "https://google.com/");
    assert_eq!(put("google.com"), 200, "it is so already");
    assert_eq!(put("example.org"), 409, "another's link stays");
    server.get("/gg").leads_to(307, "https://google.com/");
    assert_eq!(server.get("/GG").status, 404, "upper and lower case are apart");
    server.kill();
    lodge.start().get("/gg").leads_to(307, "https://google.com/");
}

#[test]
fn every_route_is_one_that_was_meant() {
    let mut routes: Vec<String> =
        Front::routes().iter().map(|(method, path)| format!("{method} {path}")).collect();
    routes.sort_unstable();
    assert_eq!(routes, ROUTES);
}

/// What the public can ask for, whatever apps are on.
const ROUTES: &[&str] = &[
    "DELETE /api/board/-/bans/{username}",
    "DELETE /api/board/-/hooks/{id}",
    "DELETE /api/board/-/reports/{id}",
    "DELETE /api/board/{channel}/messages/{id}",
    "DELETE /api/board/{channel}/messages/{id}/hidden",
    "DELETE /api/board/{channel}/messages/{id}/reactions/{reaction}",
    "DELETE /api/links/{short}",
    "DELETE /api/me",
    "DELETE /api/me/passes/{skierID}",
    "DELETE /api/me/picture",
    "DELETE /api/me/providers/{provider}",
    "DELETE /api/me/sessions",
    "DELETE /api/me/sessions/{id}",
    "DELETE /api/session",
    "GET /",
    "GET /-/pictures/{id}/{size}",
    "GET /account",
    "GET /account/export",
    "GET /admin/accounts",
    "GET /admin/accounts/{username}",
    "GET /api/board",
    "GET /api/board/-/bans",
    "GET /api/board/-/hidden",
    "GET /api/board/-/hooks",
    "GET /api/board/-/reports",
    "GET /api/board/-/search",
    "GET /api/board/-/unread",
    "GET /api/board/{channel}/events",
    "GET /api/board/{channel}/messages",
    "GET /api/board/{channel}/messages/{id}",
    "GET /api/board/{channel}/people",
    "GET /api/board/{channel}/stream",
    "GET /api/docs",
    "GET /api/links",
    "GET /api/links/{short}",
    "GET /api/links/{short}/clicks",
    "GET /api/links/{short}/qr.svg",
    "GET /api/me",
    "GET /api/me/export",
    "GET /api/me/passes",
    "GET /api/me/providers",
    "GET /api/me/sessions",
    "GET /api/openapi.json",
    "GET /api/providers",
    "GET /api/rides/export.csv",
    "GET /api/rides/hours",
    "GET /api/rides/leaderboard",
    "GET /api/rides/ledger",
    "GET /api/rides/lifts",
    "GET /api/rides/live",
    "GET /api/rides/resorts",
    "GET /api/rides/search",
    "GET /api/users/{username}",
    "GET /assets/{file}",
    "GET /board",
    "GET /board/-/bans",
    "GET /board/-/channels",
    "GET /board/-/hidden",
    "GET /board/-/pictures/{id}/{size}",
    "GET /board/-/reports",
    "GET /board/-/unread",
    "GET /board/{channel}",
    "GET /board/{channel}/live",
    "GET /board/{channel}/m/{message}",
    "GET /board/{channel}/search",
    "GET /board/{channel}/since",
    "GET /favicon.ico",
    "GET /links",
    "GET /links/{short}",
    "GET /links/{short}/qr",
    "GET /links/{short}/stats",
    "GET /login",
    "GET /login/by/{provider}",
    "GET /login/by/{provider}/callback",
    "GET /login/reset",
    "GET /new",
    "GET /resorts",
    "GET /resorts/{resortID}/seasons",
    "GET /resorts/{resortID}/seasons/{seasonID}/day/{dayID}/skiers",
    "GET /resorts/{resortID}/seasons/{seasonID}/days/{dayID}/skiers",
    "GET /rides",
    "GET /rides/leaderboard",
    "GET /rides/passes",
    "GET /rides/resorts/{resort}",
    "GET /rides/skiers",
    "GET /rides/skiers/{skier}",
    "GET /robots.txt",
    "GET /signup",
    "GET /signup/name",
    "GET /skiers/{resortID}/seasons/{seasonID}/days/{dayID}/skiers/{skierID}",
    "GET /skiers/{skierID}/vertical",
    "GET /{short}",
    "PATCH /api/board/{channel}",
    "PATCH /api/board/{channel}/messages/{id}",
    "PATCH /api/links/{short}",
    "PATCH /api/me",
    "PATCH /api/me/passes/{skierID}",
    "POST /account",
    "POST /account/check",
    "POST /account/delete",
    "POST /account/password",
    "POST /account/picture",
    "POST /account/picture/delete",
    "POST /account/providers/{provider}",
    "POST /account/sessions",
    "POST /account/sessions/{id}",
    "POST /account/unlink",
    "POST /admin/accounts/{username}",
    "POST /api/accounts",
    "POST /api/board",
    "POST /api/board/-/hooks",
    "POST /api/board/{channel}/messages",
    "POST /api/board/{channel}/messages/{id}/reports",
    "POST /api/bulk/links",
    "POST /api/links",
    "POST /api/password",
    "POST /api/rides",
    "POST /api/session",
    "POST /board/-/bans",
    "POST /board/-/channels",
    "POST /board/-/reports",
    "POST /board/{channel}",
    "POST /board/{channel}/m/{message}",
    "POST /board/{channel}/read",
    "POST /links",
    "POST /links/{short}",
    "POST /links/{short}/delete",
    "POST /links/{short}/open",
    "POST /login",
    "POST /login/reset",
    "POST /logout",
    "POST /resorts/{resortID}/seasons",
    "POST /rides/passes",
    "POST /rides/passes/{skierID}",
    "POST /signup",
    "POST /signup/name",
    "POST /skiers/{resortID}/seasons/{seasonID}/days/{dayID}/skiers/{skierID}",
    "POST /{short}",
    "PUT /",
    "PUT /api/board/-/bans/{username}",
    "PUT /api/board/{channel}/messages/{id}/hidden",
    "PUT /api/board/{channel}/messages/{id}/reactions/{reaction}",
    "PUT /api/board/{channel}/read",
    "PUT /api/me/passes/{skierID}",
    "PUT /api/me/password",
    "PUT /api/me/picture",
];

#[test]
fn links_alone_is_a_whole_shortener_and_nothing_more() {
    let server = Lodge::new().with("LODGE_APPS", "links").start();
    for path in ["/", "/new", "/login", "/api/docs", "/api/openapi.json", "/robots.txt"] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
    for path in
        ["/board", "/rides", "/signup", "/skiers/1/vertical", "/api/board/lobby/people", "/api/me"]
    {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
    server.create(&serde_json::json!({ "target": "example.org", "short": "gg" }));
    assert_eq!(server.get("/gg").status, 307);
}
