//! A failed decoder process affects only its own picture.

use std::{
    fs,
    path::PathBuf,
    process::Command,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::future::join_all;
use lodge_domain::{
    Error,
    accounts::{PictureDecoder, Shape},
};
use lodge_pictures::{DecoderOptions, DecoderProcess};
use tempfile::TempDir;

/// Writes a decoder that runs this shell script.
fn script(folder: &TempDir, does: &str) -> PathBuf {
    let program = folder.path().join("decoder");
    // Written by a child process: a process forked by another test could inherit the open file, and a file that is
    // open for writing cannot be executed (ETXTBSY).
    let write = r#"printf '#!/bin/sh\n%s\n' "$1" >"$0" && chmod 700 "$0""#;
    let written = Command::new("sh").args(["-c", write]).arg(&program).arg(does).status();
    assert!(written.unwrap().success());
    program
}

/// A decoder that reads the upload and answers with two empty pictures.
const GOOD: &str = r"cat >/dev/null
printf '\001\000\000\000\004\377\330\377\331\000\000\000\004\377\330\377\331'";

fn upload() -> Bytes {
    // Larger than the buffer of a pipe.
    vec![7; 1 << 20].into()
}

#[tokio::test]
async fn a_decoder_that_fails_affects_only_its_picture() {
    let folder = TempDir::new().unwrap();
    for does in [
        "kill -SEGV $$",
        "kill -KILL $$",
        "cat >/dev/null; kill -ABRT $$",
        "exit 1",
        "cat >/dev/null",
        "exec cat /dev/zero",
        "exec cat",
        "cat >/dev/null; printf '\\001\\000\\000\\000\\001x'",
        "exec sleep 1000",
        "cat >/dev/null; exec sleep 1000",
    ] {
        let deadline = Duration::from_millis(if does.contains("sleep") { 100 } else { 20_000 });
        let program = script(&folder, does);
        let decoder =
            DecoderProcess::new(DecoderOptions { deadline, ..DecoderOptions::new(program) });
        let refused = decoder.decode(upload(), Shape::Whole).await.unwrap_err();
        assert!(matches!(refused, Error::Invalid { .. }), "{does}: {refused:?}");
        assert!(refused.to_string().starts_with("picture: takes too much"), "{refused}");
        script(&folder, GOOD);
        let next = decoder.decode(upload(), Shape::Whole).await;
        assert!(next.is_ok() || does.contains("sleep"), "{does}, and then: {next:?}");
    }
}

#[tokio::test]
async fn a_decoder_that_cannot_start_is_an_internal_error() {
    let folder = TempDir::new().unwrap();
    let programs = [folder.path().join("absent"), script(&folder, "exit 71")];
    for program in programs {
        let decoder = DecoderProcess::new(DecoderOptions::new(program));
        let refused = decoder.decode(upload(), Shape::Whole).await.unwrap_err();
        assert!(matches!(refused, Error::Internal(_)), "{refused:?}");
    }
}

#[tokio::test]
async fn a_decoder_gets_no_environment() {
    let folder = TempDir::new().unwrap();
    let seen = folder.path().join("seen");
    let does = format!("{{ env; pwd; echo \"$@\"; }} >{}; {GOOD}", seen.display());
    let decoder = DecoderProcess::new(DecoderOptions::new(script(&folder, &does)));
    assert!(decoder.decode(upload(), Shape::Whole).await.is_ok());
    let seen = fs::read_to_string(seen).unwrap();
    let is_of_the_shell =
        |line: &&str| ["PWD=", "OLDPWD=", "_=", "SHLVL="].iter().any(|own| line.starts_with(own));
    let told: Vec<&str> = seen.lines().filter(|line| !is_of_the_shell(line)).collect();
    assert_eq!(told, ["MIMALLOC_ARENA_RESERVE=0", "/", "decode-picture"]);
}

#[tokio::test]
async fn a_picture_past_the_queue_limit_is_refused_at_once() {
    let folder = TempDir::new().unwrap();
    let options = DecoderOptions { waiting_max: 2, ..DecoderOptions::new(script(&folder, GOOD)) };
    let decoder = DecoderProcess::new(options);
    // All requests are made before the first answer.
    let answers = join_all((0..50).map(|_| decoder.decode(upload(), Shape::Whole))).await;
    let (good, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!((good.len(), refused.len()), (3, 47));
    assert!(refused.iter().all(|refused| matches!(refused, Err(Error::Unavailable { .. }))));
    assert!(decoder.decode(upload(), Shape::Whole).await.is_ok(), "the queue has capacity again");
}

#[tokio::test]
async fn a_picture_waiting_behind_a_hung_decoder_times_out() {
    let folder = TempDir::new().unwrap();
    let decoder = DecoderProcess::new(DecoderOptions {
        wait_max: Duration::from_millis(50),
        deadline: Duration::from_millis(500),
        ..DecoderOptions::new(script(&folder, "exec sleep 1000"))
    });
    let began = Instant::now();
    let answers = tokio::join!(
        decoder.decode(upload(), Shape::Whole),
        decoder.decode(upload(), Shape::Whole)
    );
    assert!(matches!(answers.0, Err(Error::Invalid { .. })), "{answers:?}");
    assert!(matches!(answers.1, Err(Error::Unavailable { .. })), "{answers:?}");
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn a_decoder_is_killed_when_its_caller_gives_up() {
    let folder = TempDir::new().unwrap();
    let seen = folder.path().join("seen");
    let does = format!("echo $$ >{0}.new; mv {0}.new {0}; exec sleep 1000", seen.display());
    let decoder = DecoderProcess::new(DecoderOptions::new(script(&folder, &does)));
    let asks = decoder.decode(upload(), Shape::Whole);
    let number = async {
        loop {
            match fs::read_to_string(&seen) {
                Ok(number) => break number,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    };
    let number = tokio::select! {
        answer = asks => panic!("{answer:?}"),
        number = number => number,
    };
    let process = PathBuf::from(format!("/proc/{}/cmdline", number.trim()));
    let deadline = Instant::now() + Duration::from_secs(20);
    // A dead process has no command line.
    while fs::read(&process).is_ok_and(|line| !line.is_empty()) {
        assert!(Instant::now() < deadline, "it still runs");
        tokio::task::yield_now().await;
    }
}
