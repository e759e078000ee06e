//! Whatever a peer sends, on either side: it is cut into frames of bounded length, and each of them is a
//! message or none.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use lodge_domain::accounts::Call;
use lodge_wire::raw::{Answered, FRAME_BYTES_MAX, FromClient, FromServer, Greeting, Verdict, codec};
use serde::{Serialize, de::DeserializeOwned};
use tokio_util::codec::Decoder;

fuzz_target!(|bytes: &[u8]| {
    let mut left = BytesMut::from(bytes);
    let mut codec = codec();
    while let Ok(Some(frame)) = codec.decode(&mut left) {
        assert!(frame.len() <= FRAME_BYTES_MAX);
        again::<Greeting>(&frame);
        again::<Answered>(&frame);
        again::<Verdict>(&frame);
        again::<FromServer>(&frame);
        again::<FromClient>(&frame);
        again::<Call>(&frame);
    }
});

/// What is read is read again from what it is written as.
fn again<T: Serialize + DeserializeOwned>(frame: &[u8]) {
    if let Ok(message) = serde_json::from_slice::<T>(frame) {
        let written = serde_json::to_vec(&message).unwrap();
        let read: T = serde_json::from_slice(&written).unwrap();
        assert_eq!(serde_json::to_vec(&read).unwrap(), written);
    }
}
