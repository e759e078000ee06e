//! What a sign-in costs, counted instead of timed.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use super::*;
use crate::{
    Attempt, Done, OsRandom,
    accounts::{
        AccountId, AccountQuery, AccountStore, AccountsSettings, Changed, Credential, Failures,
        FeedPlace, NewAccount, NewSession, Nickname, Outcome, Role, Session, SessionDigest,
        SessionId, SessionStore, SignedIn,
    },
    clock::ManualClock,
    passwords::Passwords,
};

const NOW: Timestamp = Timestamp::constant(1_790_000_000, 0);
const PASSWORD: &str = "a lift in the fog";
/// What [`PASSWORD`] becomes.
const RIGHT: &str = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$cmlnaHQ";

/// Counts what it is asked to do, each with what it would cost.
#[derive(Default)]
struct Counting(Mutex<Vec<Work>>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Work {
    Hash,
    Verify { cost: String },
}

#[async_trait]
impl Passwords for Counting {
    async fn hash(&self, _: Password) -> Result<PasswordHash> {
        self.0.lock().push(Work::Hash);
        Ok(PasswordHash(RIGHT.to_owned()))
    }

    async fn verify(&self, password: Password, hash: PasswordHash) -> Result<bool> {
        let cost: Vec<&str> = hash.0.split('$').take(4).collect();
        self.0.lock().push(Work::Verify { cost: cost.join("$") });
        Ok(hash.0 == RIGHT && password.as_bytes() == PASSWORD.as_bytes())
    }
}

/// Accounts that can be looked up by name.
struct Known(Vec<(Account, Credential)>);

impl Known {
    fn with(mut self, name: &str, password: Option<&str>, banned: bool) -> Self {
        let username = Username::parse(name).unwrap();
        let account = Account {
            id: AccountId(1),
            nickname: Nickname::from(&username),
            username,
            email: None,
            role: Role::Member,
            has_password: password.is_some(),
            created_at: NOW,
            banned_at: banned.then_some(NOW),
            epoch: 1,
        };
        let password = password.map(|hash| PasswordHash(hash.to_owned()));
        self.0.push((account, Credential { password, reset: None }));
        self
    }
}

fn unasked<T>() -> Result<T> {
    Err(Error::internal("no sign-in asks for this"))
}

#[async_trait]
impl AccountStore for Known {
    async fn recall(&self, _: &Attempt) -> Result<Option<Outcome>> {
        unasked()
    }

    async fn add(&self, _: NewAccount, _: Option<Attempt>) -> Result<Done<Option<Account>>> {
        unasked()
    }

    async fn add_many(&self, _: Vec<NewAccount>) -> Result<Vec<bool>> {
        unasked()
    }

    async fn find(&self, name: &Username) -> Result<Option<(Account, Credential)>> {
        Ok(self.0.iter().find(|(account, _)| account.username == *name).cloned())
    }

    async fn get(&self, _: AccountId) -> Result<Option<(Account, Credential)>> {
        unasked()
    }

    async fn list(&self, _: AccountQuery) -> Result<Vec<Account>> {
        unasked()
    }

    async fn change(&self, _: AccountChange, _: Event) -> Result<Option<Account>> {
        unasked()
    }

    async fn remove(&self, _: Event) -> Result<bool> {
        unasked()
    }

    async fn events(&self, _: AccountId, _: usize) -> Result<Vec<Event>> {
        unasked()
    }
}

/// Begins every session, and keeps none.
struct Forgotten;

#[async_trait]
impl SessionStore for Forgotten {
    async fn begin(&self, _: NewSession) -> Result<bool> {
        Ok(true)
    }

    async fn find(&self, _: SessionDigest, _: Timestamp) -> Result<Option<SignedIn>> {
        unasked()
    }

    async fn list(&self, _: AccountId, _: Timestamp, _: usize) -> Result<Vec<Session>> {
        unasked()
    }

    async fn changed_since(&self, _: Option<FeedPlace>) -> Result<Changed> {
        unasked()
    }

    async fn end(&self, _: AccountId, _: SessionId, _: Timestamp) -> Result<bool> {
        unasked()
    }
}

/// Counts no failure.
struct Forgiving;

#[async_trait]
impl Failures for Forgiving {
    async fn count(&self, _: &str, _: Option<IpAddr>, _: Timestamp) -> Result<()> {
        Ok(())
    }

    async fn take_back(&self, _: &str, _: Option<IpAddr>) {}

    async fn forgive(&self, _: &str, _: Option<IpAddr>) {}
}

fn service(passwords: &Arc<Counting>) -> Accounts {
    let known = Known(Vec::new())
        .with("ada", Some(RIGHT), false)
        .with("banned", Some(RIGHT), true)
        .with("provided", None, false)
        .with("banned-provided", None, true);
    Accounts {
        store: Arc::new(known),
        sessions: Arc::new(Forgotten),
        failures: Arc::new(Forgiving),
        passwords: Arc::clone(passwords) as Arc<dyn Passwords>,
        clock: Arc::new(ManualClock::at(NOW)),
        random: Arc::new(OsRandom),
        settings: AccountsSettings {
            session_lifetime: SignedDuration::from_hours(1),
            open_sign_up: true,
        },
    }
}

async fn signed_in(accounts: &Accounts, username: &str, password: &str) -> Result<FreshSession> {
    let password = Password::parse("password", password.to_owned())?;
    let wish = SignIn { username: username.to_owned(), password, from: None, agent: String::new() };
    accounts.sign_in(wish).await
}

#[tokio::test]
async fn every_kind_of_sign_in_costs_one_verification_of_the_same_cost() {
    let passwords = Arc::new(Counting::default());
    let accounts = service(&passwords);
    let one = [Work::Verify { cost: "$argon2id$v=19$m=19456,t=2,p=1".to_owned() }];
    for (kind, name, password) in [
        ("a wrong password", "ada", "a guess"),
        ("an unknown name", "nobody", "a guess"),
        ("what cannot be a name", "no body at all", "a guess"),
        ("a banned account", "banned", "a guess"),
        ("an account without a password", "provided", "a guess"),
        ("a banned one without a password", "banned-provided", "a guess"),
        ("the right password", "ada", PASSWORD),
        ("the right password of a banned account", "banned", PASSWORD),
    ] {
        let outcome = signed_in(&accounts, name, password).await;
        assert_eq!(std::mem::take(&mut *passwords.0.lock()), one, "{kind}");
        match (name, password) {
            ("ada", PASSWORD) => assert!(outcome.is_ok(), "{kind}"),
            ("banned", PASSWORD) => assert!(matches!(outcome, Err(Error::Forbidden(_))), "{kind}"),
            _ => assert_eq!(outcome.unwrap_err().to_string(), WRONG.to_string(), "{kind}"),
        }
    }
}
