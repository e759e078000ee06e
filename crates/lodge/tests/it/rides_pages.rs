//! The pages of lift rides.

use crate::{Lodge, Response, Server, between, text};

/// A server with rides in two seasons, of two skiers at two resorts.
fn ridden() -> (Lodge, Server) {
    let (lodge, server) = Lodge::new().started();
    for (on, time, lift) in [
        ([1, 2024, 9, 7], 500, 1),
        ([1, 2025, 2, 7], 500, 20),
        ([1, 2025, 3, 7], 500, 30),
        ([1, 2025, 3, 7], 501, 30),
        ([1, 2025, 3, 8], 700, 40),
        ([2, 2025, 3, 7], 800, 5),
    ] {
        server.ride(on, time, lift);
    }
    (lodge, server)
}

fn page(server: &Server, path: &str) -> String {
    asked(server, path).expect(200).text()
}

fn asked(server: &Server, path: &str) -> Response {
    let answer = server.ask("GET", path).browser().send();
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
    answer
}

/// Returns what follows the header, in which "Sign in" leads back to the page's own path.
fn content(page: &str) -> &str {
    page.split_once("</header>").unwrap().1
}

/// Asserts that two pages have the same content.
fn same(one: &str, other: &str, why: &str) {
    assert_eq!(content(one), content(other), "{why}");
}

fn has(page: &str, parts: &[&str]) {
    for part in parts {
        assert!(page.contains(part), "no {part} in {page}");
    }
}

/// Returns the command on the page.
fn example(page: &str) -> String {
    between(page, "aria-label=\"Command\"><code>", "</code>")
        .unwrap()
        .replace("&#39;", "'")
        .replace("&#34;", "\"")
}

/// Sends the request of the command.
fn run(server: &Server, example: &str) {
    let (command, body) = example.strip_suffix('\'').unwrap().split_once(" -d '").unwrap();
    let mut parts = command.split(" -H '");
    let url = parts.next().unwrap().strip_prefix("curl ").unwrap();
    let path = url.strip_prefix(&format!("http://{}", server.address)).unwrap();
    let mut ask = server.post(path).body(body);
    for header in parts {
        let (name, value) = header.strip_suffix('\'').unwrap().split_once(": ").unwrap();
        ask = ask.header(name, value);
    }
    ask.expect(201);
}

#[test]
fn the_example_works_with_a_key_where_keys_are_required() {
    let (lodge, server) = Lodge::new()
        .with("LODGE_APPS", "rides")
        .with("LODGE_RIDES_KEYS_REQUIRED", "true")
        .started();
    let empty = page(&server, "/rides");
    has(&empty, &["<code>lodge admin gate create NAME</code>"]);
    let key = lodge.gate("north", &[]);
    run(&server, &example(&empty).replace("Bearer KEY", &format!("Bearer {key}")));
    has(&page(&server, "/rides"), &["All resorts on day 1"]);
}

#[test]
fn the_example_on_an_empty_page_runs_as_copied() {
    let server = Lodge::new().with("LODGE_APPS", "rides").start();
    let empty = page(&server, "/");
    has(&empty, &["No rides yet."]);
    assert!(!empty.contains("Bearer"), "no key is needed: {empty}");
    run(&server, &example(&empty));
    has(
        &page(&server, "/rides"),
        &["All resorts on day 1", ", latest day", "<strong data-count=\"rides\">1<"],
    );
}

