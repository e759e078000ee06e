//! Whatever a peer sends, on either side: it is cut into frames of bounded length, and each of them is a
//! message or none.
#![no_main]

use bytes::{Bytes, BytesMut};
use libfuzzer_sys::fuzz_target;
use lodge_domain::accounts::Call;
use lodge_wire::raw::{
    Answered, Bytes32, FRAME_BYTES_MAX, FromClient, FromServer, Greeting, Outcome, Verdict, codec,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};
use tokio_util::codec::{Decoder, Encoder};

mod seeds;

fuzz_target!(init: seeds::sow("wire", messages().into_iter().map(framed)), |bytes: &[u8]| {
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
        again::<Outcome>(&frame);
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

/// A message of each kind.
fn messages() -> Vec<Value> {
    let some = Bytes32([7; 32]);
    let greeting = Greeting {
        versions: vec![1],
        challenge: some,
        in_flight_max: 64,
        refused: Some(String::new()),
    };
    let answered = Answered { version: 1, challenge: some, proof: some };
    let calls = calls();
    let mut messages = vec![
        json!(greeting),
        json!(answered),
        json!(Verdict::Welcome(some)),
        json!(Verdict::Refused("why".to_owned())),
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

/// A call of each kind.
fn calls() -> Vec<Value> {
    let digest = [7_u8; 32];
    let session = "01890000-0000-7000-8000-000000000000";
    let picture = "07".repeat(32);
    let own = |wish: Value| json!({ "own": { "session": digest, "wish": wish } });
    let order = |order: Value| own(json!({ "keep_order": order }));
    vec![
        json!({ "sign_up": {
            "wish": { "username": "ada", "password": "first word", "nickname": "Ada", "email": "ada@example.org" },
            "attempt": { "id": digest, "fingerprint": digest, "at": "2026-01-02T03:04:05Z" },
        } }),
        json!({ "sign_in": { "username": "ada", "password": "x", "from": "192.0.2.1", "agent": "a" } }),
        json!({ "reset_password": { "username": "ada", "code": "x", "new": "next word" } }),
        json!({ "who": digest }),
        json!({ "user": "ada" }),
        json!({ "changed_since": { "feed": session, "at": 7 } }),
        json!("providers"),
        json!({ "depart": { "provider": "acme", "redirect_uri": "https://go.example.org/", "next": "/x" } }),
        json!({ "arrive": {
            "arrival": { "provider": "acme", "kept": "x", "state": "x", "code": "x", "error": "x", "issuer": "x" },
            "agent": "a",
            "session": digest,
        } }),
        json!({ "make_from_provider": { "ticket": digest, "username": "ada", "agent": "a" } }),
        json!({ "pictured": [picture] }),
        own(json!({ "edit": { "nickname": "Ada", "email": null } })),
        own(json!({ "change_password": { "current": "x", "new": "next word", "from": "2001:db8::1" } })),
        own(json!({ "delete": { "current": "x", "from": "2001:db8::1" } })),
        own(json!({ "sign_out": session })),
        own(json!({ "depart": { "provider": "acme", "redirect_uri": "x", "current": "x" } })),
        own(json!({ "unlink": "https://id.example.org" })),
        own(json!({ "set_picture": picture })),
        own(json!("export")),
        order(json!({ "list": { "prefix": "a", "after": "ada", "limit": 7 } })),
        order(json!({ "ban": "ada" })),
        order(json!({ "set_role": ["ada", "moderator"] })),
    ]
}

/// A refusal, and a reply of each kind.
fn outcomes() -> Vec<Value> {
    let (uuid, at) = ("01890000-0000-7000-8000-000000000000", "2026-01-02T03:04:05Z");
    let picture = "07".repeat(32);
    let account = json!({
        "id": 7, "username": "ada", "nickname": "Ada", "email": "ada@example.org", "role": "moderator",
        "has_password": true, "created_at": at, "banned_at": null, "epoch": 1, "picture": picture,
    });
    let session =
        json!({ "id": uuid, "account": 7, "created_at": at, "expires_at": at, "agent": "a" });
    let signed_in = json!({ "session": session, "account": account });
    let fresh = json!({ "token": "x", "signed_in": signed_in });
    let identities = json!([{
        "identity": { "issuer": "https://id.example.org", "subject": "ada" },
        "linked_at": at,
    }]);
    let events = json!([{ "account": 7, "at": at, "kind": "banned", "by": { "staff": 8 } }]);
    let replies = [
        json!("done"),
        json!({ "signed_up": { "outcome": account, "replayed": true } }),
        json!({ "signed_in": fresh }),
        json!({ "who": signed_in }),
        json!({ "account": account }),
        json!({ "sessions": [session] }),
        json!({ "changed": {
            "accounts": [7], "place": { "feed": uuid, "at": 7 }, "more": true, "begins_anew": true,
        } }),
        json!({ "export": {
            "account": account, "sessions": [session], "events": events, "identities": identities,
        } }),
        json!({ "accounts": [account] }),
        json!({ "code": "x" }),
        json!({ "providers": [{ "name": "acme", "title": "Acme", "issuer": "x" }] }),
        json!({ "departed": { "url": "https://id.example.org/", "kept": "x" } }),
        json!({ "arrived": { "signed_in": { "fresh": fresh, "next": "/x" } } }),
        json!({ "arrived": { "newcomer": { "ticket": "x", "suggested": "ada", "next": "" } } }),
        json!({ "arrived": "linked" }),
        json!({ "identities": identities }),
        json!({ "picture_set": { "account": account, "former": picture } }),
        json!({ "pictured": [picture] }),
        json!({ "deleted": { "picture": null } }),
    ];
    let refused = json!({ "kind": "too_many", "message": "x", "field": "x", "retry_after_ms": 9 });
    let replies = replies.into_iter().map(|reply| json!({ "reply": reply }));
    replies.chain([json!({ "refused": refused })]).collect()
}

fn raw(value: &Value) -> Box<RawValue> {
    to_raw_value(value).unwrap()
}

/// As it crosses the network.
fn framed(message: Value) -> BytesMut {
    let (written, mut frame) = (Bytes::from(message.to_string()), BytesMut::new());
    codec().encode(written, &mut frame).unwrap();
    frame
}
