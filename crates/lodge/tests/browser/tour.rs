//! A tour of every page of Lodge, with content that strains a layout.

use lodge_contract::pictures::files;
use serde_json::json;

use crate::{
    account::PASSWORD,
    board_tabs::ApiMember,
    scene::Scene,
    server::{Lodge, text},
};

/// Returns an installation with realistic lift names, and one lift name of the maximum length.
pub(crate) fn installation() -> Lodge {
    let lodge = Lodge::new();
    let resorts = (1..=10).map(|id| match id {
        5 => json!({"id": id, "name": "Home", "lifts": [
            {"id": 1, "name": "Magic Carpet Beginners", "vertical": 50},
            {"id": 2, "vertical": 100},
            {"id": 40, "name": "N".repeat(64), "vertical": 300},
        ]}),
        _ => json!({"id": id, "name": "A resort of some words"}),
    });
    let rides = json!({"resorts": resorts.collect::<Vec<_>>()});
    let file = lodge.write("lodge.toml", toml::to_string(&json!({"rides": rides})).unwrap());
    lodge.with("LODGE_CONFIG", text(&file))
}

/// A username of the maximum length.
const NAME: &str = "a-name-of-as-many-characters30";

/// Opens every page in the browser and calls `look` on each.
pub(crate) async fn every_page(scene: &Scene, mut look: impl AsyncFnMut(&str)) {
    let long = format!("/{}", "a-long-path-without-any-place-to-break".replace('-', "").repeat(20));
    let key = prepare(scene, &long);
    make(scene, &long, &mut look).await;
    visit(scene, &mut look).await;
    own(scene, &key, &mut look).await;
    account(scene, &mut look).await;
    rides(scene, &mut look).await;
    delete(scene, &mut look).await;
}

/// Creates links. Returns the API key that owns the listed links.
fn prepare(scene: &Scene, long: &str) -> String {
    let key = scene.lodge.key("Ann's laptop, and whatever else she has that makes links");
    let tags: Vec<_> = (0..10).map(|number| format!("a tag of some words {number}")).collect();
    for number in 0..21 {
        let short = format!("{number}-{}", "x".repeat(60));
        scene.create(Some(&key), &short, long, json!({"tags": tags}));
    }
    scene.create(None, "secret", long, json!({"password": "open sesame"}));
    scene.create(None, "theirs", long, json!({}));
    key
}

async fn make(scene: &Scene, long: &str, look: &mut impl AsyncFnMut(&str)) {
    let browser = &scene.browser;
    scene.open("/").await;
    look("the start page").await;
    scene.open("/new").await;
    look("make a link").await;
    browser.press("More options").await;
    browser.fill_in(&[("target", "ftp://x"), ("short", "api"), ("max_clicks", "0")]).await;
    browser.fill("tags", &"x".repeat(200)).await;
    browser.press_and_wait("Create link", "There is a problem").await;
    look("make a link, wrong").await;
    scene.make("gg", long).await;
    look("just made").await;
    scene.open("/links/gg/stats").await;
    look("statistics without clicks").await;
    scene.open("/links/gg").await;
    browser.fill("target", "ftp://x").await;
    browser.press_and_wait("Save", "There is a problem").await;
    look("manage, wrong").await;
    scene.open("/links/gg").await;
    browser.fill("tags", "one, two").await;
    browser.press_and_wait("Save", "Saved.").await;
    look("manage").await;
}

async fn visit(scene: &Scene, look: &mut impl AsyncFnMut(&str)) {
    let browser = &scene.browser;
    for number in 0..3 {
        let from = format!("http://{}{number}.example/", "a-long-name.".repeat(8));
        scene.server.ask("GET", "/gg").header("Referer", &from).send();
    }
    for (path, name) in [
        ("/gg+", "preview"),
        ("/secret+", "preview of a protected link"),
        ("/links/gg/stats", "statistics"),
        ("/links/gg/stats?period=all", "statistics of another period"),
        ("/links/gg/qr", "the code to print"),
        ("/api/docs", "the API"),
        ("/nothing-here", "not found"),
        ("/secret", "password"),
    ] {
        scene.open(path).await;
        look(name).await;
    }
    browser.is_refused(&[("password", "open barley")], "Continue", "password").await;
    look("password, wrong").await;
    scene.open("/links/theirs").await;
    look("manage key").await;
    browser.is_refused(&[("manage_key", "manage_wrong")], "Open", "manage_key").await;
    look("manage key, wrong").await;
}