#[test]
fn the_overview_shows_the_newest_or_a_chosen_day() {
    let (_lodge, server) = ridden();
    let newest = page(&server, "/rides");
    has(
        &newest,
        &[
            "Season 2025, latest day",
            "<h1>All resorts on day 3</h1>",
            "<strong data-count=\"rides\">4</strong>",
            "<strong data-count=\"skiers\">3</strong>",
            "href=\"/rides/resorts/1?season=2025&amp;day=3\">Mission Ridge</a></th><td data-count=\"rides\">3<",
            "data-count=\"vertical\">1,000<",
            "<dd class=\"soft\">Season: 5</dd>",
            "<dd class=\"soft\">Season: 1,250\u{a0}m</dd>",
            "Rides by day in season 2025</h2>",
            "5 rides; most on day 3: 4.",
            "<summary>8 resorts without rides</summary>",
            "Lift 30",
            "href=\"/rides?season=2025&amp;day=2\" rel=\"prev\"",
        ],
    );
    assert!(!newest.contains("rel=\"next\""));
    same(&page(&server, "/rides?season=2025&day=3"), &newest, "the newest day");
    same(&page(&server, "/rides?season=&day="), &newest, "an empty field is ignored");
    let older = page(&server, "/rides?season=2025&day=2");
    has(&older, &["Season 2025 · ", "All resorts on day 2", "rel=\"next\""]);
    assert!(!older.contains("rides.js") && !older.contains("rel=\"prev\""));
    let last = page(&server, "/rides?season=2024");
    has(&last, &["Season 2024 · <a href=\"/rides\">Latest day</a></p>", "on day 9"]);
    let seasons = |page, shown: u16, other: u16| {
        let shown = format!("href=\"?season={shown}\" aria-current=\"page\">{shown}</a>");
        has(page, &[&shown, &format!("href=\"?season={other}\">{other}</a>")]);
    };
    seasons(&newest, 2025, 2024);
    seasons(&older, 2025, 2024);
    seasons(&last, 2024, 2025);
    has(&older, &["href=\"?season=2025&amp;day=2\" aria-current=\"page\">2</a>", "day=3\">3</a>"]);
    has(&page(&server, "/rides?day=77"), &["on day 77", "No rides on this day."]);
}

#[test]
fn a_resorts_day_is_shown_as_charts_and_tables() {
    let (_lodge, server) = ridden();
    let day = page(&server, "/rides/resorts/1?season=2025&day=3");
    has(
        &day,
        &[
            "<h1>Mission Ridge</h1>",
            "3 rides; most in the hour from 08:00: 2.",
            "<th scope=\"row\">08:00</th><td>2</td>",
            "3 rides; most by Lift 30: 2.",
            "<th scope=\"row\">Lift 40</th><td>1</td>",
            "href=\"/rides/skiers/7?season=2025\">Skier 7</a></th><td>600</td>",
            "href=\"?season=2025&amp;day=2\">2</a>",
        ],
    );
    same(&page(&server, "/rides/resorts/1"), &day, "the resort's newest day");
    has(&page(&server, "/rides/resorts/1?season=2024"), &["Season 2024, day 9"]);
    has(&page(&server, "/rides/resorts/1?season=2023"), &["No rides here in this season."]);
    has(&page(&server, "/rides/resorts/3"), &["<h1>Stevens Pass</h1>", "No rides here yet."]);
}

#[test]
fn verticals_are_shown_in_the_unit_of_the_lift_tables() {
    let (_lodge, server) = Lodge::new().with("LODGE_RIDES_VERTICAL_UNIT", "ft").started();
    server.ride([1, 2025, 3, 7], 500, 30);
    for path in ["/rides", "/rides/resorts/1", "/rides/leaderboard", "/rides/skiers/7"] {
        has(&page(&server, path), &["Vertical (ft)</th>"]);
    }
    assert_eq!(server.get("/api/rides/resorts").json()["vertical_unit"], "ft");
}

#[test]
fn the_leaderboard_is_chosen_with_a_form() {
    let (_lodge, server) = ridden();
    let season = page(&server, "/rides/leaderboard?resort=1&season=2025&day=");
    has(
        &season,
        &[
            "Mission Ridge, season 2025</h2>",
            ">Skier 7</a></th><td>800</td>",
            ">Skier 8</a></th><td>400</td>",
            "Vertical (m)</th>",
        ],
    );
    same(&page(&server, "/rides/leaderboard"), &season, "the default is the newest season");
    let day = page(&server, "/rides/leaderboard?resort=1&season=2025&day=3");
    has(&day, &["season 2025, day 3</h2>", ">Skier 7</a></th><td>600</td>"]);
    has(&page(&server, "/rides/leaderboard?resort=3"), &["No rides at this resort yet."]);
}

