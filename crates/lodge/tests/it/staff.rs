//! Administration of accounts by the operator.

use serde_json::json;

use crate::{Lodge, PASSWORD, Server, text};

/// Hashes of `PASSWORD`: bcrypt with cost 4, and argon2id with less memory than Lodge uses.
const HASHES: [&str; 2] = [
    "$2b$04$WYz4gw5Cos5hDj59hW0QkOJ0I99LIPD4sZUud5AAHqs0rbWaTeLBy",
    "$argon2id$v=19$m=1024,t=1,p=1$+jse8Is9D2/XkcEmJu52Jg$62Jd8W+SE6+SRY3+x9cs0suJdowo1mskTqiGqygl6Y0",
];

fn reset(server: &Server, username: &str, code: &str, new: &str) -> u16 {
    let request = json!({ "username": username, "code": code, "new": new });
    server.post("/api/password").json(&request).send().status
}

fn code(lodge: &Lodge, username: &str) -> String {
    lodge.admin(&["user", "reset", username]).trim().to_owned()
}

#[test]
fn a_ban_ends_sessions_at_once_and_is_shown_only_with_the_right_password() {
    let (server, [token]) = Lodge::new().start_with(["ada"]);
    server.lodge.admin(&["user", "ban", "Ada"]);
    assert!(!server.is_signed_in(&token));
    assert_eq!(server.sign_in("ada", "a guess").status, 401);
    assert_eq!(server.sign_in("ada", PASSWORD).status, 403);
    server.lodge.run(&["admin", "user", "list"]).prints("banned 20");
    server.lodge.admin(&["user", "unban", "ada"]);
    assert!(!server.is_signed_in(&token), "ended sessions stay ended");
    assert_eq!(server.sign_in("ada", PASSWORD).status, 200);
}

#[test]
fn the_operator_ends_all_sessions_of_one_account() {
    let (server, [ada, eve]) = Lodge::new().start_with(["ada", "eve"]);
    server.lodge.run(&["admin", "user", "sign-out", "ada"]).prints("all sessions of ada are ended");
    assert!(!server.is_signed_in(&ada));
    assert!(server.is_signed_in(&eve));
    assert_eq!(server.sign_in("ada", PASSWORD).status, 200);
}

#[test]
fn the_operator_ends_all_sessions_of_all_accounts() {
    let (server, [ada, eve]) = Lodge::new().start_with(["ada", "eve"]);
    let everyone = ["admin", "user", "sign-out", "--all"];
    server.lodge.run(&everyone).prints("all sessions are ended; accounts that had any: 2");
    assert!(!server.is_signed_in(&ada) && !server.is_signed_in(&eve));
    assert_eq!(server.sign_in("ada", PASSWORD).status, 200);
    server.lodge.run(&everyone).prints("all sessions are ended; accounts that had any: 1");
    let events = server.lodge.admin_list(&["user", "events", "eve"]);
    assert_eq!((&*events[0][1], &*events[0][2]), ("signed_out_everywhere", "the command line"));
    let both = server.lodge.run(&["admin", "user", "sign-out", "ada", "--all"]);
    assert_eq!(both.code, 2, "{both:?}");
}

#[test]
fn a_reset_code_sets_a_new_password_once() {
    let (lodge, server) = Lodge::new().started();
    server.make_account("ada");
    server.make_account("grace");
    let token = server.token("ada");
    let first = code(&lodge, "ada");
    assert!(!server.is_signed_in(&token), "a reset ends all sessions");
    let second = code(&lodge, "ada");
    let new = "another in the fog";
    assert_eq!(reset(&server, "ada", &first, new), 403, "only the last code is valid");
    assert_eq!(reset(&server, "grace", &second, new), 403, "and for one account only");
    assert_eq!(reset(&server, "stranger", &second, new), 403);
    assert_eq!(reset(&server, "ada", &second, "12345678"), 400);
    assert_eq!(server.sign_in("ada", PASSWORD).status, 200, "the old password is still valid");
    assert_eq!(reset(&server, "ada", &second, new), 204);
    assert_eq!(reset(&server, "ada", &second, new), 403, "once");
    assert_eq!(server.sign_in("ada", PASSWORD).status, 401);
    assert_eq!(server.sign_in("ada", new).status, 200);
}

