//! Every message reaches every stream once, whatever happens to the process that serves them.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    thread,
};

use lodge_testbed::by_depth;

use crate::{DEADLINE, Lodge, Ran, eventually_true};

const USERS: u64 = 24;

/// Messages of each user: so many that some are on their way at every kill.
const MESSAGES: u64 = 60;

fn lodge() -> Lodge {
    let lodge = Lodge::new().with("LODGE_APPS", "board");
    let unlimited = ["POSTS", "SIGN_UPS", "ATTEMPTS"];
    unlimited
        .into_iter()
        .fold(lodge, |lodge, what| lodge.with(&format!("LODGE_LIMITS_{what}_PER_MINUTE"), "0"))
}

/// Puts load on the board, with its connections cut at random; what it says in the end.
fn load(lodge: &Lodge, at: SocketAddr, cut: &str, messages: u64) -> Ran {
    let (url, users, messages) = (format!("http://{at}"), USERS.to_string(), messages.to_string());
    let tokens = lodge.file("tokens").display().to_string();
    let arguments = ["load", "board", "--url", &url, "--users", &users, "--messages", &messages];
    let more = ["--cut", cut, "--tokens", &tokens, "--verify"];
    lodge.run_within(DEADLINE * 4, &[&arguments[..], &more].concat())
}

/// Messages that are stored.
fn stored(lodge: &Lodge) -> u64 {
    lodge.query("SELECT count(*) FROM board_messages")
}

/// Kills the server so often while load is on it, and starts it again.
fn through_kills(lodge: &Lodge, kills: u64) -> Ran {
    let server = lodge.start();
    let address = server.address;
    let (server, ran) = thread::scope(|scope| {
        let mut server = server;
        let load = scope.spawn(|| load(lodge, address, "200ms", MESSAGES));
        for kill in 1..=kills {
            let due = kill * USERS * MESSAGES / (kills + 2);
            eventually_true("the load goes on", || load.is_finished() || stored(lodge) >= due);
            assert!(!load.is_finished(), "the load ended before it was disturbed");
            server.kill();
            server = lodge.start_at(address);
        }
        (server, load.join().unwrap())
    });
    assert_eq!(server.stop(), Some(0));
    ran
}

#[test]
fn kills_under_streams_that_are_cut_lose_and_repeat_no_message() {
    let lodge = lodge();
    let ran = through_kills(&lodge, by_depth(5, 20));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("\nVERIFIED"), "{ran:?}");
    assert_eq!(stored(&lodge), USERS * MESSAGES);
}

/// The store gives up each client id as soon as it has it, and so knows nothing again.
#[test]
fn it_is_seen_where_a_client_id_is_not_for_one_message() {
    let lodge = lodge();
    assert_eq!(lodge.start().stop(), Some(0));
    let forgets = "CREATE TRIGGER forgets AFTER INSERT ON board_messages
        BEGIN UPDATE board_messages SET client_id = hex(randomblob(16)) WHERE row = new.row; END";
    lodge.database().execute_batch(forgets).unwrap();
    let ran = through_kills(&lodge, by_depth(5, 20));
    assert!(stored(&lodge) > USERS * MESSAGES, "none was sent twice");
    assert!(ran.code == 1 && ran.out.contains("NOT VERIFIED"), "{ran:?}");
}

/// Somebody in between takes away what says how far a stream has come.
#[test]
fn it_is_seen_where_a_stream_does_not_go_on_from_where_it_was() {
    let (lodge, server) = lodge().started();
    let forgetful = forgetful(server.address).unwrap();
    let ran = load(&lodge, forgetful, "30ms", MESSAGES);
    assert!(ran.code == 1 && ran.out.contains("NOT VERIFIED"), "{ran:?}");
    let ran = load(&lodge, server.address, "30ms", 2);
    assert_eq!(ran.code, 0, "nothing else is wrong: {ran:?}");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn pages_whose_streams_are_cut_miss_and_repeat_no_message() {
    let (lodge, server) = lodge().started();
    let (url, tokens) = (format!("http://{}", server.address), lodge.file("tokens"));
    let tokens = tokens.display().to_string();
    let load = ["load", "board", "--url", &url, "--users", "8", "--messages", "20", "--pages"];
    let more = ["--cut", "30ms", "--tokens", &tokens, "--verify"];
    let ran = lodge.run_within(DEADLINE * 4, &[&load[..], &more].concat());
    assert!(ran.code == 0 && ran.out.contains("\nVERIFIED"), "{ran:?}");
    assert!(!ran.out.contains(" 0 cut by us"), "{ran:?}");
    assert_eq!(server.stop(), Some(0));
}

/// Passes everything on to `server` but `Last-Event-ID`.
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

/// Requests come in one piece each.
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