#[test]
fn a_skier_is_found_by_number() {
    let (_lodge, server) = ridden();
    server.ask("GET", "/rides/skiers?skier=+7+").browser().send().leads_to(303, "/rides/skiers/7");
    let newest = page(&server, "/rides/skiers/7");
    has(
        &newest,
        &[
            "<h1>Skier 7</h1>",
            "<dt>Vertical</dt><dd><strong>850\u{a0}m</strong></dd>",
            "<dt>Rides</dt><dd><strong>4</strong></dd>",
            "<dt>Days</dt><dd><strong>2</strong></dd>",
            "850\u{a0}m; most on day 3: 650\u{a0}m.",
            "<strong>1</strong> at <a href=\"/rides/leaderboard?resort=1&amp;season=2025\">Mission Ridge</a>",
            "<strong>1</strong> at <a href=\"/rides/leaderboard?resort=2&amp;season=2025\">",
            "href=\"/rides/resorts/2?season=2025&amp;day=3\"",
            "href=\"?season=2024\">2024</a>",
            "href=\"?season=2025\" aria-current=\"page\">2025</a>",
        ],
    );
    has(&page(&server, "/rides/skiers/7?season=2024"), &["<dd><strong>10\u{a0}m</strong></dd>"]);
    let second = "<strong>2</strong> at <a href=\"/rides/leaderboard?resort=1&amp;season=2025\">";
    has(&page(&server, "/rides/skiers/8"), &[second]);
    has(&page(&server, "/rides/skiers/8?season=2024"), &["no rides in that season"]);
    has(&page(&server, "/rides/skiers/9"), &["has no rides yet"]);
    has(&page(&server, "/rides/skiers"), &["Find a skier"]);
}

#[test]
fn a_resort_that_is_no_longer_configured_is_shown_by_its_number() {
    let (lodge, server) = Lodge::new().with("LODGE_APPS", "rides").started();
    for resort in [1, 2] {
        server.ride([resort, 2025, 3, 7], 500, 10);
    }
    server.kill();
    let file = lodge.write("lodge.toml", "[rides]\nresorts = [{ id = 1, name = \"North\" }]\n");
    let server = lodge.with("LODGE_CONFIG", text(&file)).start();
    let link =
        "<th scope=\"row\"><a href=\"/rides/resorts/2?season=2025&amp;day=3\">Resort 2</a></th>";
    has(&page(&server, "/rides"), &[link, "Resort 2</span>"]);
    has(&page(&server, "/rides"), &["<strong data-count=\"rides\">2<", ">North</a>"]);
    has(&page(&server, "/rides/skiers/7"), &[link, ">North</a>"]);
    let gone = page(&server, "/rides/resorts/2");
    has(&gone, &["<h1>Resort 2</h1>", "1 ride; most by Lift 10: 1."]);
    assert!(!gone.contains("/rides/leaderboard"), "no link to its leaderboard: {gone}");
    assert_eq!(asked(&server, "/rides/resorts/3").status, 404, "a resort without rides");
}

#[test]
fn pages_of_skiers_are_not_indexed_by_search_engines() {
    let (_lodge, server) = ridden();
    let robots = "<meta name=\"robots\" content=\"noindex\">";
    has(&page(&server, "/rides/skiers/7"), &[robots]);
    assert!(!page(&server, "/rides").contains(robots));
}

#[test]
fn an_invalid_page_says_why() {
    let (_lodge, server) = ridden();
    for (path, status, said) in [
        ("/rides?season=x", 400, "Season: must be a whole number from 1 to 9999."),
        ("/rides?day=367", 400, "Day: must be a whole number from 1 to 366."),
        ("/rides?season=1999", 404, "There are no rides in this season."),
        ("/rides/resorts/99", 404, "There is no such resort."),
        ("/rides/resorts/x", 404, "There is no such resort."),
        ("/rides/resorts/1?day=0", 400, "Day: must be a whole number from 1 to 366."),
        ("/rides/leaderboard?resort=99", 400, "The resort must be a whole number from 1 to 10."),
        ("/rides/leaderboard?season=-1", 400, "The season must be a whole number from 1 to 9999."),
        ("/rides/leaderboard?day=x", 400, "The day must be a whole number from 1 to 366."),
        ("/rides/skiers?skier=0", 400, "number must be a whole number from 1 to 100000."),
        ("/rides/skiers/0", 404, "There is no skier with this number."),
        ("/rides/skiers/7?season=x", 400, "Season: must be a whole number from 1 to 9999."),
        ("/rides/nothing", 404, "There is no page or route at this address."),
        ("/rides/resorts/%FF", 404, "There is no page or route at this address."),
    ] {
        let answer = asked(&server, path).expect(status);
        has(&answer.text(), &[said]);
    }
}
