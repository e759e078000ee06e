//! The seeds' clients, byte by byte: `ab`, `wrk` with a script, and scripts that do not URL-encode.

use crate::{HttpConnection, Lodge};

#[test]
fn an_http_1_0_put_of_ab_works_with_any_body_and_type() {
    let server = Lodge::new().start();
    let put = format!(
        "PUT /?short=arnold&long=https://www.cs.toronto.edu/~arnold/ HTTP/1.0\r\n\
         Content-length: 0\r\nContent-type: application/json\r\nHost: {}\r\n\
         User-Agent: ApacheBench/2.3\r\nAccept: */*\r\n\r\n",
        server.address
    );
    for expected in [201, 200] {
        let mut wire = server.send_raw(put.as_bytes());
        assert_eq!(wire.read().unwrap().status, expected);
        assert!(wire.read_to_end().unwrap().is_empty(), "HTTP/1.0 closes");
    }
    let mut wire = server.send_raw(b"GET /arnold HTTP/1.0\r\n\r\n");
    wire.read_head().unwrap().leads_to(307, "https://www.cs.toronto.edu/~arnold/");

    let body = "not json at all {{{";
    let put = format!(
        "PUT /?short=body&long=example.org HTTP/1.0\r\nContent-Type: nonsense\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut wire = server.send_raw(put.as_bytes());
    assert_eq!(wire.read().unwrap().status, 201);
}

#[test]
fn an_http_1_0_keep_alive_connection_carries_many_puts() {
    let server = Lodge::new().start();
    let mut wire = HttpConnection::connect(server.address).unwrap();
    for number in 0..50 {
        let put = format!(
            "PUT /?short=k{number}&long=example.org HTTP/1.0\r\nConnection: Keep-Alive\r\n\
             Content-length: 0\r\n\r\n"
        );
        wire.write(put.as_bytes()).unwrap();
        let answer = wire.read().unwrap().expect(201);
        let connection = answer.header("connection").unwrap();
        assert!(connection.eq_ignore_ascii_case("keep-alive"), "{connection}");
    }
    assert_eq!(server.links_stored(), 50);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = Lodge::new().start();
    let requests: Vec<String> = (0..20)
        .map(|number| {
            format!(
                "PUT /?short=p{number}&long=example.org/{number} HTTP/1.1\r\nHost: x\r\n\
                 Content-Length: 4\r\n\r\nbodyGET /p{number} HTTP/1.1\r\nHost: x\r\n\r\n"
            )
        })
        .collect();
    let mut wire = server.send_raw(requests.concat().as_bytes());
    for number in 0..20 {
        assert_eq!(wire.read().unwrap().status, 201);
        let location = format!("https://example.org/{number}");
        wire.read().unwrap().leads_to(307, &location);
    }
}

#[test]
fn an_unencoded_long_is_accepted() {
    let server = Lodge::new().start();
    for (short, long, location) in [
        ("a", "https://a.example/?x=1&y=2", "https://a.example/?x=1&y=2"),
        ("b", "http://b.example/path%23part", "http://b.example/path%23part"),
        ("c", "c.example:8080/~me", "https://c.example:8080/~me"),
        ("d", "http%3A%2F%2Fd.example%2F%3Fx%3D1%26y%3D2", "http://d.example/?x=1&y=2"),
        ("e", "e.example/a+b", "https://e.example/a+b"),
        ("f", "bücher.example", "https://xn--bcher-kva.example/"),
        ("g", "asdf", "https://asdf/"),
    ] {
        let put = format!("PUT /?short={short}&long={long} HTTP/1.1\r\nHost: x\r\n\r\n");
        let mut wire = server.send_raw(put.as_bytes());
        assert_eq!(wire.read().unwrap().status, 201, "{long}");
        assert_eq!(server.get(&format!("/{short}")).location(), Some(location));
    }
}
