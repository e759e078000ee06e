//! Commands whose output pipe is closed.

use crate::{Lodge, text};

#[test]
fn a_command_whose_output_pipe_is_closed_ends_silently() {
    let (lodge, server) = Lodge::new().started();
    server.ride([3, 2025, 1, 7], 1, 1);
    lodge.key("me");
    lodge.gate("north", &[]);
    let file = lodge.file("links.csv");
    let url = format!("http://{}", server.address);
    let load = ["load", "rides", "--url", &url, "-n", "1", "--first-threads", "0"];
    for command in [
        &["check"][..],
        &["admin", "key", "list"],
        &["admin", "gate", "list"],
        &["admin", "gate", "renew", "north"],
        &["admin", "pass", "7", "--to", "500"],
        &["admin", "ride", "find", "--season", "2025", "--resort", "3", "--day", "1"],
        &["admin", "export", text(&file)],
        &load,
    ] {
        let ran = lodge.run_unread(command);
        assert_eq!((ran.code, ran.err.as_str()), (141, ""), "{command:?}");
    }
    assert_eq!(server.get("/rides").status, 200, "the server is unaffected");
    assert_eq!(server.stop(), Some(0));
    assert_eq!(lodge.run_unread(&["admin", "key", "list"]).code, 141, "also without a server");
    assert_eq!(lodge.admin_list(&["key", "list"])[0][0], "me");
}
