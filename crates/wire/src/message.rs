//! What is said once both sides know each other.

use std::{borrow::Cow, fmt, time::Duration};

use lodge_domain::{
    Error,
    accounts::{Call, Reply},
};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

/// What a client says.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromClient {
    /// A call.
    Call {
        /// By which its answer is known; rises with every call of a connection.
        id: u64,
        /// How long the client will wait, in milliseconds. Past it nothing more is done.
        deadline_ms: u32,
        /// What is asked, read when its envelope has been: a call that a later version knows is refused
        /// by its id, and the connection lives.
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
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromServer {
    /// The answer to a call.
    Answer {
        /// Which.
        id: u64,
        /// What came of it, an `Outcome`, read when its envelope has been: one that a later version
        /// gives fails its own call alone.
        outcome: Box<RawValue>,
    },
    /// I am.
    Pong,
    /// Answers will come to what was asked; ask nothing more here.
    Closing,
}

// A call may hold a password, an answer a token: neither is printed as it was sent.
impl fmt::Debug for FromClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call { id, deadline_ms, .. } => {
                write!(f, "Call {{ id: {id}, deadline_ms: {deadline_ms}, .. }}")
            }
            Self::Cancel { id } => write!(f, "Cancel {{ id: {id} }}"),
            Self::Ping => f.write_str("Ping"),
        }
    }
}

impl fmt::Debug for FromServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer { id, .. } => write!(f, "Answer {{ id: {id}, .. }}"),
            Self::Pong => f.write_str("Pong"),
            Self::Closing => f.write_str("Closing"),
        }
    }
}

/// What came of a call.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was done.
    Reply(Box<Reply>),
    /// It was not.
    Refused(Refusal),
}

/// Why something was not done: an [`Error`] without what only the server's log may say.
#[derive(Debug, Serialize, Deserialize)]
pub struct Refusal {
    kind: Kind,
    /// What the caller may read.
    #[serde(default)]
    message: String,
    /// The field that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    /// How long to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Invalid,
    Unauthenticated,
    Forbidden,
    NotFound,
    Gone,
    Conflict,
    Stale,
    KeyReused,
    TooMany,
    Unavailable,
    /// Also whatever a later version says.
    #[serde(other)]
    Internal,
}

/// What a request is that the client made before the server would have answered it.
pub(crate) fn read_call(call: &RawValue) -> Result<Call, Error> {
    serde_json::from_str(call.get()).map_err(|_| Error::invalid("call", "is not known here"))
}

/// The answer to a call.
pub(crate) fn answer(id: u64, outcome: Result<Reply, Error>) -> FromServer {
    let written = to_raw_value(&Outcome::from(outcome));
    // Types of ours, whose keys are strings.
    let outcome = written.unwrap_or_else(|_| RawValue::NULL.to_owned());
    FromServer::Answer { id, outcome }
}

/// What came of a call, as the server wrote it.
pub(crate) fn read_outcome(outcome: &RawValue) -> Result<Reply, Error> {
    let read: Outcome = serde_json::from_str(outcome.get()).map_err(Error::internal)?;
    read.into()
}

impl From<Result<Reply, Error>> for Outcome {
    fn from(outcome: Result<Reply, Error>) -> Self {
        match outcome {
            Ok(reply) => Self::Reply(Box::new(reply)),
            Err(error) => Self::Refused(error.into()),
        }
    }
}

impl From<Outcome> for Result<Reply, Error> {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Reply(reply) => Ok(*reply),
            Outcome::Refused(refusal) => Err(refusal.into()),
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let plain = |kind, message: Cow<'static, str>| Self {
            kind,
            message: message.into_owned(),
            field: None,
            retry_after_ms: None,
        };
        let later = |kind, after: Duration| Self {
            retry_after_ms: Some(u64::try_from(after.as_millis()).unwrap_or(u64::MAX)),
            ..plain(kind, Cow::default())
        };
        match error {
            Error::Invalid { field, reason } => {
                Self { field: Some(field.into_owned()), ..plain(Kind::Invalid, reason) }
            }
            Error::Unauthenticated(why) => plain(Kind::Unauthenticated, why),
            Error::Forbidden(why) => plain(Kind::Forbidden, why),
            Error::NotFound(why) => plain(Kind::NotFound, why),
            Error::Gone(why) => plain(Kind::Gone, why),
            Error::Conflict(why) => plain(Kind::Conflict, why),
            Error::Stale => plain(Kind::Stale, Cow::default()),
            Error::KeyReused => plain(Kind::KeyReused, Cow::default()),
            Error::TooMany { retry_after } => later(Kind::TooMany, retry_after),
            Error::Unavailable { retry_after, .. } => later(Kind::Unavailable, retry_after),
            Error::Internal(_) => plain(Kind::Internal, Cow::default()),
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let Refusal { kind, message, field, retry_after_ms } = refusal;
        let message = Cow::from(message);
        let retry_after = Duration::from_millis(retry_after_ms.unwrap_or(1_000));
        match kind {
            Kind::Invalid => Self::invalid(field.unwrap_or_default(), message),
            Kind::Unauthenticated => Self::Unauthenticated(message),
            Kind::Forbidden => Self::Forbidden(message),
            Kind::NotFound => Self::NotFound(message),
            Kind::Gone => Self::Gone(message),
            Kind::Conflict => Self::Conflict(message),
            Kind::Stale => Self::Stale,
            Kind::KeyReused => Self::KeyReused,
            Kind::TooMany => Self::TooMany { retry_after },
            Kind::Unavailable => Self::Unavailable {
                retry_after,
                cause: "the accounts tier cannot do it now".into(),
            },
            Kind::Internal => Self::internal("the accounts tier failed; its log says how"),
        }
    }
}

#[cfg(test)]
mod tests {
    use lodge_domain::{
        accounts::{
            Edit, Email, ImportAccount, NewPassword, Own, SessionDigest, SignIn, SignUp, Username,
        },
        passwords::Password,
    };
    use proptest::prelude::*;

    use super::*;

    fn crossed(error: Error) -> Error {
        let written = serde_json::to_vec(&Outcome::from(Err(error))).unwrap();
        let read: Outcome = serde_json::from_slice(&written).unwrap();
        match Result::from(read) {
            Err(error) => error,
            Ok(reply) => panic!("{reply:?}"),
        }
    }

    #[test]
    fn a_later_versions_kind_of_refusal_is_a_failure() {
        let refusal = br#"{"refused":{"kind":"teapot","message":"short and stout","colour":1}}"#;
        let outcome: Outcome = serde_json::from_slice(refusal).unwrap();
        assert!(matches!(Result::from(outcome), Err(Error::Internal(_))));
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
