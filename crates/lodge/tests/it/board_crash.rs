//! Every message reaches every stream once, even if the server process is killed.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    thread,
};

use lodge_testbed::by_depth;

use crate::{CommandOutput, DEADLINE, Lodge, eventually_true};

const USERS: u64 = 24;

/// Messages of each user: enough that some are in flight at every kill.
const MESSAGES: u64 = 60;

fn lodge() -> Lodge {
    let lodge = Lodge::new().with("LODGE_APPS", "board");
    let unlimited = ["POSTS", "SIGN_UPS", "ATTEMPTS"];
    unlimited
        .into_iter()
        .fold(lodge, |lodge, what| lodge.with(&format!("LODGE_LIMITS_{what}_PER_MINUTE"), "0"))
}

/// Runs `lodge load board`, with its connections cut at random. Returns its output.
fn load(lodge: &Lodge, at: SocketAddr, cut: &str, messages: u64) -> CommandOutput {
    let (url, users, messages) = (format!("http://{at}"), USERS.to_string(), messages.to_string());
    let tokens = lodge.file("tokens").display().to_string();
    let arguments = ["load", "board", "--url", &url, "--users", &users, "--messages", &messages];
    let more = ["--cut", cut, "--tokens", &tokens, "--verify"];
    lodge.run_within(DEADLINE * 4, &[&arguments[..], &more].concat())
}

/// Returns the number of stored messages.
fn stored(lodge: &Lodge) -> u64 {
    lodge.query("SELECT count(*) FROM board_messages")
}

/// Kills and restarts the server `kills` times during a load run.
fn through_kills(lodge: &Lodge, kills: u64) -> CommandOutput {
    let server = lodge.start();
    let address = server.address;
    let (server, ran) = thread::scope(|scope| {
        let mut server = server;
        let load = scope.spawn(|| load(lodge, address, "200ms", MESSAGES));
        for kill in 1..=kills {
            let due = kill * USERS * MESSAGES / (kills + 2);
            eventually_true("the load continues", || load.is_finished() || stored(lodge) >= due);
            assert!(!load.is_finished(), "the load ended before the kill");
            server.kill();
            server = lodge.start_at(address);
        }
        (server, load.join().unwrap())
    });
    assert_eq!(server.stop(), Some(0));
    ran
}

#[test]
fn no_message_is_lost_or_repeated_by_kills_and_cut_streams() {
    let lodge = lodge();
    let ran = through_kills(&lodge, by_depth(5, 20));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("\nVERIFIED"), "{ran:?}");
    assert_eq!(stored(&lodge), USERS * MESSAGES);
}

/// A trigger replaces each client id after it is stored, so that no repeat is recognised.
#[test]
fn the_load_test_detects_a_client_id_that_is_not_unique() {
    let lodge = lodge();
    assert_eq!(lodge.start().stop(), Some(0));
    let forgets = "CREATE TRIGGER forgets AFTER INSERT ON board_messages
        BEGIN UPDATE board_messages SET client_id = hex(randomblob(16)) WHERE row = new.row; END";
    lodge.database().execute_batch(forgets).unwrap();
    let ran = through_kills(&lodge, by_depth(5, 20));
    assert!(stored(&lodge) > USERS * MESSAGES, "no message was sent twice");
    assert!(ran.code == 1 && ran.out.contains("NOT VERIFIED"), "{ran:?}");
}

/// A proxy removes the `Last-Event-ID` of every stream.
#[test]
fn the_load_test_detects_a_stream_that_does_not_resume() {
    let (lodge, server) = lodge().started();
    let forgetful = forgetful(server.address).unwrap();
    let ran = load(&lodge, forgetful, "30ms", MESSAGES / 4);
    assert!(ran.code == 1 && ran.out.contains("NOT VERIFIED"), "{ran:?}");
    let ran = load(&lodge, server.address, "30ms", 2);
    assert_eq!(ran.code, 0, "without the proxy all is well: {ran:?}");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn cut_page_streams_miss_and_repeat_no_message() {
    let (lodge, server) = lodge().started();
    let (url, tokens) = (format!("http://{}", server.address), lodge.file("tokens"));
    let tokens = tokens.display().to_string();
    let load = ["load", "board", "--url", &url, "--users", "8", "--messages", "20", "--pages"];
    let more = ["--cut", "30ms", "--tokens", &tokens, "--verify"];
    let ran = lodge.run_within(DEADLINE * 4, &[&load[..], &more].concat());
    assert!(ran.code == 0 && ran.out.contains("\nVERIFIED"), "{ran:?}");
    assert!(ran.out.contains(" cut on purpose"), "{ran:?}");
    assert!(!ran.out.contains(" 0 cut on purpose"), "{ran:?}");
    assert_eq!(server.stop(), Some(0));
}

/// A proxy to `server` that renames `Last-Event-ID`.
fn forgetful(server: SocketAddr) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let Ok(upstream) = TcpStream::connect(server) else { return };
            let (mut back, mut answers) =
                (client.try_clone().unwrap(), upstream.try_clone().unwrap());
            thread::spawn(move || pass(client, upstream));
            thread::spawn(move || {
                let _ = io::copy(&mut answers, &mut back);
                let _ = back.shutdown(Shutdown::Both);
            });
        }
    });
    Ok(address)
}

/// Forwards requests, each of which arrives in one read.
fn pass(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        let text =
            String::from_utf8_lossy(&buffer[..read]).replace("Last-Event-ID:", "X-Forgotten:");
        if to.write_all(text.as_bytes()).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
