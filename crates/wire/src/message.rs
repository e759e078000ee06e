//! The messages after the handshake.

use lodge_domain::{
    Error,
    accounts::{Call, Reply},
};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

/// A message of a client.
#[derive(derive_more::Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromClient {
    /// A call.
    Call {
        /// Identifies the answer; rises with every call of a connection.
        id: u64,
        /// How long the client will wait, in milliseconds. After that the server stops work on the call.
        deadline_ms: u32,
        /// The call, parsed after its envelope: an unknown call of a later version is refused by its id, and
        /// the connection stays open. It may contain a password.
        #[debug(skip)]
        call: Box<RawValue>,
    },
    /// The client no longer waits for the answer to this call.
    Cancel {
        /// The call.
        id: u64,
    },
    /// Asks for a [`FromServer::Pong`].
    Ping,
}

/// A message of a server.
#[derive(derive_more::Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromServer {
    /// The answer to a call.
    Answer {
        /// The call.
        id: u64,
        /// An `Outcome`, parsed after its envelope: an unknown one of a later version fails only its own
        /// call. It may contain a token.
        #[debug(skip)]
        outcome: Box<RawValue>,
    },
    /// The answer to a [`FromClient::Ping`].
    Pong,
    /// The server is stopping: it answers the calls in flight, and new calls must use another connection.
    Closing,
}

/// The outcome of a call. An [`Error`] is sent without its causes, which stay in the server's log.
pub type Outcome = Result<Reply, Error>;

/// Parses a call.
pub(crate) fn read_call(call: &RawValue) -> Result<Call, Error> {
    serde_json::from_str(call.get())
        .map_err(|_| Error::invalid("call", "is unknown to the accounts tier"))
}

/// Creates the answer to a call.
pub(crate) fn answer(id: u64, outcome: &Outcome) -> FromServer {
    let written = to_raw_value(outcome);
    // Never fails: all map keys of our types are strings.
    let outcome = written.unwrap_or_else(|_| RawValue::NULL.to_owned());
    FromServer::Answer { id, outcome }
}

/// Parses the outcome of a call.
pub(crate) fn read_outcome(outcome: &RawValue) -> Outcome {
    serde_json::from_str::<Outcome>(outcome.get()).map_err(Error::internal).flatten()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use lodge_domain::{
        accounts::{
            Email, ImportAccount, NewPassword, OwnAccountCall, ProfileChange, SessionDigest,
            SignIn, SignUp, Username,
        },
        passwords::Password,
    };
    use proptest::prelude::*;

    use super::*;

    fn crossed(error: Error) -> Error {
        let FromServer::Answer { outcome, .. } = answer(7, &Err(error)) else { unreachable!() };
        read_outcome(&outcome).unwrap_err()
    }

    #[test]
    fn an_unknown_error_of_a_later_version_is_an_internal_error() {
        let refused = r#"{"Err":{"teapot":{"message":"short and stout","colour":1}}}"#;
        let refused = RawValue::from_string(refused.to_owned()).unwrap();
        assert!(matches!(read_outcome(&refused), Err(Error::Internal(_))));
    }

    #[test]
    fn removing_an_address_differs_from_leaving_it_unchanged() {
        for email in [None, Some(None), Some(Some(Email::parse("ada@example.org").unwrap()))] {
            let edit = ProfileChange { email: email.clone(), ..ProfileChange::default() };
            let call =
                Call::Own { session: SessionDigest::of("x"), call: OwnAccountCall::Edit(edit) };
            let read: Call = serde_json::from_str(&serde_json::to_string(&call).unwrap()).unwrap();
            let Call::Own { call: OwnAccountCall::Edit(read), .. } = read else {
                panic!("{read:?}")
            };
            assert_eq!(read.email, email);
        }
    }

    #[test]
    fn debug_output_contains_no_secret() {
        const SECRET: &str = "correct horse";
        let ada = Username::parse("ada").unwrap();
        let password = || Password::parse("password", SECRET.to_owned()).unwrap();
        let new = || NewPassword::parse("new", SECRET.to_owned(), &ada).unwrap();
        let session = SessionDigest::of(SECRET);
        let calls = [
            Call::SignUp {
                request: SignUp {
                    username: ada.clone(),
                    password: new(),
                    nickname: None,
                    email: None,
                },
                idempotency_key: None,
            },
            Call::SignIn(SignIn {
                username: "ada".to_owned(),
                password: password(),
                from: None,
                agent: String::new(),
                device: None,
            }),
            Call::ResetPassword {
                username: ada.clone(),
                code: SECRET.to_owned().into(),
                new: new(),
            },
            Call::Own {
                session,
                call: OwnAccountCall::ChangePassword {
                    current: Some(password()),
                    new: new(),
                    from: None,
                },
            },
        ];
        for call in calls {
            let written = to_raw_value(&call).unwrap();
            assert!(written.get().contains(SECRET));
            let said = FromClient::Call { id: 7, deadline_ms: 1, call: written };
            for printed in [format!("{call:?}"), format!("{said:?}")] {
                assert!(!printed.contains(SECRET), "{printed}");
            }
        }
        let outcome = RawValue::from_string(format!("{SECRET:?}")).unwrap();
        let said = FromServer::Answer { id: 7, outcome };
        assert!(!format!("{said:?}").contains(SECRET), "{said:?}");
        let line = ImportAccount {
            username: "ada".to_owned(),
            nickname: String::new(),
            email: String::new(),
            password_hash: SECRET.to_owned().into(),
            role: String::new(),
        };
        assert!(!format!("{line:?}").contains(SECRET), "{line:?}");
    }

    proptest! {
        #[test]
        fn an_error_has_the_same_text_on_the_other_side(why in "\\PC{0,40}", field in "[a-z]{1,9}", wait_ms in 0..1_000_000_u64) {
            let retry_after = Duration::from_millis(wait_ms);
            let of = |error: &Error| (std::mem::discriminant(error), error.to_string());
            for make in [
                || Error::Stale,
                || Error::KeyReused,
                || Error::internal("x"),
            ] {
                prop_assert_eq!(of(&crossed(make())), of(&make()));
            }
            let all = || [
                Error::invalid(field.clone(), why.clone()),
                Error::Unauthenticated(why.clone().into()),
                Error::Forbidden(why.clone().into()),
                Error::NotFound(why.clone().into()),
                Error::Gone(why.clone().into()),
                Error::Conflict(why.clone().into()),
                Error::TooMany { retry_after },
                Error::Unavailable { retry_after, cause: "x".into() },
            ];
            for (here, there) in all().into_iter().zip(all().map(crossed)) {
                prop_assert_eq!(of(&there), of(&here));
            }
        }
    }
}
