//! Pictures in a bucket pass the contract suite of the port; the bucket is reached over TLS, with the right key.

use std::{
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use lodge_contract::pictures::{files, picture};
use lodge_domain::{
    Error,
    accounts::{PictureSize, PictureStore},
};
use lodge_engines::{
    Tls,
    s3::{Bucket, Options},
};
use lodge_pictures::ObjectPictures;
use lodge_testbed::{Kind, Member};
use object_store::ObjectStoreExt as _;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    time::timeout,
};

use crate::{
    accounts::{sign_in, sign_up},
    server::{Lodge, Server, text},
    testbed::{cluster, fresh},
};

/// How to reach the bucket of the cluster, with objects that no other test has.
fn options() -> Options {
    let cluster = cluster();
    let layout = cluster.layout();
    let root = fs::read_to_string(layout.authority().root()).unwrap();
    Options {
        endpoint: format!("https://{}", layout.address(Member { kind: Kind::S3, number: 1 })),
        region: "us-east-1".to_owned(),
        bucket: "lodge".to_owned(),
        prefix: fresh("lodge"),
        access_key_id: "lodge".to_owned(),
        secret_access_key: layout.secret(Kind::S3).unwrap().into(),
        tls: Some(Tls::trusting(Some(root))),
    }
}

#[expect(clippy::unused_async, reason = "the suite waits for its fixture")]
async fn fixture() -> (Arc<dyn PictureStore>, ()) {
    let bucket = Bucket::open(&options()).unwrap();
    (Arc::new(ObjectPictures::new(bucket.folder("accounts"))), ())
}

lodge_contract::pictures_promises!(fixture);

#[tokio::test]
async fn the_folders_of_a_bucket_do_not_share_pictures() {
    let bucket = Bucket::open(&options()).unwrap();
    let [one, other] = ["one", "other"].map(|name| ObjectPictures::new(bucket.folder(name)));
    let (id, picture) = picture("of one");
    one.put(id, picture.clone()).await.unwrap();
    other.remove(id).await.unwrap();
    assert_eq!(other.get(id, PictureSize::Small).await.unwrap(), None);
    let found = one.get(id, PictureSize::Small).await.unwrap();
    assert_eq!(found.as_ref(), picture.of(PictureSize::Small));
}

#[tokio::test]
async fn a_bucket_is_reached_over_tls_only_with_the_right_key() {
    let right = options();
    Bucket::open(&right).unwrap().probe().await.unwrap();
    let secrets = [Kind::S3, Kind::Redis].map(|kind| cluster().layout().secret(kind).unwrap());
    let stranger = secrets[1].clone();
    for (what, options) in [
        ("a wrong secret", Options { secret_access_key: stranger.into(), ..right.clone() }),
        ("a wrong id", Options { access_key_id: "stranger".to_owned(), ..right.clone() }),
        ("another bucket", Options { bucket: "stranger".to_owned(), ..right.clone() }),
        (
            "the authorities of the machine",
            Options { tls: Some(Tls::trusting(None)), ..right.clone() },
        ),
        (
            "no TLS",
            Options {
                tls: None,
                endpoint: right.endpoint.replace("https", "http"),
                ..right.clone()
            },
        ),
    ] {
        let probed = Bucket::open(&options).unwrap().probe().await;
        let Err(Error::Unavailable { cause, .. }) = probed else { panic!("{what}: {probed:?}") };
        let said = format!("{cause} {cause:?} {options:?}");
        assert!(!secrets.iter().any(|secret| said.contains(secret)), "{what}: {cause}");
    }
}

#[tokio::test]
async fn a_server_that_never_answers_delays_a_caller_for_a_bounded_time() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let bucket = Bucket::open(&Options { tls: None, endpoint, ..options() }).unwrap();
    // Without the timeout of the store above it.
    let folder = bucket.folder("accounts");
    let begun = Instant::now();
    let found = timeout(Duration::from_mins(1), folder.get(&"away".into())).await;
    assert!(matches!(found, Ok(Err(_))), "{found:?}");
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}

/// A server that answers every request with these bytes.
async fn answering(answer: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = answer.clone();
            tokio::spawn(async move {
                let mut asked = [0; 4096];
                let _ = stream.read(&mut asked).await;
                let _ = stream.write_all(&answer).await;
            });
        }
    });
    endpoint
}

fn answer(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
}

#[tokio::test]
async fn a_missing_bucket_is_unavailable_and_not_an_absent_picture() {
    let body = "<Error><Code>NoSuchBucket</Code></Error>";
    let endpoint = answering(answer("404 Not Found", body)).await;
    let bucket = Bucket::open(&Options { tls: None, endpoint, ..options() }).unwrap();
    let store = ObjectPictures::new(bucket.folder("accounts"));
    let (id, _) = picture("nowhere");
    let found = store.get(id, PictureSize::Small).await;
    let said = found.as_ref().map_err(Error::log_text);
    assert!(said.is_err_and(|said| said.contains("the bucket does not exist")), "{found:?}");
    let removed = store.remove(id).await;
    assert!(matches!(removed, Err(Error::Unavailable { .. })), "{removed:?}");
}

