//! The board's pages: they work with forms only, and never show a member hidden or deleted text.

use serde_json::{Value, json};

use crate::{Lodge, Response, Server, between, board::lodge, each, eventually_true};

/// The size limits of a page with its assets, and of one live message.
const PAGE_BYTES_MAX: usize = 60_000;
const MESSAGE_BYTES_MAX: usize = 1_024;

fn shown(server: &Server, token: &str, path: &str) -> String {
    server.on_page(token, "GET", path).expect(200).text()
}

fn send(server: &Server, token: &str, path: &str, form: &[(&str, &str)]) -> Response {
    let form = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    server.on_page(token, "POST", path).form(&form).send()
}

fn client_id(page: &str) -> &str {
    between(page, "name=\"client_id\" value=\"", "\"").unwrap()
}

/// Returns the text of each message on a page.
fn said(page: &str) -> Vec<&str> {
    let list = between(page, "<ol id=\"messages\"", "</ol>\n").unwrap();
    let bodies = list.split("dir=\"auto\"><p>").skip(1);
    bodies.map(|rest| rest.split_once("</p></div>").unwrap().0).collect()
}

#[test]
fn a_form_sent_twice_posts_one_message() {
    let (server, [ada]) = lodge().start_with(["ada"]);
    let page = shown(&server, &ada, "/board");
    let id = client_id(&page);
    let form = [("client_id", id), ("body", "Fresh\r\nsnow!")];
    let posted = || send(&server, &ada, "/board/lobby", &form).expect(303);
    let (first, again) = (posted(), posted());
    assert_eq!(first.location(), again.location());
    let page = shown(&server, &ada, "/board/lobby");
    let (_, anchor) = first.location().unwrap().split_once("/board/lobby#").unwrap();
    assert!(page.contains(&format!(r#"id="{anchor}""#)), "the message is brought into view");
    assert_eq!(said(&page), ["Fresh<br>snow!"]);
    assert_ne!(client_id(&page), id, "each rendering of the form has a new client id");

    let other = send(&server, &ada, "/board/lobby", &[("client_id", id), ("body", "Ice")]);
    let page = other.expect(422).text();
    assert!(
        page.contains(">Ice</textarea>")
            && page.contains("This form has already sent another message")
    );
    assert_ne!(client_id(&page), id, "the form now has a new client id");

    let program = |body: &str| {
        let ask = server.post("/board/lobby").header("Accept", "application/json");
        ask.session(&ada).form(body).send()
    };
    let (first, again) = (program("client_id=x&body=a"), program("client_id=x&body=a"));
    assert_eq!((first.status, again.status), (201, 200));
    assert_eq!(first.json(), again.json());
    program("client_id=y&body=").expect_field_error(400, "body");
}

#[test]
fn a_message_is_not_posted_under_another_account() {
    let (server, [ada, bob]) = lodge().start_with(["ada", "bob"]);
    let letter = |token: &str| {
        let ask = server.post("/board/lobby").header("Accept", "application/json").session(token);
        ask.form("client_id=x&body=mine&author=ada").send().status
    };
    assert_eq!(letter(&bob), 401);
    assert_eq!(said(&shown(&server, &bob, "/board")), Vec::<&str>::new());
    assert_eq!(letter(&ada), 201);
}

#[test]
fn an_invalid_message_is_shown_again_with_the_error() {
    let (server, [ada]) = lodge().start_with(["ada"]);
    let long = "ä".repeat(2_001);
    for (typed, why) in [
        (" ", "The message is empty."),
        (&long, "The message must be at most 2000 characters, not 2001."),
        ("a\u{1b}b", "The message must not contain control characters."),
    ] {
        let answer = send(&server, &ada, "/board/lobby", &[("client_id", "one"), ("body", typed)]);
        let page = answer.expect(400).text();
        assert!(page.contains("id=\"body-error\"") && page.contains(why), "{page}");
        assert!(page.contains(&format!(">{typed}</textarea>")), "{page}");
        assert_eq!(client_id(&page), "one", "a corrected message keeps its client id");
    }
}

#[test]
fn older_messages_are_reachable_by_links() {
    let (server, [ada]) = lodge().start_with(["ada"]);
    let bodies: Vec<_> = (0..130).map(|number| format!("number {number}")).collect();
    for body in &bodies {
        server.posted(&ada, &body.replace(' ', "-"), body);
    }
    let (mut path, mut found) = ("/board/lobby".to_owned(), Vec::new());
    loop {
        let page = shown(&server, &ada, &path);
        let texts = said(&page).into_iter().map(str::to_owned);
        found.splice(0..0, texts);
        let Some(older) = between(&page, "href=\"/board/lobby?before=", "\" rel=\"prev\"") else {
            break;
        };
        path = format!("/board/lobby?before={older}");
    }
    assert_eq!(found, bodies);
}

#[test]
fn a_search_result_leads_to_its_message_among_older_and_newer_ones() {
    let (server, [ada]) = lodge().start_with(["ada"]);
    let bodies: Vec<_> = (0..130).map(|number| format!("number {number}")).collect();
    for body in &bodies {
        server.posted(&ada, &body.replace(' ', "-"), body);
    }
    let results = shown(&server, &ada, "/board/lobby/search?q=60");
    let link = between(&results, "<a href=\"/board/lobby?around=", "\">Show in #lobby").unwrap();
    let (id, anchor) = link.split_once('#').unwrap();
    let place = shown(&server, &ada, &format!("/board/lobby?around={id}"));
    assert!(place.contains(&format!("<li id=\"{anchor}\"")), "{anchor}: {place}");
    assert_eq!(said(&place), bodies[35..85]);
    assert!(place.contains(">Newest</a>") && place.contains(" rel=\"prev\""), "{place}");

    let mut page = place;
    let mut found = Vec::new();
    while let Some(newer) = between(&page, "href=\"/board/lobby?after=", "#messages\" rel=\"next\"")
    {
        page = shown(&server, &ada, &format!("/board/lobby?after={newer}"));
        found.extend(said(&page).into_iter().map(str::to_owned));
    }
    assert_eq!(found, bodies[85..]);
    assert!(page.contains("src=\"/assets/board.js?"), "the newest page is live");
    let last = page.rsplit_once("<li id=\"m").unwrap().1.split_once('"').unwrap().0;
    let after = server.on_page(&ada, "GET", &format!("/board/lobby?after={last}"));
    after.send().leads_to(303, "/board/lobby");
    server.on_page(&ada, "GET", "/board/lobby?around=7:42").expect(404);
    server.on_page(&ada, "GET", "/board/lobby?around=x").expect(400);
}

#[test]
fn only_names_of_members_are_completed_and_marked() {
    let (server, [ada, bob]) = lodge().start_with(["ada", "bob"]);
    shown(&server, &bob, "/board");
    server.posted(&ada, "one", "@bob, @Bob and @unknown");
    let page = shown(&server, &ada, "/board");
    assert_eq!(
        said(&page),
        ["<span class=\"mention\">@bob</span>, <span class=\"mention\">@Bob</span> and @unknown"]
    );
    let names = |typed: &str| {
        let path = format!("/board/-/names?q={typed}");
        each(&server.on_page(&ada, "GET", &path).expect(200).json()["people"], "username")
    };
    assert_eq!(names("B"), [json!("bob")]);
    for typed in ["", "x", "b%25", &"b".repeat(200)] {
        assert!(names(typed).is_empty(), "{typed}");
    }
    server.on_page(&ada, "GET", "/board/-/names").expect(400);
}

#[test]
fn hidden_and_deleted_text_is_on_no_page_of_a_member() {
    let (server, [ada, bob]) = lodge().start_with(["ada", "bob"]);
    let cleo = server.moderator("cleo");
    let cursor =
        between(&shown(&server, &bob, "/board"), "data-cursor=\"", "\"").unwrap().to_owned();
    let hidden = server.posted(&ada, "one", "a secret word");
    let deleted = server.posted(&ada, "two", "a secret deed");
    let answers = |id: &str, client_id: &str| {
        let action = json!({ "client_id": client_id, "body": "indeed", "reply_to": id });
        let answer = server.board(&bob, "POST", "/lobby/messages").json(&action).send();
        answer.json()["id"].as_str().unwrap().to_owned()
    };
    let (to_hidden, to_deleted) = (answers(&hidden, "one"), answers(&deleted, "two"));
    let edit = [("action", "edit"), ("body", "a secret sentence")];
    assert_eq!(send(&server, &ada, &format!("/board/lobby/m/{hidden}"), &edit).status, 303);
    let report = [("action", "report"), ("reason", "it is a secret")];
    assert_eq!(send(&server, &bob, &format!("/board/lobby/m/{hidden}"), &report).status, 303);
    assert!(shown(&server, &bob, "/board").contains("secret"), "readable until it is hidden");

    let one = "Reports</a> <span class=\"unread\" title=\"open reports\">1</span>";
    assert!(shown(&server, &cleo, "/board").contains(one), "staff are told that there is one");
    let reports = shown(&server, &cleo, "/board/-/reports");
    let number = between(&reports, "name=\"report\" value=\"", "\"").unwrap();
    let settle =
        [("report", number), ("channel", "lobby"), ("message", &*hidden), ("action", "hide")];
    assert_eq!(send(&server, &cleo, "/board/-/reports", &settle).status, 303);
    let delete = [("action", "delete")];
    assert_eq!(send(&server, &ada, &format!("/board/lobby/m/{deleted}"), &delete).status, 303);

    let since = format!("/board/lobby/since?after={cursor}");
    for path in [
        "/board",
        &format!("/board/lobby?before={to_deleted}"),
        &format!("/board/lobby?around={hidden}"),
        &format!("/board/lobby?reply={hidden}"),
        &format!("/board/lobby/m/{hidden}"),
        &format!("/board/lobby/m/{deleted}"),
        &format!("/board/lobby/m/{to_hidden}"),
        "/board/lobby/search?q=secr",
        "/board/lobby/search?q=indeed",
        &since,
    ] {
        for token in [&ada, &bob] {
            let page =
                shown(&server, token, path).replace("q=secr", "").replace("value=\"secr\"", "");
            assert!(!page.contains("secret"), "{path}: {page}");
        }
    }
    let page = shown(&server, &cleo, &format!("/board/lobby/m/{hidden}"));
    assert!(page.contains("a secret sentence") && page.contains("value=\"show\""), "{page}");
    let page = shown(&server, &cleo, &format!("/board/lobby/m/{deleted}"));
    assert!(!page.contains("secret"), "a deleted message is gone for staff too: {page}");
    assert!(shown(&server, &cleo, "/board/-/reports").contains("No open reports."));
    assert!(!shown(&server, &cleo, "/board").contains("open reports"));
}

#[test]
fn members_cannot_change_messages_of_others_by_forms() {
    let (server, [ada, bob]) = lodge().start_with(["ada", "bob"]);
    let path = format!("/board/lobby/m/{}", server.posted(&ada, "one", "mine"));
    let page = shown(&server, &bob, &path);
    for action in ["edit", "delete", "hide"] {
        assert!(!page.contains(&format!("value=\"{action}\"")), "{action}: {page}");
        send(&server, &bob, &path, &[("action", action), ("body", "yours")]).expect(403);
    }
    for path in ["/board/-/reports", "/board/-/bans"] {
        server.on_page(&bob, "GET", path).expect(403);
    }
    let channel = [("channel", "lift-7"), ("topic", ""), ("slow_mode_s", "")];
    assert_eq!(send(&server, &bob, "/board/-/channels", &channel).status, 403);
    assert_eq!(said(&shown(&server, &ada, "/board")), ["mine"]);
}

#[test]
fn messages_are_edited_and_reacted_to_by_forms() {
    let (server, [ada, bob]) = lodge().start_with(["ada", "bob"]);
    let path = format!("/board/lobby/m/{}", server.posted(&ada, "one", "Snow"));
    let signs = |token: &str, sign: (&str, &str)| {
        assert_eq!(send(&server, token, &path, &[sign]).status, 303);
        let page = shown(&server, token, "/board");
        between(&page, "<form class=\"signs\"", "</form>")
            .map(|signs| signs.split_once('>').unwrap().1.to_owned())
    };
    let button = |name: &str, count: u32| {
        let is_mine = name == "unreact";
        format!(
            "<button name=\"{name}\" value=\"👍\" aria-pressed=\"{is_mine}\">👍 {count}</button>"
        )
    };
    assert_eq!(signs(&bob, ("react", "👍")), Some(button("unreact", 1)));
    assert_eq!(signs(&bob, ("react", "👍")), Some(button("unreact", 1)), "once is enough");
    assert_eq!(signs(&ada, ("react", "👍")), Some(button("unreact", 2)));
    assert_eq!(signs(&bob, ("unreact", "👍")), Some(button("react", 1)));

    send(&server, &ada, &path, &[("action", "edit"), ("body", " ")])
        .expect(400)
        .says("The message is empty.");
    let edit = [("action", "edit"), ("body", "Powder")];
    send(&server, &ada, &path, &edit).leads_to(303, &format!("{path}?saved"));
    let page = shown(&server, &bob, &path);
    for part in ["Powder", "edited", "<p>Snow</p>"] {
        assert!(page.contains(part), "no {part} in {page}");
    }
    let answering =
        shown(&server, &bob, &format!("/board/lobby?reply={}", path.rsplit('/').next().unwrap()));
    assert!(answering.contains("Replying to <bdi>ada</bdi>: Powder"), "{answering}");
}

#[test]
fn staff_create_channels_and_ban_by_forms() {
    let (server, [bob]) = lodge().start_with(["bob"]);
    let cleo = server.moderator("cleo");
    let save = |name: &str, slow: &str| {
        let form = [("channel", name), ("topic", "About <it>"), ("slow_mode_s", slow)];
        send(&server, &cleo, "/board/-/channels", &form)
    };
    assert!(save("no name", "").text().contains("id=\"channel-error\""));
    assert!(save("lift-7", "soon").text().contains("id=\"slow_mode_s-error\""));
    server.on_page(&cleo, "GET", "/board/lift-7").expect(404);
    assert_eq!(save("lift-7", "600").status, 303);
    let page = shown(&server, &bob, "/board/lift-7");
    assert!(
        page.contains("About &#60;it&#62;") && page.contains("one message every 600 s"),
        "{page}"
    );
    let write = |id| send(&server, &bob, "/board/lift-7", &[("client_id", id), ("body", "a")]);
    assert_eq!(write("one").status, 303);
    let late = write("two").expect(429);
    assert!(late.header("retry-after").is_some() && late.text().contains(">a</textarea>"));
    let why = late.text();
    let seconds = between(&why, "This channel is in slow mode; you can post again in ", " s.");
    assert!(seconds.unwrap().parse::<u32>().unwrap() <= 600, "{why}");

    let ban =
        |action| send(&server, &cleo, "/board/-/bans", &[("username", "bob"), ("action", action)]);
    assert_eq!(ban("ban").status, 303);
    assert!(shown(&server, &cleo, "/board/-/bans").contains(">Unban<"));
    for path in ["/board", "/board/lift-7", "/board/-/channels", "/board/lobby/since?after="] {
        server.on_page(&bob, "GET", path).expect(403);
    }
    write("three").expect(403).says("You are banned from this board");
    assert_eq!(ban("unban").status, 303);
    server.on_page(&bob, "GET", "/board").expect(200);
    let unknown = [("username", "stranger"), ("action", "ban")];
    send(&server, &cleo, "/board/-/bans", &unknown).says("id=\"username-error\"");
}

#[test]
fn visitors_are_redirected_to_sign_in() {
    let server = lodge().start();
    for path in ["/board/lobby", "/board/lobby/search", "/board/-/channels", "/board/lobby/m/7:1"] {
        server.ask("GET", path).browser().send().leads_to(303, &format!("/login?next={path}"));
    }
    let search = server.ask("GET", "/board/lobby/search?q=fresh+snow").browser().send();
    search.leads_to(303, "/login?next=/board/lobby/search%3Fq%3Dfresh%2520snow");
    server.get_each(401, &["/board/lobby/live", "/board/lobby/since", "/board/-/names?q=a"]);
}

#[test]
fn the_board_alone_is_the_start_page() {
    let start = |lodge: Lodge| {
        let (server, [ada]) = lodge.start_with(["ada"]);
        server.on_page(&ada, "GET", "/").send().text()
    };
    let board = start(lodge().with("LODGE_APPS", "board"));
    assert!(board.contains("<h1>#lobby</h1>"), "{board}");
    assert!(!board.contains("href=\"/new\"") && !board.contains("href=\"/rides\""), "{board}");
    let all = start(lodge());
    assert!(!all.contains("<h1>#lobby</h1>") && all.contains("href=\"/board\""), "{all}");
}

#[test]
fn a_board_page_and_its_live_messages_are_small() {
    let (server, [ada]) = lodge().start_with(["ada"]);
    let text = "It is as long as what most people write, or somewhat longer. ".repeat(5);
    let text = text.get(..300).unwrap();
    for number in 0..60 {
        server.posted(&ada, &format!("n-{number}"), text.get(..100).unwrap());
    }
    let page = shown(&server, &ada, "/board");
    assert_eq!(said(&page).len(), 50);
    let assets: Vec<_> =
        page.split("\"/assets/").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(assets.iter().any(|name| name.starts_with("board.js")), "{assets:?}");
    let bytes = |name: &&str| {
        let ask = server.ask("GET", &format!("/assets/{name}"));
        ask.header("Accept-Encoding", "gzip, deflate, br, zstd").send().body.len()
    };
    let weight = page.len() + assets.iter().map(bytes).sum::<usize>();
    assert!(weight < PAGE_BYTES_MAX, "{weight} bytes, {} of them HTML", page.len());

    let cursor = between(&page, "data-cursor=\"", "\"").unwrap();
    server.posted(&ada, "last", text);
    let path = format!("/board/lobby/live?after={cursor}");
    let mut wire = server.send_raw(&server.on_page(&ada, "GET", &path).bytes());
    assert_eq!(wire.read_head().unwrap().status, 200);
    let mut told = String::new();
    let frame = loop {
        told.push_str(std::str::from_utf8(&wire.read_chunk().unwrap()).unwrap());
        let whole = told.rsplit_once("\n\n").map_or("", |(whole, _)| whole);
        if let Some(frame) = whole.split("\n\n").find(|frame| frame.starts_with("id: ")) {
            break frame.to_owned();
        }
    };
    let json: Value = serde_json::from_str(frame.split_once("data: ").unwrap().1).unwrap();
    assert!(json["html"].as_str().unwrap().contains(text.trim_end()), "{json}");
    assert!(frame.len() < MESSAGE_BYTES_MAX, "{} bytes: {frame}", frame.len());
}

#[test]
fn members_with_the_same_nickname_are_told_apart() {
    let (server, [ada, bob]) = lodge().start_with(["ada", "bob"]);
    let cleo = server.moderator("cleo");
    let rename = [("nickname", "cleo"), ("email", "")];
    assert_eq!(send(&server, &bob, "/account", &rename).status, 303);
    server.posted(&bob, "one", "I keep order");
    server.posted(&cleo, "one", "So do I");
    for path in ["/board", "/board/lobby/search?q=order"] {
        let page = shown(&server, &ada, path);
        let names = "<bdi>cleo</bdi> <span class=\"handle\">@bob</span></span>";
        assert!(page.contains(names), "{path}: {page}");
    }
    let page = shown(&server, &ada, "/board");
    assert!(page.contains("<bdi>cleo</bdi> <span class=\"mark\">MOD</span></span>"), "{page}");
    let messages = server.read_board(&ada, "/lobby/messages");
    let role = |place: usize| messages["messages"][place]["author"]["role"].clone();
    assert_eq!((role(0), role(1)), (Value::Null, json!("moderator")));
    shown(&server, &cleo, "/board");
    let people = server.read_board(&ada, "/lobby/people");
    assert!(each(&people["people"], "role").contains(&json!("moderator")), "{people}");

    server.lodge.admin(&["user", "role", "cleo", "member"]);
    eventually_true("the former role is not shown", || {
        // Presence shows the role of the last request.
        shown(&server, &cleo, "/board");
        !shown(&server, &ada, "/board").contains("class=\"mark\"")
    });
}

#[test]
fn a_quote_shows_the_username_of_an_author_with_another_nickname() {
    let (server, [ada, bob]) = lodge().start_with(["ada", "bob"]);
    let rename = [("nickname", "ada"), ("email", "")];
    assert_eq!(send(&server, &bob, "/account", &rename).status, 303);
    let order = server.posted(&bob, "one", "I keep order");
    let answer = [("client_id", "two"), ("body", "You?"), ("reply_to", &*order)];
    send(&server, &ada, "/board/lobby", &answer).expect(303);
    let page = shown(&server, &ada, "/board");
    let quote = "<bdi>ada</bdi> <span class=\"handle\">@bob</span> I keep order</a>";
    assert!(page.contains(quote), "{page}");
    let messages = server.read_board(&ada, "/lobby/messages");
    assert_eq!(messages["messages"][1]["reply_to"]["username"], "bob");
}

#[test]
fn an_archived_channel_is_read_only() {
    let (server, [bob]) = lodge().start_with(["bob"]);
    let cleo = server.moderator("cleo");
    let save = |name: &str, topic: &str, archived: &str| {
        let changes = if archived.is_empty() { "" } else { "yes" };
        let form =
            [("channel", name), ("topic", topic), ("archived", archived), ("changes", changes)];
        send(&server, &cleo, "/board/-/channels", &form)
    };
    assert_eq!(save("season-24", "Snow", "").status, 303);
    let message = json!({ "client_id": "one", "body": "the last word" });
    let posted = server.board(&bob, "POST", "/season-24/messages").json(&message).send();
    let path = format!("/board/season-24/m/{}", posted.json()["id"].as_str().unwrap());
    assert_eq!(send(&server, &bob, &path, &[("react", "👍")]).status, 303);
    assert_eq!(save("season-24", "Over", "yes").status, 303);
    let again = save("season-24", "Another", "");
    assert!(again.status == 400 && again.text().contains("id=\"channel-error\""), "{again:?}");

    let page = shown(&server, &bob, "/board/season-24");
    assert!(page.contains("the last word") && page.contains("This channel is archived."), "{page}");
    assert!(page.contains("Over") && !page.contains("<textarea"), "{page}");
    for path in ["/board/season-24", &path] {
        let page = shown(&server, &bob, path);
        assert!(page.contains(" disabled>👍 1</button>"), "{path}: {page}");
    }
    for path in ["/board", "/board/-/channels"] {
        let page = shown(&server, &cleo, path);
        let listed = page.split("<summary>Archived</summary>").next().unwrap();
        assert!(!listed.contains("season-24"), "{path}: {page}");
    }
    let another = json!({ "client_id": "two", "body": "and another" });
    for token in [&bob, &cleo] {
        server.board(token, "POST", "/season-24/messages").json(&another).expect(403);
    }
    for form in [&[("react", "👍")][..], &[("action", "edit"), ("body", "the first word")]] {
        assert_eq!(send(&server, &bob, &path, form).status, 403, "{form:?}");
    }
    assert_eq!(send(&server, &bob, &path, &[("action", "delete")]).status, 303, "the author's");
    assert!(save("lobby", "", "yes").text().contains("id=\"archived-error\""));
    let list = server.read_board(&bob, "");
    assert_eq!(each(&list["channels"], "archived"), [Value::Null, json!(true)]);

    server.board(&cleo, "PATCH", "/season-24").json(json!({ "archived": false })).expect(200);
    server.board(&bob, "POST", "/season-24/messages").json(&another).expect(201);
}

#[test]
fn only_staff_see_hidden_messages() {
    let (server, [ada]) = lodge().start_with(["ada"]);
    let cleo = server.moderator("cleo");
    for number in 0..3 {
        let id = server.posted(&ada, &number.to_string(), &format!("secret {number}"));
        let path = format!("/board/lobby/m/{id}");
        assert_eq!(send(&server, &cleo, &path, &[("action", "hide")]).status, 303);
    }
    let page = shown(&server, &cleo, "/board/-/hidden");
    let place = |text: &str| page.find(text).unwrap();
    assert!(place("secret 2") < place("secret 1") && place("secret 1") < place("secret 0"));
    assert_eq!(server.read_board(&cleo, "/-/hidden")["messages"][0]["body"], "secret 2");
    let show = between(&page, "class=\"actions\" method=\"post\" action=\"", "\"").unwrap();
    assert_eq!(send(&server, &cleo, show, &[("action", "show")]).status, 303);
    assert!(!shown(&server, &cleo, "/board/-/hidden").contains("secret 2"));
    assert_eq!(said(&shown(&server, &ada, "/board")), ["secret 2"]);
    server.on_page(&ada, "GET", "/board/-/hidden").expect(403);
    server.board(&ada, "GET", "/-/hidden").expect(403);

    let key = server.lodge.admin(&["bot", "create", "weather"]).trim().to_owned();
    let id = server.posted(&key, "one", "Rain");
    let page = shown(&server, &cleo, &format!("/board/lobby/m/{id}"));
    assert!(page.contains("An admin revokes its key"), "{page}");
}

#[test]
fn new_messages_begin_at_a_mark_for_returning_members() {
    const MARK: &str = "<li class=\"since\">New messages</li>\n<li id=\"m";
    let (server, [ada, bob]) = lodge().start_with(["ada", "bob"]);
    server.posted(&ada, "one", "old");
    let first = shown(&server, &bob, "/board");
    assert!(!first.contains(MARK), "no mark on the first visit: {first}");
    server.posted(&bob, "one", "own");
    assert!(!shown(&server, &bob, "/board").contains(MARK), "own messages are not new");
    let id = server.posted(&ada, "two", "new");
    server.posted(&ada, "three", "newer");
    let page = shown(&server, &bob, "/board");
    assert_eq!(between(&page, MARK, "\""), Some(&*id), "{page}");
    assert!(!shown(&server, &bob, "/board").contains(MARK), "the message has been read");
}

#[test]
fn a_channel_that_a_member_never_opened_is_wholly_unread() {
    let (server, [bob]) = lodge().start_with(["bob"]);
    let cleo = server.moderator("cleo");
    let make = [("channel", "lift-7"), ("topic", ""), ("slow_mode_s", "")];
    assert_eq!(send(&server, &cleo, "/board/-/channels", &make).status, 303);
    for (client_id, body) in [("one", "hello @bob"), ("two", "and all")] {
        let message = json!({ "client_id": client_id, "body": body });
        server.board(&cleo, "POST", "/lift-7/messages").json(&message).expect(201);
    }
    let page = shown(&server, &bob, "/board");
    let link = between(&page, "<a href=\"/board/lift-7\">", "</a>").unwrap();
    assert!(link.contains("unread\">2</span>") && link.contains("mentions\">@1</span>"), "{link}");
    let unread = server.on_page(&bob, "GET", "/board/-/unread").send().json();
    let wanted = json!([{ "channel": "lift-7", "messages": 2, "mentions": 1 }]);
    assert_eq!(unread["channels"], wanted);
    shown(&server, &bob, "/board/lift-7");
    assert_eq!(server.on_page(&bob, "GET", "/board/-/unread").send().json()["channels"], json!([]));
}

#[test]
fn a_report_of_a_hidden_message_can_only_be_dismissed() {
    let (server, [ada, bob]) = lodge().start_with(["ada", "bob"]);
    let cleo = server.moderator("cleo");
    let id = server.posted(&ada, "one", "rude");
    let path = format!("/board/lobby/m/{id}");
    let offers_hiding = || shown(&server, &cleo, "/board/-/reports").contains("Hide message");
    send(&server, &bob, &path, &[("action", "report"), ("reason", "")]).expect(303);
    assert!(offers_hiding());
    send(&server, &cleo, &path, &[("action", "hide")]).expect(303);
    assert!(!offers_hiding() && shown(&server, &cleo, "/board/-/reports").contains("Dismiss"));
}
