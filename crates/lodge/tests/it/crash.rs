//! An acknowledged link is stored, even if the process is killed.

use std::{
    net::SocketAddr,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use lodge_testbed::by_depth;
use rustix::process::Signal;

use crate::{HttpConnection, Lodge, Request, Server};

const WRITERS: usize = 100;
const READERS: usize = 4;

/// Short and target of a link that the server acknowledged.
type Acknowledged = (String, String);

#[test]
fn no_acknowledged_link_is_lost_by_kills_under_a_hundred_writers() {
    let (lodge, kills) = (Lodge::new(), by_depth(5, 20));
    let acknowledged = Mutex::new(Vec::new());
    for round in 0..kills {
        let server = lodge.start();
        // Each kill comes at another moment of group commits and checkpoints.
        let left = AtomicUsize::new(150 + 41 * round);
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (server, left, acknowledged) = (&server, &left, &acknowledged);
                scope.spawn(move || {
                    let mine = write_until_it_dies(server, &format!("{round}-{writer}"), left);
                    acknowledged.lock().unwrap().extend(mine);
                });
            }
        });
        server.kill();
    }

    let acknowledged = acknowledged.into_inner().unwrap();
    assert!(acknowledged.len() > kills * 150);
    let server = lodge.start();
    thread::scope(|scope| {
        for part in acknowledged.chunks(acknowledged.len().div_ceil(READERS)) {
            let address = server.address;
            scope.spawn(move || read_back(address, part));
        }
    });
    assert!(server.links_stored() >= acknowledged.len());
    assert_eq!(server.stop(), Some(0));
    let report: String = lodge.query("PRAGMA integrity_check");
    assert_eq!(report, "ok");
}

/// Writes link after link until the server dies. Returns the acknowledged ones. The writer whose
/// acknowledgement brings `left` to 0 kills the server.
fn write_until_it_dies(server: &Server, name: &str, left: &AtomicUsize) -> Vec<Acknowledged> {
    let mut acknowledged = Vec::new();
    let Ok(mut wire) = HttpConnection::connect(server.address) else { return acknowledged };
    for number in 0.. {
        let (short, target) =
            (format!("w-{name}-{number}"), format!("https://example.org/{name}/{number}"));
        let put = server.put(&format!("/?short={short}&long={target}"));
        let Ok(answer) = put.on(&mut wire) else { break };
        assert_eq!(answer.status, 201, "{answer:?}");
        acknowledged.push((short, target));
        if left.fetch_sub(1, Ordering::SeqCst) == 1 {
            server.signal(Signal::KILL);
        }
    }
    acknowledged
}

fn read_back(address: SocketAddr, links: &[Acknowledged]) {
    let mut wire = HttpConnection::connect(address).unwrap();
    for (short, target) in links {
        Request::new(address, "GET", &format!("/{short}"))
            .on(&mut wire)
            .unwrap()
            .leads_to(307, target);
    }
}
