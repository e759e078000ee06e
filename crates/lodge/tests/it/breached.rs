//! Passwords of a published list of stolen ones.

use std::fs;

use serde_json::json;

use crate::{Lodge, PASSWORD, Request, text, tiers::Tiers};

const SERVE: [&str; 5] = ["serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"];
const CHECK: [&str; 5] = ["check", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"];
const SETTING: &str = "LODGE_ACCOUNTS_BREACHED_PASSWORDS";

/// Two passwords that break no other rule, and the list that has them.
const STOLEN: &str = "a stolen lantern";
const RARELY_STOLEN: &str = "a rare stolen lantern";
const LIST: &str = "BE7BB0D93E3448B8BFA51702F034BAADE828A8BF:17\r\n\
    FF1BA746B9EA48085343A138FE2F8D37418D979A:3\r\n";

const REASON: &str = "occurs in published lists of stolen passwords; choose another one";

impl Lodge {
    /// Builds the file of [`LIST`] and configures it.
    fn with_stolen_passwords(self, more: &[&str]) -> Self {
        let (list, file) = (self.write("list.txt", LIST), self.file("stolen"));
        let built = self.run(&[&["breached-passwords", text(&list), text(&file)], more].concat());
        built.prints(" passwords");
        self.with(SETTING, text(&file))
    }
}

/// Asserts that a request with a stolen password in this field is refused.
fn is_refused(ask: &Request, field: &str) {
    let answer = ask.send();
    answer.expect_field_error(400, field);
    assert_eq!(answer.json()["detail"], format!("{field}: {REASON}"));
}

#[test]
fn a_stolen_password_is_refused_at_every_door() {
    let (lodge, server) = Lodge::new().with_stolen_passwords(&[]).started();
    let form = |path, fields: &str| {
        let fields = fields.replace("STOLEN", &STOLEN.replace(' ', "+"));
        server.post(path).browser().form(&fields)
    };
    form("/admin/setup", "username=ada&password=STOLEN").expect(400).says(REASON);
    assert_eq!(server.get("/api/users/ada").status, 404);
    form("/admin/setup", "username=ada&password=a+lift+in+the+fog").expect(303);

    let account = json!({ "username": "eve", "password": STOLEN });
    is_refused(&server.post("/api/accounts").json(&account), "password");
    let account = json!({ "username": "eve", "password": RARELY_STOLEN });
    is_refused(&server.post("/api/accounts").json(&account), "password");
    let page = form("/signup", "username=eve&password=STOLEN").expect(400);
    page.says(&format!("The password {REASON}.")).says("id=\"password-error\"");
    let token = server.member("eve");

    let change = |new: &str| json!({ "current": PASSWORD, "new": new });
    is_refused(&server.put("/api/me/password").bearer(&token).json(change(STOLEN)), "new");
    let page = form("/account/password", "current=a+lift+in+the+fog&new=STOLEN").session(&token);
    page.expect(400).says(&format!("The new password {REASON}."));
    server.set_password(&token, &change("a lamp in the fog"));

    let code = lodge.admin(&["user", "reset", "eve"]).trim().to_owned();
    let reset = |new: &str| {
        let request = json!({ "username": "eve", "code": code, "new": new });
        server.post("/api/password").json(&request)
    };
    is_refused(&reset(STOLEN), "new");
    let fields = format!("username=eve&code={code}&new=STOLEN");
    form("/login/reset", &fields).expect(400).says(&format!("The new password {REASON}."));
    reset("a lens in the fog").expect(204);

    let create = ["admin", "user", "create", "bob"];
    let (stolen, other) = (lodge.write("stolen.txt", STOLEN), lodge.write("other.txt", PASSWORD));
    lodge.run_with_input(&stolen, &create).fails(&format!("password: {REASON}"));
    lodge.run_with_input(&other, &create).prints("bob is created");
    drop(server);
    let create = ["admin", "user", "create", "ben"];
    lodge.run_with_input(&stolen, &create).fails(&format!("password: {REASON}"));
}

#[test]
fn the_process_with_the_accounts_alone_needs_the_list() {
    let mut tiers = Tiers::new();
    tiers.accounts = tiers.accounts.with_stolen_passwords(&[]);
    let (_tiers, _accounts, web) = tiers.start();
    let account = json!({ "username": "eve", "password": STOLEN });
    is_refused(&web.post("/api/accounts").json(&account), "password");
    web.make_account("eve");
}

#[test]
fn passwords_with_a_lower_count_are_left_out() {
    let server = Lodge::new().with_stolen_passwords(&["--count-min", "4"]).start();
    let sign_up = |name: &str, password: &str| {
        let account = json!({ "username": name, "password": password });
        server.post("/api/accounts").json(&account).send().status
    };
    assert_eq!(sign_up("eve", STOLEN), 400);
    assert_eq!(sign_up("eve", RARELY_STOLEN), 201);
}

#[test]
fn a_broken_list_of_stolen_passwords_stops_the_start_with_one_plain_error() {
    let lodge = Lodge::new().with_stolen_passwords(&[]);
    lodge.run(&CHECK).says(0, &["ok    accounts.breached_passwords: 2 passwords"]);
    let file = lodge.file("stolen");
    let good = fs::read(&file).unwrap();
    let mut flipped = good.clone();
    *flipped.last_mut().unwrap() ^= 1;
    for (content, why) in [
        (LIST.as_bytes(), "not a file of lodge breached-passwords"),
        (b"", "not a file of lodge breached-passwords"),
        (&good[..good.len() - 1], "truncated or damaged"),
        (&flipped, "truncated or damaged"),
    ] {
        fs::write(&file, content).unwrap();
        is_plain_error(&lodge, why);
    }
    fs::remove_file(&file).unwrap();
    is_plain_error(&lodge, "No such file");
}

fn is_plain_error(lodge: &Lodge, why: &str) {
    let ran = lodge.run(&SERVE);
    assert!(ran.code == 78 && ran.err.contains(why), "no {why:?} in {ran:?}");
    let errors: Vec<_> = ran.err.lines().filter(|line| line.starts_with("lodge: ")).collect();
    let begin = "lodge: invalid configuration: accounts.breached_passwords: cannot read ";
    assert!(matches!(errors[..], [error] if error.starts_with(begin)), "{ran:?}");
    assert!(!ran.err.contains("panicked") && !ran.err.contains("ERROR"), "{ran:?}");
    lodge.run(&CHECK).says(1, &["BAD   accounts.breached_passwords: cannot read ", why]);
}

#[test]
fn a_malformed_list_of_stolen_passwords_leaves_no_file() {
    let lodge = Lodge::new();
    let (list, file) = (lodge.write("list.txt", format!("{LIST}hunter2\n")), lodge.file("stolen"));
    let build = |from: &str| lodge.run(&["breached-passwords", from, text(&file)]);
    build(text(&list)).fails("list.txt: line 3: must be a SHA-1");
    build("-").fails("standard input: the list must have from 1 to");
    build("missing.txt").fails("cannot read missing.txt");
    let files = fs::read_dir(file.parent().unwrap()).unwrap().map(|file| file.unwrap().file_name());
    assert_eq!(files.collect::<Vec<_>>(), ["list.txt"]);

    let list = lodge.write("list.txt", LIST);
    let ran = lodge.run_with_input(&list, &["breached-passwords", "-", text(&file)]);
    ran.prints("stolen has 2 passwords");
    let before = fs::read(&file).unwrap();
    build(text(&list)).fails("stolen already exists; breached-passwords does not overwrite files");
    assert_eq!(fs::read(&file).unwrap(), before);
}