async fn own(scene: &Scene, key: &str, look: &mut impl AsyncFnMut(&str)) {
    let browser = &scene.browser;
    scene.open("/login").await;
    look("sign in").await;
    let wrong = [("username", "unknown"), ("password", "a guess")];
    browser.is_refused(&wrong, "Sign in", "password").await;
    look("sign in, wrong").await;
    browser.press("Sign in with an API key").await;
    look("sign in with a key").await;
    browser.is_refused(&[("api_key", "lodge_wrong")], "Sign in with the key", "api_key").await;
    look("sign in with a key, wrong").await;
    browser.fill("api_key", key).await;
    browser.press_and_wait("Sign in with the key", "Created with the key").await;
    look("list").await;
    scene.open("/links?search=x&tag=a+tag+of+some+words+1").await;
    look("list, filtered").await;
    scene.open("/links?search=x&tag=nothing").await;
    look("list, nothing found").await;
    scene.open("/login").await;
    look("signed in").await;
}

async fn delete(scene: &Scene, look: &mut impl AsyncFnMut(&str)) {
    let browser = &scene.browser;
    scene.open("/links/gg").await;
    browser.press("Delete ").await;
    browser.press_and_wait("Yes, delete it", "Link deleted").await;
    look("deleted").await;
    scene.open("/gg").await;
    look("gone").await;
}

async fn account(scene: &Scene, look: &mut impl AsyncFnMut(&str)) {
    let browser = &scene.browser;
    scene.open("/admin/setup").await;
    look("set up the admin account").await;
    scene.open("/signup").await;
    look("make an account").await;
    browser.fill_in(&[("username", "a b"), ("password", "password")]).await;
    browser.press_and_wait("Create account", "There is a problem").await;
    look("make an account, wrong").await;
    browser.fill_in(&[("username", NAME), ("password", PASSWORD)]).await;
    browser.press_and_wait("Create account", "Welcome!").await;
    look("account, new").await;
    scene.open("/links").await;
    look("list, no links yet").await;
    scene.open("/rides/passes").await;
    look("passes").await;
    browser.is_refused(&[("skierID", "x"), ("code", "x")], "Claim pass", "skierID").await;
    look("passes, wrong").await;
    scene.open("/account").await;
    browser.fill("nickname", &"W".repeat(30)).await;
    browser.press_and_wait("Save", "Saved.").await;
    look("account").await;
    scene.attach("picture.jpg", &files::with_gps()).await;
    browser.press("Upload picture").await;
    browser.one("form[action='/account/picture/delete']").await;
    look("account, with a picture").await;
    browser.press("Delete this account").await;
    let wrong = [("confirm", "x"), ("delete-current", "x")];
    browser.is_refused(&wrong, "Delete account", "confirm").await;
    look("account, wrong").await;
    scene.open("/login/reset").await;
    look("a new password").await;
    scene.open("/admin/setup").await;
    look("become the admin").await;
    scene.open("/admin/accounts").await;
    look("accounts, not for members").await;
    scene.lodge.admin(&["user", "role", NAME, "admin"]);
    for number in 0..51 {
        let name = format!("{number:02}-{}", "w".repeat(27));
        let who = json!({"username": name, "password": PASSWORD, "nickname": "W".repeat(30)});
        scene.server.post("/api/accounts").json(&who).expect(201);
    }
    scene.open("/admin/accounts").await;
    look("accounts").await;
    browser.press("00-").await;
    look("an account").await;
    browser.press("Create code").await;
    browser.press_and_wait("Yes, create it", "One-time code").await;
    look("a one-time code").await;
    scene.open("/admin/accounts?search=unknown").await;
    look("accounts, none found").await;
    scene.open("/admin/events").await;
    look("security events").await;
    scene.open("/admin/events?account=unknown").await;
    look("security events, none found").await;
    admin(scene, look).await;
    board(scene, look).await;
    scene.open("/account").await;
    browser.press("Delete this account").await;
    browser.fill_in(&[("confirm", NAME), ("delete-current", PASSWORD)]).await;
    browser.press_and_wait("Delete account", "Account deleted").await;
    look("account, deleted").await;
}

