//! `lodge check` says what is good and what is not.

use std::net::TcpListener;

use crate::server::{Lodge, text};

const FREE: [&str; 5] = ["check", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"];

#[test]
fn what_is_good_is_said_line_by_line() {
    let lodge = Lodge::new();
    let ran = lodge.run(&FREE);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.lines().all(|line| line.starts_with("ok    ")), "{}", ran.out);
    assert!(ran.out.contains("configuration: apps links, accounts"), "{}", ran.out);
    assert!(ran.out.contains("empty; lodge serve fills it"), "{}", ran.out);
    assert!(!lodge.data().exists(), "a check makes nothing");
    let server = lodge.start();
    let (public, ops) = (server.address.to_string(), server.ops.to_string());
    let ran = lodge.run(&["check", "--listen", &public, "--ops-listen", &ops]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("a server runs on it") && ran.out.contains("is taken, by the server"));
    server.stop();
    let ran = lodge.run(&FREE);
    assert!(ran.code == 0 && ran.out.contains("format 4"), "{ran:?}");
}

#[test]
fn what_is_bad_is_said_and_the_exit_code_tells() {
    let lodge = Lodge::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = lodge.run(&["check", "--listen", &address, "--ops-listen", "127.0.0.1:0"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("BAD   http.listen: cannot listen on"), "{}", ran.out);
    assert!(ran.out.contains("ok    ops.listen"), "{}", ran.out);

    let missing = lodge.file("missing.txt");
    let path = text(&missing).to_owned();
    let lodge = lodge.with("LODGE_LINKS_BLOCKLIST", &path);
    let ran = lodge.run(&FREE);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("BAD   links.blocklist"), "{}", ran.out);

    let open = Lodge::new();
    let ran = open.run(&["check", "--listen", "0.0.0.0:0", "--ops-listen", "127.0.0.1:0"]);
    assert_eq!(ran.code, 0, "a note is no fault");
    assert!(ran.out.contains("note  public_url") && ran.out.contains("anybody"), "{}", ran.out);
}