#[tokio::test]
async fn a_long_answer_takes_little_memory_and_little_of_the_log() {
    let bucket = async |answer| {
        let endpoint = answering(answer).await;
        Bucket::open(&Options { tls: None, endpoint, ..options() }).unwrap().folder("accounts")
    };
    let error = bucket(answer("403 Forbidden", &"x".repeat(100_000))).await;
    let said = error.get(&"any".into()).await.unwrap_err().to_string();
    assert!(said.contains("xxx") && said.len() < 2_000, "{} bytes", said.len());
    let picture = bucket(answer("200 OK", &"x".repeat(5_000_000))).await;
    let said = picture.get(&"any".into()).await.unwrap_err().to_string();
    assert!(said.contains("limit") && !said.contains("retries"), "{said}");
}

/// Returns a process with pictures in the bucket, below a prefix.
fn in_bucket(lodge: Lodge, prefix: &str) -> Lodge {
    let settings = cluster().layout().picture_settings();
    let lodge = settings.into_iter().fold(lodge, |lodge, (name, value)| lodge.with(name, &value));
    lodge.with("LODGE_S3_PREFIX", prefix)
}

/// Signs up, and sets a picture and posts another. Returns the session, and where the pictures are.
fn two_pictures(server: &Server) -> (String, [String; 2]) {
    assert_eq!(sign_up(server, "ada"), 201);
    let token = sign_in(server, "ada");
    let put = server.ask("PUT", "/api/me/picture").bearer(&token).body(&files::jpeg()[..]);
    let account = put.expect(200).json();
    let post = server.ask("POST", "/api/board/lobby/messages").bearer(&token);
    let parts = [("client_id", None, &b"one"[..]), ("picture", Some("f"), &files::jpeg())];
    let message = post.parts(&parts).expect(201).json();
    let places = [&account["picture"]["large"], &message["picture"]["url"]];
    (token, places.map(|place| place.as_str().unwrap().to_owned()))
}

fn statuses(server: &Server, token: &str, places: &[String; 2]) -> [u16; 2] {
    places.each_ref().map(|place| server.ask("GET", place).bearer(token).send().status)
}

#[test]
fn a_process_keeps_pictures_in_the_bucket_and_not_in_its_folder() {
    let process = in_bucket(Lodge::new(), &fresh("pictures"));
    let (lodge, server) = process.with("LODGE_LOG_FILTER", "debug").started();
    let (token, places) = two_pictures(&server);
    let secret = cluster().layout().secret(Kind::S3).unwrap();
    assert!(!server.log().contains(&secret));
    assert_eq!(server.stop(), Some(0));
    let server = lodge.start();
    assert_eq!(statuses(&server, &token, &places), [200; 2]);
    for folder in ["pictures", "message-pictures"] {
        assert!(!lodge.data().join(folder).exists(), "{folder}");
    }
    assert_eq!(server.stop(), Some(0));
    let on_files = lodge.with("LODGE_PICTURES_STORE", "files").with("LODGE_S3_BUCKET", "");
    assert_eq!(statuses(&on_files.start(), &token, &places), [404; 2]);
}

#[test]
fn a_move_brings_pictures_of_accounts_and_messages_into_the_bucket() {
    let (source, server) = Lodge::new().started();
    let (token, places) = two_pictures(&server);
    assert_eq!(server.stop(), Some(0));
    let prefix = fresh("moved");
    for _ in 0..2 {
        let moved = in_bucket(Lodge::new(), &prefix).run(&["move", "--from", text(&source.data())]);
        let moved = moved.expect(0).out;
        assert!(moved.starts_with("pictures of accounts: 1, "), "{moved}");
        assert!(moved.contains(" s, verified\npictures of messages: 1, "), "{moved}");
        assert!(moved.ends_with(" s, verified\n"), "{moved}");
    }
    for folder in ["pictures", "message-pictures"] {
        fs::remove_dir_all(source.data().join(folder)).unwrap();
    }
    let server = in_bucket(source, &prefix).start();
    assert_eq!(statuses(&server, &token, &places), [200; 2]);
}

#[test]
fn a_move_without_all_pictures_fails() {
    let (source, server) = Lodge::new().started();
    two_pictures(&server);
    assert_eq!(server.stop(), Some(0));
    let data = source.data();
    let [kept, elsewhere] = ["pictures", "elsewhere"].map(|name| data.join(name));
    fs::rename(&kept, &elsewhere).unwrap();
    let destination = in_bucket(Lodge::new(), &fresh("moved"));
    let from = ["move", "--from", text(&data)];
    let without = destination.run(&from).expect(1);
    assert!(without.err.contains("1 accounts have a picture, but"), "{without:?}");
    let named = |lodge: &Lodge, folder: &Path| {
        lodge.run(&[&from[..], &["--pictures", text(folder)]].concat())
    };
    named(&destination, &kept).fails("there is no such folder");
    let refused = named(&Lodge::new(), &elsewhere).expect(78);
    assert!(refused.err.contains("links.store must be"), "{refused:?}");
    let moved = named(&destination, &elsewhere).expect(0).out;
    assert!(moved.starts_with("pictures of accounts: 1, "), "{moved}");
}
