//! What the load generator finds on correct and faulty boards.

use std::net::SocketAddr;

use lodge_load::RunOutcome;

use super::{Manner, Resume, SOUND, Take, Tell, board};
use crate::{Ran, load_into};

const OPTIONS: &str = "board --users 5 --rate 300 --duration 200ms --workers 2 --verify";

fn board_load(address: SocketAddr, options: &str) -> Ran {
    load_into(address, &format!("{OPTIONS} {options}"), &["json", "html"])
}

#[test]
fn streams_on_all_servers_are_verified_to_have_every_message_once() {
    let (address, board) = board(SOUND);
    let servers = format!("--streams-per-user 2 --servers http://{}", board.serve(9));
    let ran = board_load(address, &servers);
    assert!(ran.text.ends_with("\nVERIFIED\n"), "{}", ran.text);
    assert_eq!(ran.outcome, RunOutcome::Passed);
    ran.is("/messages/acknowledged", 60.0);
    ran.is("/verification/streams", 10.0);
    ran.is("/each_stream_ms/count", 600.0);
    ran.is("/until_last_ms/count", 60.0);
    ran.is("/posts/succeeded", 60.0);
    assert!((board.count() - 60.0).abs() < 1e-9);
    let origins = board.newest();
    assert!(origins[&7] > 0 && origins[&9] > 0, "posts went to one server alone: {origins:?}");
    for figure in ["mean 23430 ms", "mean 2600 ms", "250 clients", "10, 100 and 500 users"] {
        assert!(ran.text.contains(figure), "no {figure} in {}", ran.text);
    }
    assert!(ran.html.contains("VERIFIED") && ran.html.contains("post to the last stream"));
}

#[test]
fn lost_repeated_reordered_and_changed_messages_are_told_apart() {
    let cases: [(&str, Manner, &[&str]); 10] = [
        (
            "lost on one stream",
            tell(|s, e| when(s == 2 && e == 9, Tell::Never)),
            &["missing", "gaps"],
        ),
        ("delivered twice", tell(|s, e| when(s == 2 && e == 9, Tell::Twice)), &["repeats"]),
        ("delivered late", tell(|s, e| when(s == 2 && e == 9, Tell::Late)), &["out_of_order"]),
        ("misquoted", tell(|s, e| when(s == 2 && e == 9, Tell::Misquote)), &["garbled", "missing"]),
        ("misdated", tell(|s, e| when(s == 2 && e == 9, Tell::Misdate)), &["misplaced"]),
        (
            "a number skipped",
            post(|n, _| if n == 10 { Take::StoreAfterGap } else { Take::Store }),
            &["gaps"],
        ),
        (
            "two with one number",
            post(|n, _| if n % 10 == 0 { Take::StoreAsLast } else { Take::Store }),
            &["shared_places", "repeats"],
        ),
        (
            "another id",
            post(|n, _| if n == 10 { Take::StoreAndLie } else { Take::Store }),
            &["misplaced"],
        ),
        (
            "never stored",
            post(|n, _| if n == 10 { Take::Pretend } else { Take::Store }),
            &["missing"],
        ),
        (
            "refused and stored",
            post(|n, _| if n == 10 { Take::StoreAndSay(403) } else { Take::Store }),
            &["refused_stored"],
        ),
    ];
    std::thread::scope(|scope| {
        for (what, manner, faults) in cases {
            scope.spawn(move || assert_found(what, manner, faults));
        }
    });
}

