//! What is said once both sides know each other.

use lodge_domain::{
    Error,
    accounts::{Call, Reply},
};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

/// What a client says.
#[derive(derive_more::Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromClient {
    /// A call.
    Call {
        /// By which its answer is known; rises with every call of a connection.
        id: u64,
        /// How long the client will wait, in milliseconds. Past it nothing more is done.
        deadline_ms: u32,
        /// What is asked, read when its envelope has been: a call that a later version knows is refused
        /// by its id, and the connection lives. It may hold a password.
        #[debug(skip)]
        call: Box<RawValue>,
    },
    /// Nobody waits for this call's answer any more.
    Cancel {
        /// Which.
        id: u64,
    },
    /// Are you there?
    Ping,
}

/// What a server says.
#[derive(derive_more::Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromServer {
    /// The answer to a call.
    Answer {
        /// Which.
        id: u64,
        /// What came of it, an `Outcome`, read when its envelope has been: one that a later version
        /// gives fails its own call alone. It may hold a token.
        #[debug(skip)]
        outcome: Box<RawValue>,
    },
    /// I am.
    Pong,
    /// Answers will come to what was asked; ask nothing more here.
    Closing,
}

/// What came of a call. An [`Error`] crosses without its causes, which are in the server's log.
pub type Outcome = Result<Reply, Error>;

/// What a request is that the client made before the server would have answered it.
pub(crate) fn read_call(call: &RawValue) -> Result<Call, Error> {
    serde_json::from_str(call.get()).map_err(|_| Error::invalid("call", "is not known here"))
}

/// The answer to a call.
pub(crate) fn answer(id: u64, outcome: &Outcome) -> FromServer {
    let written = to_raw_value(outcome);
    // Types of ours, whose keys are strings.
    let outcome = written.unwrap_or_else(|_| RawValue::NULL.to_owned());
    FromServer::Answer { id, outcome }
}

/// What came of a call, as the server wrote it.
pub(crate) fn read_outcome(outcome: &RawValue) -> Outcome {
    serde_json::from_str::<Outcome>(outcome.get()).map_err(Error::internal).flatten()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use lodge_domain::{
        accounts::{
            Edit, Email, ImportAccount, NewPassword, Own, SessionDigest, SignIn, SignUp, Username,
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
    fn a_later_versions_kind_of_refusal_is_a_failure() {
        let refused = r#"{"Err":{"teapot":{"message":"short and stout","colour":1}}}"#;
        let refused = RawValue::from_string(refused.to_owned()).unwrap();
        assert!(matches!(read_outcome(&refused), Err(Error::Internal(_))));
    }

    #[test]
    fn taking_an_address_away_is_not_leaving_it() {
        for email in [None, Some(None), Some(Some(Email::parse("ada@example.org").unwrap()))] {
            let edit = Edit { nickname: None, email: email.clone() };
            let call = Call::Own { session: SessionDigest::of("x"), wish: Own::Edit(edit) };
            let read: Call = serde_json::from_str(&serde_json::to_string(&call).unwrap()).unwrap();
            let Call::Own { wish: Own::Edit(read), .. } = read else { panic!("{read:?}") };
            assert_eq!(read.email, email);
        }
    }

    #[test]
    fn nothing_that_is_printed_for_a_log_opens_anything() {
        const SECRET: &str = "correct horse";
        let ada = Username::parse("ada").unwrap();
        let password = || Password::parse("password", SECRET.to_owned()).unwrap();
        let new = || NewPassword::parse("new", SECRET.to_owned(), &ada).unwrap();
        let session = SessionDigest::of(SECRET);
        let calls = [
            Call::SignUp {
                wish: SignUp {
                    username: ada.clone(),
                    password: new(),
                    nickname: None,
                    email: None,
                },
                attempt: None,
            },
            Call::SignIn(SignIn {
                username: "ada".to_owned(),
                password: password(),
                from: None,
                agent: String::new(),
            }),
            Call::ResetPassword {
                username: ada.clone(),
                code: SECRET.to_owned().into(),
                new: new(),
            },
            Call::Own {
                session,
                wish: Own::ChangePassword { current: Some(password()), new: new(), from: None },
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
        fn a_refusal_says_the_same_on_the_other_side(why in "\\PC{0,40}", field in "[a-z]{1,9}", wait_ms in 0..1_000_000_u64) {
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