async fn admin(scene: &Scene, look: &mut impl AsyncFnMut(&str)) {
    let browser = &scene.browser;
    let name = "W".repeat(64);
    scene.open("/admin").await;
    look("admin").await;
    scene.open("/admin/gates").await;
    look("gates, none").await;
    for (path, button) in [
        ("/admin/keys", "Create API key"),
        ("/admin/gates", "Create gate"),
        ("/admin/bots", "Create bot"),
    ] {
        scene.open(path).await;
        browser.fill("name", &name).await;
        browser.press_and_wait(button, "shown only once").await;
        look("a new key").await;
        scene.open(path).await;
        browser.press("Revoke").await;
        look("keys").await;
        browser.is_refused(&[("name", &name)], button, "name").await;
        look("keys, wrong").await;
    }
    scene.open("/admin/webhooks").await;
    browser.fill("url", &format!("https://lodge.example/{}", "x".repeat(300))).await;
    browser.press_and_wait("Add webhook", "shown only once").await;
    look("a new webhook").await;
    scene.open("/admin/webhooks").await;
    browser.is_refused(&[("url", "ftp://x")], "Add webhook", "url").await;
    look("webhooks, wrong").await;
}

async fn board(scene: &Scene, look: &mut impl AsyncFnMut(&str)) {
    let browser = &scene.browser;
    scene.open("/board").await;
    look("an empty channel").await;
    let hard =
        format!("{} https://lodge.example/{} @ada **b** `c`", "w".repeat(200), "x".repeat(200));
    browser.fill("body", &hard).await;
    browser.press("Send").await;
    browser.one("#messages .said a").await;
    look("a channel").await;
    let first = browser.attribute("#messages > [id]", "id").await;
    scene.open(&format!("/board/lobby?before={}", first.trim_start_matches('m'))).await;
    look("no older messages").await;
    scene.open("/board").await;
    scene.open(&browser.attribute("#messages a[aria-label]", "href").await).await;
    browser.wait_for_text("Message by").await;
    look("a message").await;
    browser.is_refused(&[("body", " ")], "Save", "body").await;
    look("a message, wrong").await;
    moderate(scene, look).await;
    for (path, name) in [
        ("/board/lobby", "the lobby"),
        ("/board/lobby/search", "search in a channel"),
        ("/board/lobby/search?q=nothing", "search in a channel, nothing found"),
        ("/board/lobby/search?q=b", "search in a channel, found"),
        ("/board/lobby/search?q=%21", "search in a channel, wrong"),
        ("/board/-/channels?channel=lobby", "channels"),
        ("/board/-/reports", "no reports"),
        ("/board/-/bans", "bans"),
    ] {
        scene.open(path).await;
        look(name).await;
    }
    browser.is_refused(&[("username", "unknown")], "Ban", "username").await;
    look("bans, wrong").await;
}

/// Reports and hides a message of another member, and bans its author.
async fn moderate(scene: &Scene, look: &mut impl AsyncFnMut(&str)) {
    let browser = &scene.browser;
    scene.open("/board/-/hidden").await;
    look("no hidden messages").await;
    scene.open("/board/-/bans").await;
    look("no bans").await;
    ApiMember::start(&scene.server, "eve").write("nonsense");
    scene.open("/board").await;
    scene.open(&browser.attribute("#messages [data-by=eve] a[aria-label]", "href").await).await;
    look("a message of another member").await;
    browser.fill("reason", &"x".repeat(200)).await;
    browser.press_and_wait("Report", "Thank you.").await;
    scene.open("/board/-/reports").await;
    look("reports").await;
    browser.press_and_wait("Hide message", "Done.").await;
    scene.open("/board/-/hidden").await;
    look("hidden messages").await;
    scene.open("/board/-/bans").await;
    browser.fill("username", "eve").await;
    browser.press_and_wait("Ban", "Done.").await;
}

async fn rides(scene: &Scene, look: &mut impl AsyncFnMut(&str)) {
    let browser = &scene.browser;
    scene.open("/rides").await;
    look("an empty mountain").await;
    for day in 1..=150 {
        scene.server.ride([1 + day % 10, 2025, day, 99_999], 500 + day, 40);
    }
    for skier in 1..=40 {
        scene.server.ride([4, 2025, 150, skier], 480 + skier, skier);
    }
    for (path, name) in [
        ("/rides", "the mountain"),
        ("/rides?season=2025&day=3", "the mountain on another day"),
        ("/rides/resorts/4?season=2025&day=150", "a resort"),
        ("/rides/resorts/4?season=2025&day=1", "a resort without rides"),
        ("/rides/resorts/5?season=2025&day=144", "a resort whose lifts have names"),
        ("/rides/leaderboard", "leaders"),
        ("/rides/leaderboard?resort=4&season=2025&day=150", "leaders of a day"),
        ("/rides/leaderboard?season=x&day=x", "leaders, wrong"),
        ("/rides/skiers/99999", "a skier"),
        ("/rides/skiers/100000", "a skier who did not ride"),
        ("/rides/skiers?skier=x", "find a skier, wrong"),
    ] {
        scene.open(path).await;
        look(name).await;
    }
    browser.one("#skier-error").await;
}