/// Asserts that the verification fails with these faults and no others.
fn assert_found(what: &str, manner: Manner, faults: &[&str]) {
    let (address, _) = board(manner);
    // Do not wait the default time for messages that never arrive.
    let catch_up = if faults.contains(&"missing") { "--catch-up 2s" } else { "" };
    let ran = board_load(address, catch_up);
    assert!(ran.text.ends_with("\nNOT VERIFIED\n"), "{what}: {}", ran.text);
    assert!(ran.text.contains("for example: "), "{what}: {}", ran.text);
    assert_eq!((ran.outcome, ran.outcome.exit_code()), (RunOutcome::Failed, 1));
    for fault in faults {
        let count = ran.number(&format!("/verification/{fault}"));
        assert!(count > 0.0, "{what}: no {fault} in {}", ran.text);
    }
    // Reordered and repeated messages are not lost.
    for other in ["missing", "gaps", "repeats", "out_of_order", "garbled", "refused_stored"] {
        if !faults.contains(&other) {
            assert_eq!(ran.json["verification"][other], 0, "{what}: {}", ran.text);
        }
    }
}

fn tell(tell: fn(u64, usize) -> Tell) -> Manner {
    Manner { tell, ..SOUND }
}

fn post(post: fn(u64, u64) -> Take) -> Manner {
    Manner { post, ..SOUND }
}

fn when(is_so: bool, tell: Tell) -> Tell {
    if is_so { tell } else { Tell::Once }
}

#[test]
fn a_stream_that_is_cut_resumes_from_its_cursor() {
    let (address, _) = board(SOUND);
    let ran = board_load(address, "--cut 20ms");
    assert!(ran.number("/ends/cut") >= 5.0, "{}", ran.text);
    assert!(ran.text.ends_with("\nVERIFIED\n"), "{}", ran.text);
}

#[test]
fn page_streams_are_verified_like_api_streams() {
    let (address, _) = board(SOUND);
    let ran = board_load(address, "--pages --cut 20ms");
    assert!(ran.number("/ends/cut") >= 5.0, "{}", ran.text);
    assert!(ran.text.contains(" 5 page streams;"), "{}", ran.text);
    assert_eq!(ran.json["options"]["listening"], "pages");
    ran.is("/until_last_ms/count", 60.0);
    assert!(ran.text.ends_with("\nVERIFIED\n"), "{}", ran.text);
    for (manner, fault) in [
        (tell(|s, e| when(s == 2 && e == 9, Tell::Never)), "missing"),
        (tell(|s, e| when(s == 2 && e == 9, Tell::Misquote)), "garbled"),
    ] {
        let (address, _) = board(manner);
        let ran = board_load(address, "--pages --catch-up 2s");
        let count = ran.number(&format!("/verification/{fault}"));
        assert!(count > 0.0 && ran.text.ends_with("\nNOT VERIFIED\n"), "{fault}: {}", ran.text);
    }
}

#[test]
fn a_stream_that_the_server_ends_is_reopened() {
    let (address, _) = board(tell(|_, event| when(event % 10 == 3, Tell::AndEnd)));
    let ran = board_load(address, "");
    assert!(ran.number("/ends/lost") >= 5.0, "{}", ran.text);
    assert!(ran.text.ends_with("\nVERIFIED\n"), "{}", ran.text);
}

#[test]
fn a_run_survives_a_server_that_crashes_and_restarts() {
    let (address, _) = board(post(|number, tries| match (number, tries) {
        (20 | 40, 1) => Take::Crash,
        _ => Take::Store,
    }));
    let ran = board_load(address, "");
    ran.is("/messages/acknowledged", 60.0);
    assert!(ran.number("/ends/lost") >= 10.0, "{}", ran.text);
    assert!(ran.number("/messages/retries") >= 2.0, "{}", ran.text);
    assert!(ran.text.ends_with("\nVERIFIED\n"), "{}", ran.text);
}

#[test]
fn a_server_that_ignores_a_streams_cursor_is_detected() {
    for (resume, fault) in
        [(Resume::FromFirst, "repeats_after_reconnect"), (Resume::FromNow, "missing")]
    {
        let (address, _) = board(Manner { resume, ..SOUND });
        // Often enough that a message is posted while a stream is closed.
        let ran = board_load(address, "--cut 5ms --catch-up 500ms");
        let count = ran.number(&format!("/verification/{fault}"));
        assert!(count > 0.0 && ran.text.ends_with("\nNOT VERIFIED\n"), "{fault}: {}", ran.text);
    }
}

