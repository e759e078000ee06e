//! Any bytes from a client or a server: they are split into frames of bounded length, each of which is a
//! valid message or refused.
#![no_main]

use bytes::{Bytes, BytesMut};
use libfuzzer_sys::fuzz_target;
use lodge_domain::accounts::Call;
use lodge_wire::raw::{
    Bytes32, ClientHello, FRAME_BYTES_MAX, FromClient, FromServer, HandshakeResult, Outcome,
    ServerHello, codec,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};
use tokio_util::codec::{Decoder, Encoder};

#[path = "../../crates/wire/tests/it/samples.rs"]
mod samples;
mod seeds;

use samples::table;

fuzz_target!(init: seeds::sow("wire", messages().into_iter().map(framed)), |bytes: &[u8]| {
    let mut left = BytesMut::from(bytes);
    let mut codec = codec();
    while let Ok(Some(frame)) = codec.decode(&mut left) {
        assert!(frame.len() <= FRAME_BYTES_MAX);
        again::<ServerHello>(&frame);
        again::<ClientHello>(&frame);
        again::<HandshakeResult>(&frame);
        again::<FromServer>(&frame);
        again::<FromClient>(&frame);
        again::<Call>(&frame);
        again::<Outcome>(&frame);
    }
});

/// Checks that a parsed message survives serialisation.
fn again<T: Serialize + DeserializeOwned>(frame: &[u8]) {
    if let Ok(message) = serde_json::from_slice::<T>(frame) {
        let written = serde_json::to_vec(&message).unwrap();
        let read: T = serde_json::from_slice(&written).unwrap();
        assert_eq!(serde_json::to_vec(&read).unwrap(), written);
    }
}

/// Returns a message of each kind.
fn messages() -> Vec<Value> {
    let some = Bytes32([7; 32]);
    let greeting = ServerHello {
        versions: vec![4],
        challenge: some,
        in_flight_max: 64,
        refused: Some(String::new()),
    };
    let answered = ClientHello { version: 4, challenge: some, proof: some };
    let calls = calls();
    let mut messages = vec![
        json!(greeting),
        json!(answered),
        json!(HandshakeResult::Welcome(some)),
        json!(HandshakeResult::Refused("why".to_owned())),
        json!(FromServer::Pong),
        json!(FromServer::Closing),
        json!(FromClient::Ping),
        json!(FromClient::Cancel { id: 7 }),
    ];
    for outcome in outcomes() {
        assert!(serde_json::from_value::<Outcome>(outcome.clone()).is_ok(), "{outcome}");
        messages.push(json!(FromServer::Answer { id: 7, outcome: raw(&outcome) }));
        messages.push(outcome);
    }
    for call in &calls {
        assert!(serde_json::from_value::<Call>(call.clone()).is_ok(), "{call}");
        messages.push(json!(FromClient::Call { id: 7, deadline_ms: 9_000, call: raw(call) }));
    }
    messages.extend(calls);
    messages
}

/// Returns a call of each kind.
fn calls() -> Vec<Value> {
    let digest = [7_u8; 32];
    let own = |call| json!({ "own": { "session": digest, "call": call } });
    let commands =
        table("### Moderation commands").into_iter().map(|command| json!({ "moderate": command }));
    let own_calls = table("### Calls about the own account").into_iter().chain(commands);
    table("### Calls").into_iter().chain(own_calls.map(own)).collect()
}

/// Returns a refusal, and a reply of each kind.
fn outcomes() -> Vec<Value> {
    let arrived = [
        json!({ "login": { "sign_up": { "ticket": "x", "suggested": "ada", "next": "" } } }),
        json!({ "login": "linked" }),
    ];
    let replies = table("### Replies").into_iter().chain(arrived);
    let replies = replies.map(|reply| json!({ "Ok": reply }));
    let refused = json!({ "too_many": { "retry_after": { "secs": 9, "nanos": 0 } } });
    replies.chain([json!({ "Err": refused })]).collect()
}

fn raw(value: &Value) -> Box<RawValue> {
    to_raw_value(value).unwrap()
}

/// Encodes a message as a frame.
fn framed(message: Value) -> BytesMut {
    let (written, mut frame) = (Bytes::from(message.to_string()), BytesMut::new());
    codec().encode(written, &mut frame).unwrap();
    frame
}
