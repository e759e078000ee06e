//! Import and export of links.

use serde_json::json;

use crate::{Lodge, text};

#[test]
fn an_export_imported_into_a_new_folder_gives_the_same_links() {
    let (lodge, server) = Lodge::new().started();
    server.create(&json!({ "target": "https://example.org/?a=1,2&b=\"x\"", "short": "plain" }));
    server.create(&json!({ "target": "example.org", "short": "full", "redirect": 308,
        "tags": ["a", "b c"], "expires_at": "2099-01-31T12:00:00Z" }));
    server.create(&json!({ "target": "example.org", "short": "few", "max_clicks": 3 }));
    server.create(&json!({ "target": "example.org", "short": "door", "password": "sesame" }));
    let gone = server.create(&json!({ "target": "example.org", "short": "gone" }));
    server.manage(&gone, "DELETE").expect(204);
    assert_eq!(server.get("/few").status, 307);
    for _ in 0..5 {
        server.get("/plain");
    }
    assert_eq!(server.stop(), Some(0));
    let file = lodge.file("links.csv");
    lodge.run(&["admin", "export", text(&file)]).prints("exported 4 links");

    let exported = std::fs::read_to_string(&file).unwrap();
    for part in ["\"a,b c\"", "2099-01-31T12:00:00Z", ",308,", ",3,1,", "$argon2id$", ",5\n"] {
        assert!(exported.contains(part), "no {part} in {exported}");
    }

    let other = Lodge::new();
    let server = other.start();
    other.key("me");
    let import = ["import", "--from", "lodge", "--key", "me", text(&file)];
    let said = other.admin(&import);
    assert!(said.contains("links imported: 4, already present: 0, rejected: 0"), "{said}");
    let said = other.admin(&import);
    assert!(said.contains("links imported: 0, already present: 4, rejected: 0"), "{said}");
    let again = other.file("again.csv");
    other.admin(&["export", text(&again)]);
    assert_eq!(exported, std::fs::read_to_string(&again).unwrap());
    assert_eq!(server.get("/full").status, 308);
    let statuses: Vec<u16> = (0..3).map(|_| server.get("/few").status).collect();
    assert_eq!(statuses, [307, 307, 410], "one of three clicks was used before");
    server.post("/door").form("password=sesame").expect(303);
    assert_eq!(server.get("/gone").status, 404);
}

#[test]
fn an_export_overwrites_no_file_and_leaves_no_temporary_file() {
    let (lodge, server) = Lodge::new().started();
    server.create(&json!({ "target": "example.org", "short": "gg" }));
    let file = lodge.write("links.csv", "mine");
    let beside = lodge.write("links.unfinished", "mine too");
    lodge.run(&["admin", "export", text(&file)]).fails("links.csv already exists");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    std::fs::remove_file(&file).unwrap();
    lodge.run(&["admin", "export", text(&file)]).prints("exported 1 links");
    assert!(std::fs::read_to_string(&file).unwrap().contains("https://example.org/"));
    assert_eq!(std::fs::read_to_string(&beside).unwrap(), "mine too");
    let names = std::fs::read_dir(file.parent().unwrap()).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| text(name.as_ref()).contains("unfinished-")), "{names:?}");
}

#[test]
fn a_large_folder_is_exported_completely() {
    let (lodge, server) = Lodge::new().started();
    let rows = (0..2300).map(|row| format!("l{row},example.org/{row}\n"));
    let file = lodge.write("in.csv", format!("short,target\n{}", rows.collect::<String>()));
    lodge.run(&["admin", "import", "--from", "lodge", text(&file)]).prints("links imported: 2300");
    let out = lodge.file("out.csv");
    lodge.run(&["admin", "export", text(&out)]).prints("exported 2300 links");
    assert_eq!(std::fs::read_to_string(&out).unwrap().lines().count(), 2301);
    assert_eq!(server.get("/l2299").location(), Some("https://example.org/2299"));
}

#[test]
fn exports_of_other_shorteners_are_imported() {
    let (lodge, server) = Lodge::new().started();
    let key = lodge.key("me");
    for (source, csv, short) in [
        (
            "yourls",
            "keyword,url,title,timestamp,ip,clicks\n\
             yo,http://example.org/yourls,Title,2024-05-01 10:00:00,192.0.2.1,7\n",
            "yo",
        ),
        (
            "shlink",
            "createdAt,shortUrl,shortCode,domain,longUrl,title,tags,visits\n\
             2024-05-01T12:00:00+02:00,https://s.example/sh,sh,,http://example.org/shlink,,a|b,7\n",
            "sh",
        ),
        (
            "kutt",
            "id,address,target,description,visit_count,created_at\n\
             1,ku,http://example.org/kutt,,7,2024-05-01T10:00:00.000Z\n",
            "ku",
        ),
        (
            "bitly",
            "Bitlink,Title,Long URL,Created,Tags,Engagements\n\
             bit.ly/bi,Title,http://example.org/bitly,1714557600,,7\n",
            "bi",
        ),
    ] {
        let file = lodge.write("theirs.csv", csv);
        let said = lodge.admin(&["import", "--from", source, "--key", "me", text(&file)]);
        assert!(said.contains("links imported: 1,"), "{source}: {said}");
        let target = format!("http://example.org/{source}");
        server.get(&format!("/{short}")).leads_to(307, &target);
        let link = server.ask("GET", &format!("/api/links/{short}")).bearer(&key).send().json();
        assert_eq!(link["created_at"], "2024-05-01T10:00:00Z", "{source}");
        let clicks = server.ask("GET", &format!("/api/links/{short}/clicks")).bearer(&key).send();
        assert!(clicks.json()["total"].as_u64() >= Some(7), "{source}: {}", clicks.text());
    }
}

#[test]
fn invalid_rows_are_reported_and_the_others_imported() {
    let (lodge, server) = Lodge::new().started();
    server.create(&json!({ "target": "example.org", "short": "taken" }));
    let file = lodge.write(
        "theirs.csv",
        "keyword,url\ngood,example.org\nad/min,example.org\nbad,javascript:x\ntaken,example.com\n\
         links,example.org\nlast,example.org\n",
    );
    let ran = lodge.run(&["admin", "import", "--from", "yourls", text(&file)]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("links imported: 2, already present: 0, rejected: 4"), "{ran:?}");
    for line in ["line 3: short", "line 4: target", "line 5: this short is taken", "line 6: short"]
    {
        assert!(ran.err.contains(line), "{line} in {}", ran.err);
    }
    assert_eq!((server.get("/good").status, server.get("/last").status), (307, 307));
    assert_eq!(server.get("/taken").location(), Some("https://example.org/"));
    let folder = lodge.data();
    let ran = lodge.run(&["admin", "import", "--from", "yourls", text(&folder)]);
    ran.fails(&format!("cannot read {}", text(&folder)));
}