#[test]
fn a_message_is_retried_under_its_client_id_until_it_is_acknowledged() {
    let (address, board) = board(post(|number, tries| match (number % 3, tries) {
        (0, 1) => Take::Say(503),
        (0, 2) | (1, 1) => Take::StoreAndClose,
        (2, 1) => Take::StoreAndSay(503),
        _ => Take::Store,
    }));
    let ran = board_load(address, "");
    ran.are("/messages", [("acknowledged", 60.0), ("retries", 80.0), ("new_as_repeat", 0.0)]);
    ran.is("/verification/unknown", 0.0);
    assert!((board.count() - 60.0).abs() < 1e-9, "{}", ran.text);
    assert!(ran.text.ends_with("\nVERIFIED\n"), "{}", ran.text);
}

#[test]
fn a_message_of_unknown_outcome_may_be_stored_once_or_not_at_all() {
    let (address, _) = board(post(|number, _| match number % 10 {
        3 => Take::StoreAndSay(503),
        7 => Take::Say(503),
        _ => Take::Store,
    }));
    let ran = board_load(address, "--patience 50ms");
    ran.is("/messages/acknowledged", 48.0);
    ran.are("/verification", [("unknown", 12.0), ("unknown_stored", 6.0)]);
    assert!(ran.text.ends_with("\nVERIFIED\n"), "{}", ran.text);
    let uneven = Manner {
        post: |number, _| if number == 3 { Take::StoreAndSay(503) } else { Take::Store },
        // Stream 1 never delivers the message of unknown outcome.
        tell: |stream, event| when(stream == 1 && event == 2, Tell::Never),
        ..SOUND
    };
    let (address, _) = self::board(uneven);
    let ran = board_load(address, "--patience 50ms --connections 1 --catch-up 2s");
    ran.are("/verification", [("unknown_uneven", 1.0), ("missing", 0.0)]);
    assert!(ran.text.ends_with("\nNOT VERIFIED\n"), "{}", ran.text);
}

#[test]
fn a_run_without_an_acknowledged_message_is_not_verified() {
    let (address, _) = board(post(|_, _| Take::Say(403)));
    let ran = board_load(address, "");
    assert!(ran.text.ends_with("\nNOT VERIFIED: no message was acknowledged\n"), "{}", ran.text);
    ran.is("/messages/refused", 60.0);
    assert_eq!((ran.outcome, ran.outcome.exit_code()), (RunOutcome::Failed, 1));
}

#[test]
fn in_a_closed_loop_every_account_posts_the_same_number() {
    let (address, board) = board(SOUND);
    let options = "board --users 7 --messages 11 --workers 2 --verify";
    let ran = load_into(address, options, &["json"]);
    ran.is("/messages/acknowledged", 77.0);
    ran.is("/until_last_ms/count", 77.0);
    let posts: Vec<u64> = board.state.lock().unwrap().authors.values().copied().collect();
    assert_eq!(posts, [11; 7]);
    assert!(ran.text.ends_with("\nVERIFIED\n"), "{}", ran.text);
}

#[test]
fn saved_tokens_need_no_second_sign_in() {
    let (address, board) = board(SOUND);
    let folder = tempfile::tempdir().unwrap();
    let tokens = format!("--tokens {}", folder.path().join("tokens").display());
    let asked = || {
        let state = board.state.lock().unwrap();
        (state.sign_ups, state.sign_ins)
    };
    for (options, expected) in
        [(&*tokens, (5, 5)), (&*tokens, (5, 5)), ("", (10, 10)), (&*tokens, (10, 10))]
    {
        let ran = board_load(address, options);
        assert!(ran.text.ends_with("\nVERIFIED\n"), "{}", ran.text);
        assert_eq!(asked(), expected, "{options}");
    }
}
