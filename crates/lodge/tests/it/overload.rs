//! Overload is refused with 429 or 503, and memory stays bounded.

use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use serde_json::json;

use crate::{HttpConnection, Lodge, accounts::PASSWORD, board, eventually_true};

/// The largest growth of memory under any load, in bytes.
const GROWTH_BYTES_MAX: u64 = 64 << 20;

#[test]
fn connections_past_the_limit_are_refused_and_others_served() {
    const LIMIT: usize = 50;
    let server = Lodge::new().with("LODGE_HTTP_CONNECTIONS_MAX", &LIMIT.to_string()).start();
    server.create(&json!({ "target": "example.org", "short": "gg" }));
    eventually_true("the connection closes", || server.metric("lodge_http_connections ") < 1.5);

    let opened = || {
        let mut wire = HttpConnection::connect(server.address).unwrap();
        let _ = wire.write(b"GET /gg HTTP/1.1\r\nHost: x\r\n\r\n");
        wire
    };
    let opened: Vec<HttpConnection> = std::iter::repeat_with(opened).take(4 * LIMIT).collect();
    let mut idle: Vec<HttpConnection> = Vec::new();
    let mut refused = 0;
    for mut wire in opened {
        // Connections within the limit are served; the others get 503 or are closed.
        match wire.read() {
            Ok(answer) if answer.status == 307 => idle.push(wire),
            Ok(answer) => {
                assert_eq!(answer.expect_retry_after(503), 1);
                refused += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert_eq!((idle.len(), refused), (LIMIT, 3 * LIMIT));
    for wire in &mut idle {
        wire.write(b"GET /gg HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        assert_eq!(wire.read().unwrap().status, 307);
    }
    let counted = server.metric("lodge_http_connections_refused_total");
    assert!(counted >= 150.0, "{counted}");
    assert_eq!(server.ops("/health/ready").status, 200, "the ops listener has a limit of its own");
    drop(idle);
    eventually_true("a healthy client is served", || {
        server.ask("GET", "/gg").try_send().is_ok_and(|answer| answer.status == 307)
    });
}

#[test]
fn two_gigabytes_of_body_are_refused_and_memory_stays_flat() {
    let server = Lodge::new().start();
    server.create(&json!({ "target": "example.org", "short": "gg" }));
    let before = server.memory_bytes();
    let declared = "Content-Length: 2000000000";
    let endless = "Transfer-Encoding: chunked";
    thread::scope(|scope| {
        for (request, body) in [
            ("POST /api/links", declared),
            ("POST /api/links", endless),
            ("POST /api/bulk/links", declared),
            ("POST /links", endless),
            ("POST /gg", declared),
            ("PUT /?short=big&long=example.org", declared),
            ("PUT /?short=big&long=example.org", endless),
            ("GET /gg", declared),
            ("GET /gg", endless),
        ] {
            let head = format!("{request} HTTP/1.1\r\nHost: {}\r\n{body}\r\n\r\n", server.address);
            let chunked = body == endless;
            let address = server.address;
            scope.spawn(move || {
                let stream = TcpStream::connect(address).unwrap();
                let taken = pour(&stream, &head, chunked);
                assert!(taken < 32 << 20, "{request}, {body}: the server took {taken} bytes");
            });
        }
    });
    let after = server.memory_bytes();
    assert!(after < before + GROWTH_BYTES_MAX, "{before} bytes, then {after}");
    assert_eq!(server.get("/gg").status, 307);
}

#[test]
fn stalled_bodies_do_not_block_other_requests() {
    let server = Lodge::new().start();
    let stalled: Vec<HttpConnection> = (0..100)
        .map(|number| {
            let length =
                if number % 2 == 0 { "Content-Length: 100000" } else { "Transfer-Encoding: chunked" };
            let head = format!(
                "POST /api/bulk/links HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{length}\r\n\r\n1\r\n{{"
            );
            server.send_raw(head.as_bytes())
        })
        .collect();
    eventually_true("all are connected", || server.metric("lodge_http_connections ") > 99.5);
    for number in 0..10 {
        server.create(&json!({ "target": "example.org", "short": format!("s{number}") }));
    }
    drop(stalled);
}

/// Long bodies that stop before their end, from one address.
#[test]
fn stalled_bodies_of_three_addresses_leave_memory_to_others() {
    const LONG: usize = 2 << 20;
    // Otherwise these addresses count as this machine.
    let server = Lodge::new().with("LODGE_HTTP_TRUSTED_PROXIES", "127.0.0.9").start();
    let bulk = server.post("/api/bulk/links");
    let head = format!(
        "POST /api/bulk/links HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {LONG}\r\n\r\n"
    );
    let part = [head.into_bytes(), vec![b' '; LONG - 1024]].concat();
    let stalled: Vec<HttpConnection> = (0..24)
        .map(|number| {
            let from = format!("127.0.0.{}", 2 + number % 3);
            let mut connection = HttpConnection::connect_from(&from, server.address);
            // The server closes one whose address holds its share.
            let _ = connection.write(&part);
            eventually_true("the part is received", || connection.is_received());
            connection
        })
        .collect();
    let padded =
        format!("{{\"links\": [{{\"target\": \"example.org\"}}]{}}}", " ".repeat(LONG / 2));
    for _ in 0..10 {
        let made = bulk.clone().header("Content-Type", "application/json").body(padded.as_str());
        assert_eq!(made.send_from("127.0.0.5").expect(200).json()["created"], 1);
    }
    drop(stalled);
}

#[test]
fn links_with_passwords_of_one_owner_do_not_refuse_sign_ins() {
    let lodge =
        Lodge::new().with("LODGE_PASSWORDS_QUEUE_MAX", "4").with("LODGE_PASSWORDS_THREADS", "1");
    let (lodge, server) = lodge.started();
    server.make_account("ann");
    let key = lodge.key("flood");
    let link = json!({ "target": "example.org", "password": "a lantern in the fog" });
    let flood =
        server.post("/api/bulk/links").bearer(&key).json(json!({ "links": vec![link; 20] }));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let _over = Over(&is_over);
        // One is hashed, and four fill the queue.
        for _ in 0..5 {
            scope.spawn(|| {
                while !is_over.load(Ordering::SeqCst) {
                    let _ = flood.try_send();
                }
            });
        }
        eventually_true("links wait", || {
            server.metric("lodge_passwords_wait_seconds_count ") > 20.0
        });
        let statuses = [(); 10].map(|()| server.sign_in("ann", PASSWORD).status);
        assert_eq!(statuses, [200; 10]);
    });
}

/// Ends the flood, also if the test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Sends a body until the server accepts no more. Returns the accepted bytes.
fn pour(mut stream: &TcpStream, head: &str, chunked: bool) -> usize {
    const PIECE: usize = 64 * 1024;
    stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    let piece = if chunked {
        format!("{PIECE:x}\r\n{}\r\n", " ".repeat(PIECE)).into_bytes()
    } else {
        vec![b' '; PIECE]
    };
    let mut taken = 0;
    while taken < 256 << 20 && stream.write_all(&piece).is_ok() {
        taken += PIECE;
    }
    let mut answer = [0; 12];
    if stream.read_exact(&mut answer).is_ok() {
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let wanted: &[&str] =
            &["HTTP/1.1 413", "HTTP/1.1 201", "HTTP/1.1 200", "HTTP/1.1 307", "HTTP/1.1 400"];
        assert!(wanted.contains(&answer.as_str()), "{head}: {answer}");
    }
    taken
}

#[test]
fn pipelined_requests_of_a_client_that_does_not_read_are_not_all_served() {
    const ASKED: usize = 500;
    let server = Lodge::new().with("LODGE_HTTP_WRITE_TIMEOUT_S", "1").start();
    let _unread = server.send_raw(&b"GET /api/docs HTTP/1.1\r\nHost: x\r\n\r\n".repeat(ASKED));
    let answered = || {
        let series = "lodge_http_requests_total{method=\"GET\",route=\"/api/docs\",status=\"200\"}";
        server.metric(series)
    };
    eventually_true("a request is served", || answered() > 0.0);
    eventually_true("the connection is closed", || server.metric("lodge_http_connections ") < 1.5);
    // A page is 22 KB; a socket's send buffer grows to megabytes unless it is bounded.
    assert!(answered() < 50.0, "{} pages were rendered without a reader", answered());
}

#[test]
fn an_idle_connection_takes_less_than_six_kib() {
    const SILENT: u64 = 2000;
    // Without accounts no background task starts meanwhile and allocates memory for the first time.
    let server = Lodge::new().with("LODGE_APPS", "links").start();
    let before = server.memory_bytes();
    let silent: Vec<_> = (0..SILENT).map(|_| TcpStream::connect(server.address).unwrap()).collect();
    eventually_true("all are connected", || server.metric("lodge_http_connections ") >= 2000.0);
    let each = server.memory_bytes().saturating_sub(before) / SILENT;
    assert!(each < 6 * 1024, "{each} bytes for each of {}", silent.len());
}

#[test]
fn hashing_past_its_queue_is_refused_and_redirects_are_unaffected() {
    let lodge =
        Lodge::new().with("LODGE_PASSWORDS_THREADS", "1").with("LODGE_PASSWORDS_QUEUE_MAX", "2");
    let server = lodge.start();
    server.create(&json!({ "target": "example.org", "short": "door", "password": "right" }));
    server.create(&json!({ "target": "example.org", "short": "gg" }));
    let statuses: Vec<u16> = thread::scope(|scope| {
        let ask = || server.post("/door").form("password=right").send();
        let clients: Vec<_> = (0..40).map(|_| scope.spawn(ask)).collect();
        for _ in 0..20 {
            assert_eq!(server.get("/gg").status, 307);
        }
        let answers = clients.into_iter().map(|client| client.join().unwrap());
        answers
            .inspect(|answer| {
                assert!(answer.status != 503 || answer.header("retry-after").is_some());
            })
            .map(|answer| answer.status)
            .collect()
    });
    assert!(statuses.iter().all(|status| matches!(status, 303 | 503)), "{statuses:?}");
    assert!(statuses.contains(&303) && statuses.contains(&503), "{statuses:?}");
}

#[test]
fn an_overloaded_board_refuses_reads_and_other_apps_are_unaffected() {
    let lodge =
        board::lodge().with("LODGE_EMBEDDED_READERS", "1").with("LODGE_EMBEDDED_QUEUE_MAX", "4");
    let (server, [ada]) = lodge.start_with(["ada"]);
    for number in 0..100 {
        server.posted(&ada, &number.to_string(), &"all work and no play ".repeat(90));
    }
    let statuses: Vec<u16> = thread::scope(|scope| {
        let read = || {
            let page = || server.board(&ada, "GET", "/lobby/messages?limit=500").send();
            (0..5).map(|_| page().status).collect::<Vec<_>>()
        };
        let readers: Vec<_> = (0..20).map(|_| scope.spawn(read)).collect();
        for number in 0..50 {
            // Absent links are not cached: each request reads the store.
            assert_eq!(server.get(&format!("/none-{number}")).status, 404);
        }
        readers.into_iter().flat_map(|reader| reader.join().unwrap()).collect()
    });
    assert!(statuses.iter().all(|status| matches!(status, 200 | 503)), "{statuses:?}");
    assert!(statuses.contains(&200) && statuses.contains(&503), "{statuses:?}");
}
