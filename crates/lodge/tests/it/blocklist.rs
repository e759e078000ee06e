//! The blocklist of hosts that links must not target.

use rustix::process::Signal;
use serde_json::json;

use crate::{Lodge, eventually_true, text};

#[test]
fn links_to_a_blocked_host_are_refused_and_the_blocklist_is_reloaded() {
    let lodge = Lodge::new();
    let list = lodge.write("blocked.txt", "# none yet\n");
    let path = text(&list).to_owned();
    let (lodge, server) = lodge.with("LODGE_LINKS_BLOCKLIST", &path).started();
    server.create(&json!({ "target": "https://www.evil.example/x", "short": "bad" }));
    server.create(&json!({ "target": "https://good.example/", "short": "good" }));
    assert_eq!(server.get("/bad").status, 307, "the link is cached now");

    std::fs::write(&list, "evil.example # why\n").unwrap();
    server.signal(Signal::HUP);
    eventually_true("the list is reloaded", || server.get("/bad").status == 410);
    for path in ["/bad", "/bad+", "/api/links/bad"] {
        let answer = server.get(path);
        assert_eq!((answer.status, answer.location()), (410, None), "{path}");
        answer.says("blocked");
    }
    assert_eq!(server.get("/good").status, 307);
    let stored = server.links_stored();
    server.put("/?short=other&long=EVIL.example.").expect(400).says("blocked");
    let link = json!({ "target": "http://sub.evil.example:8080/" });
    server.post("/api/links").json(&link).expect(400);
    let file = lodge.write("theirs.csv", "keyword,url\nimported,http://evil.example\n");
    assert_eq!(lodge.run(&["admin", "import", "--from", "yourls", text(&file)]).code, 1);
    assert_eq!(server.links_stored(), stored);

    std::fs::remove_file(&list).unwrap();
    server.signal(Signal::HUP);
    eventually_true("it is logged", || {
        server.log().contains("the previous blocklist stays in use")
    });
    assert_eq!(server.get("/bad").status, 410);
    std::fs::write(&list, "").unwrap();
    server.signal(Signal::HUP);
    eventually_true("the host is no longer blocked", || server.get("/bad").status == 307);
}
