//! The handshake: the server sends its versions and a challenge; the client picks a version, proves that it has
//! the key, and sends a challenge; the server proves that it has the key, too.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::{
    frame::{ConnectionError, Incoming, Outgoing, receive_as, send, send_last, trust, written},
    key::{Challenges, SharedKey, Side, challenge},
};

/// The protocol version. Within a version, fields and calls are only added.
const VERSION: u32 = 5;

/// The server's first frame.
#[derive(Debug, Serialize, Deserialize)]
pub struct ServerHello {
    /// The versions that the server supports.
    pub versions: Vec<u32>,
    /// The challenge over which the client proves its key.
    pub challenge: Bytes32,
    /// The most calls in flight on this connection.
    pub in_flight_max: u32,
    /// Why the server refuses the connection, which it then closes; `None` if it accepts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// The client's first frame.
#[derive(Debug, Serialize, Deserialize)]
pub struct ClientHello {
    /// The version that the client picks.
    pub version: u32,
    /// The challenge over which the server proves its key.
    pub challenge: Bytes32,
    /// The client's proof that it has the key.
    pub proof: Bytes32,
}

/// The server's second frame.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandshakeResult {
    /// The client is accepted; the server's proof that it has the key.
    Welcome(Bytes32),
    /// The client is refused, with the reason; the connection closes.
    Refused(String),
}

/// 32 bytes, in base64 without padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes32(pub [u8; 32]);

impl Serialize for Bytes32 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD_NO_PAD.encode(self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes32 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD_NO_PAD.decode(text).map_err(D::Error::custom)?;
        bytes.try_into().map(Self).map_err(|_| D::Error::custom("not 32 bytes"))
    }
}

/// The reason for refusing a connection past the limit.
pub(crate) const FULL: &str = "connection limit reached";

/// Refuses a connection with a reason, before the client has sent anything.
pub(crate) async fn refuse(frames: &mut Outgoing, why: &str, patience: Duration) {
    let greeting = ServerHello {
        versions: vec![VERSION],
        challenge: Bytes32(challenge()),
        in_flight_max: 0,
        refused: Some(why.to_owned()),
    };
    // A client that does not read this only sees the connection close.
    let _ = send_last(frames, written(&greeting), patience).await;
}

/// Performs the server's side. An unauthenticated client gets nothing but this; an authenticated one gets a `place`
/// if one is free.
pub(crate) async fn accept<P>(
    (incoming, outgoing): (&mut Incoming, &mut Outgoing),
    key: &SharedKey,
    in_flight_max: u32,
    patience: Duration,
    place: impl FnOnce() -> Option<P>,
) -> Result<P, ConnectionError> {
    let ours = challenge();
    let challenge = Bytes32(ours);
    let greeting = ServerHello { versions: vec![VERSION], challenge, in_flight_max, refused: None };
    send(outgoing, written(&greeting), patience).await?;
    let answered: ClientHello = receive_as(incoming, patience).await?;
    let challenges = Challenges { server: ours, client: answered.challenge.0 };
    let met = if answered.version != VERSION {
        Err("unsupported protocol version")
    } else if !key.accepts(Side::Client, &challenges, &answered.proof.0) {
        Err("wrong key")
    } else {
        place().ok_or(FULL)
    };
    match met {
        Ok(place) => {
            let proof = HandshakeResult::Welcome(Bytes32(key.proof(Side::Server, &challenges)));
            send(outgoing, written(&proof), patience).await?;
            trust(incoming);
            Ok(place)
        }
        Err(why) => {
            let refused = HandshakeResult::Refused(why.to_owned());
            // The reason stays the same if the client has disconnected.
            let _ = send_last(outgoing, written(&refused), patience).await;
            Err(ConnectionError::Rejected(why))
        }
    }
}

/// Performs the client's side; returns the most calls in flight.
pub(crate) async fn connect(
    (incoming, outgoing): (&mut Incoming, &mut Outgoing),
    key: &SharedKey,
    patience: Duration,
) -> Result<u32, ConnectionError> {
    let greeting: ServerHello = receive_as(incoming, patience).await?;
    if let Some(why) = greeting.refused {
        return Err(ConnectionError::Refused(why));
    }
    if !greeting.versions.contains(&VERSION) {
        return Err(ConnectionError::Refused(format!(
            "the server supports only protocol versions {:?}, not {VERSION}",
            greeting.versions
        )));
    }
    let challenges = Challenges { server: greeting.challenge.0, client: challenge() };
    let answered = ClientHello {
        version: VERSION,
        challenge: Bytes32(challenges.client),
        proof: Bytes32(key.proof(Side::Client, &challenges)),
    };
    send(outgoing, written(&answered), patience).await?;
    match receive_as(incoming, patience).await? {
        HandshakeResult::Welcome(proof) if key.accepts(Side::Server, &challenges, &proof.0) => {
            trust(incoming);
            Ok(greeting.in_flight_max.max(1))
        }
        HandshakeResult::Welcome(_) => {
            Err(ConnectionError::Refused("the server has a different shared key".to_owned()))
        }
        HandshakeResult::Refused(why) => Err(ConnectionError::Refused(why)),
    }
}
