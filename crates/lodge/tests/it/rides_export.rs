//! The export of a season: complete, or recognisably cut off.

use std::fmt::Write as _;

use crate::{HttpConnection, Lodge, Response, Server, eventually_true};

/// Rides of a season, whose export is much larger than the buffers between server and client.
const RIDES: u32 = 50_000;
const A_BATCH: u32 = 10_000;

fn season(server: &Server) {
    for batch in 0..RIDES / A_BATCH {
        let mut lines = String::new();
        for skier in batch * A_BATCH + 1..=(batch + 1) * A_BATCH {
            writeln!(
                lines,
                r#"{{"id":"scan {skier}","resortID":1,"seasonID":"2025","dayID":1,"skierID":{skier},"time":1,"liftID":1}}"#
            )
            .unwrap();
        }
        let ask = server.post("/api/rides").header("Content-Type", "application/x-ndjson");
        ask.body(lines).expect(200);
    }
}

/// Requests the export of the season, and reads only the head of the response.
fn export(server: &Server, from: &str) -> (HttpConnection, Response) {
    server.ask("GET", "/api/rides/export.csv?season=2025").from(from).begin()
}

/// Reads the rest of a response. Returns its length, and whether it is complete.
fn rest(mut wire: HttpConnection) -> (usize, bool) {
    let mut bytes = 0;
    loop {
        match wire.read_chunk() {
            Ok(chunk) if chunk.is_empty() => return (bytes, true),
            Ok(chunk) => bytes += chunk.len(),
            Err(_) => return (bytes, false),
        }
    }
}

#[test]
fn concurrent_exports_are_limited_in_total_and_per_address() {
    let server = Lodge::new().start();
    season(&server);
    let refused = |from: &str| {
        let (_, head) = export(&server, from);
        assert!(head.header("retry-after").is_some(), "{head:?}");
        head.status
    };
    let mut begun: Vec<_> =
        ["198.51.100.1", "198.51.100.1"].map(|from| export(&server, from)).into();
    assert_eq!(refused("198.51.100.1"), 429, "an address may run two");
    begun.extend(["198.51.100.2", "198.51.100.3"].map(|from| export(&server, from)));
    assert!(begun.iter().all(|(_, head)| head.status == 200));
    assert_eq!(refused("198.51.100.4"), 503);
    assert_eq!(server.get("/rides").status, 200, "pages use other database readers");

    let whole = rest(begun.remove(0).0);
    assert!(whole.1 && whole.0 > 1_000_000, "the export continues while it is read: {whole:?}");
    eventually_true("one is admitted", || export(&server, "198.51.100.4").1.status == 200);
    drop(begun);
    eventually_true("all have ended", || {
        server.metric("lodge_http_streams{kind=\"export\"}") < 0.5
    });
}

#[test]
fn a_stop_cuts_an_export_off_recognisably() {
    let lodge = Lodge::new()
        .with("LODGE_HTTP_SHUTDOWN_GRACE_S", "600")
        .with("LODGE_HTTP_WRITE_TIMEOUT_S", "600");
    let server = lodge.start();
    season(&server);
    let (wire, head) = export(&server, "198.51.100.1");
    assert_eq!(head.status, 200, "{head:?}");
    server.signal(rustix::process::Signal::TERM);
    eventually_true("the listener is closed", || HttpConnection::connect(server.address).is_err());
    let (_, is_whole) = rest(wire);
    assert!(!is_whole, "a part looks complete");
    assert_eq!(server.wait(), Some(0), "the stop does not wait for the export");
}