#[test]
fn a_reset_code_stays_valid_after_a_password_change() {
    let (lodge, server) = Lodge::new().started();
    let lines = ["username,nickname,email,password_hash,role", &format!("ada,,,{},", HASHES[0])];
    lodge.admin(&["user", "import", text(&lodge.write("people.csv", lines.join("\n")))]);
    let code = code(&lodge, "ada");
    // The sign-in rehashes the password.
    let token = server.token("ada");
    let change = json!({ "current": PASSWORD, "new": "another in the fog" });
    let token = server.set_password(&token, &change);
    assert_eq!(reset(&server, "ada", &code, "a third in the fog"), 204);
    assert_eq!(reset(&server, "ada", &code, "a fourth in the fog"), 403, "once");
    assert!(!server.is_signed_in(&token));
}

#[test]
fn roles_are_set_with_and_without_a_running_server() {
    let (lodge, server) = Lodge::new().started();
    server.make_account("ada");
    let role = |server: &Server| server.get("/api/users/ada").json()["role"].clone();
    assert_eq!(role(&server), "member");
    lodge.admin(&["user", "role", "ada", "admin"]);
    assert_eq!(role(&server), "admin");
    assert_eq!(server.stop(), Some(0));
    lodge.admin(&["user", "role", "ada", "moderator"]);
    assert_eq!(role(&lodge.start()), "moderator");
    let refused = lodge.run(&["admin", "user", "role", "stranger", "admin"]);
    assert!(refused.code != 0 && refused.err.contains("there is no such account"), "{refused:?}");
}

#[test]
fn the_list_of_accounts_is_filtered_by_prefix() {
    let (lodge, server) = Lodge::new().started();
    for name in ["ada", "adam", "grace"] {
        server.make_account(name);
    }
    let names = |arguments: &[&str]| -> Vec<String> {
        let listed = lodge.admin_list(&[&["user", "list"], arguments].concat());
        listed.into_iter().map(|row| row[0].clone()).collect()
    };
    assert_eq!(names(&[]), ["ada", "adam", "grace"]);
    assert_eq!(names(&["--prefix", "Ad"]), ["ada", "adam"]);
    assert_eq!(names(&["--prefix", "ＡＤＡＭ"]), ["adam"], "names are normalised");
}

#[test]
fn an_import_of_accounts_needs_known_columns() {
    let lodge = Lodge::new();
    let _server = lodge.start();
    for (content, said) in [
        ("kim,Kim\n", "unknown column \"kim\""),
        ("", "line 1 must name the columns"),
        ("username,phone\nkim,1\n", "unknown column \"phone\""),
        ("username;nickname\nkim;Kim\n", "unknown column \"username;nickname\""),
        ("nickname\nKim\n", "line 1 must name the columns"),
    ] {
        let file = lodge.write("people.csv", content);
        lodge.run(&["admin", "user", "import", text(&file)]).fails(said);
    }
}

#[test]
fn imported_accounts_sign_in_with_their_old_passwords() {
    let (lodge, server) = Lodge::new().started();
    server.make_account("taken");
    let [bcrypt, argon2] = HASHES;
    let lines = [
        "username,nickname,email,password_hash,role".to_owned(),
        format!("Ada,Ada L.,ada@example.org,{bcrypt},moderator"),
        format!("grace,,,\"{argon2}\","),
        "taken,,,,".to_owned(),
        "a b,,,,".to_owned(),
        "linus,,,not a hash,".to_owned(),
    ];
    let file = lodge.write("people.csv", lines.join("\n"));
    let ran = lodge.run(&["admin", "user", "import", text(&file)]);
    assert_eq!(
        ran.out.trim(),
        "accounts created: 2, usernames already taken: 1, lines rejected: 2"
    );
    ran.fails("line 5: username:");
    ran.fails("line 6: password_hash:");

    let renewed = || -> u32 {
        let count =
            "SELECT count(*) FROM accounts WHERE password LIKE '$argon2id$v=19$m=19456,t=2,p=1$%'";
        lodge.query(count)
    };
    assert_eq!(renewed(), 1, "the account that signed up");
    for name in ["ada", "grace"] {
        assert_eq!(server.sign_in(name, "a guess").status, 401);
        assert_eq!(server.sign_in(name, PASSWORD).status, 200);
    }
    assert_eq!(renewed(), 3, "at the first sign-in");
    assert_eq!(server.sign_in("ada", PASSWORD).status, 200);
    let ada = server.get("/api/users/ada").json();
    assert_eq!(json!([ada["nickname"], ada["role"]]), json!(["Ada L.", "moderator"]));
}
