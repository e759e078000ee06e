//! Pictures in a bucket pass the contract suite of the port; the bucket is reached over TLS, with the right key.

use std::{
    fs,
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
use tokio::net::TcpListener;

use crate::{
    accounts::{sign_in, sign_up},
    server::Lodge,
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
    let stranger = cluster().layout().secret(Kind::Redis).unwrap();
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
        let secret = cluster().layout().secret(Kind::S3).unwrap();
        assert!(!format!("{cause} {cause:?} {options:?}").contains(&secret), "{what}: {cause}");
    }
}

#[tokio::test]
async fn a_server_that_never_answers_delays_a_caller_for_a_bounded_time() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let bucket = Bucket::open(&Options { tls: None, endpoint, ..options() }).unwrap();
    let store = ObjectPictures::new(bucket.folder("accounts"));
    let (id, _) = picture("away");
    let begun = Instant::now();
    let found = store.get(id, PictureSize::Small).await;
    assert!(matches!(found, Err(Error::Unavailable { .. })), "{found:?}");
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}

#[test]
fn a_process_keeps_pictures_in_the_bucket_and_not_in_its_folder() {
    let settings = cluster().layout().picture_settings();
    let process =
        settings.into_iter().fold(Lodge::new(), |lodge, (name, value)| lodge.with(name, &value));
    let (lodge, server) = process.with("LODGE_S3_PREFIX", &fresh("pictures")).started();
    assert_eq!(sign_up(&server, "ada"), 201);
    let token = sign_in(&server, "ada");
    let put = server.ask("PUT", "/api/me/picture").bearer(&token).body(&files::jpeg()[..]);
    let account = put.expect(200).json();
    assert_eq!(server.stop(), Some(0));
    let server = lodge.start();
    let place = account["picture"]["large"].as_str().unwrap();
    assert!(server.get(place).expect(200).body.starts_with(b"\xff\xd8"));
    assert!(!lodge.data().join("pictures").exists());
}
