//! Changing links.

use jiff::Timestamp;

use super::{
    Caller, ClickLimit, Link, Links, Mode, Origin, RedirectCode, Short, StoredLinkOutcome, Tags,
    Target,
};
use crate::{
    Error, IdempotencyKey, Idempotent, Result,
    password_hasher::PasswordOf,
    passwords::{Password, PasswordHash},
};

/// The maximum attempts of a change while other requests change the same link.
const CHANGE_TRIES: usize = 5;

const ONLY_PUT: Error = Error::forbidden(
    "links on this server can only be changed with PUT (links.mode = \"replace\")",
);

/// A change to a link; `None` leaves a field as it is, `Some(None)` removes the value.
#[derive(Debug, Clone, Default)]
pub struct LinkChange {
    /// The target.
    pub target: Option<Target>,
    /// The status of its redirects.
    pub redirect: Option<RedirectCode>,
    /// The expiry.
    pub expires_at: Option<Option<Timestamp>>,
    /// The maximum number of clicks, including those so far.
    pub click_limit: Option<Option<ClickLimit>>,
    /// The password that visitors must enter.
    pub password: Option<Option<Password>>,
    /// The owner's tags.
    pub tags: Option<Tags>,
    /// Whether to replace the manage key, which invalidates the old one.
    pub new_manage_key: bool,
}

impl Links {
    /// Changes a link; `expected` is the version that the client read, if it sent one.
    pub async fn edit(
        &self,
        short: &Short,
        edit: LinkChange,
        caller: &Caller,
        here: &[Origin],
        expected: Option<u64>,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Idempotent<Link>> {
        let edited = self.edit_once(short, edit, caller, here, expected, idempotency.clone());
        self.idempotent(idempotency.as_ref(), edited).await
    }

    /// Deletes a link; its short stays reserved.
    pub async fn delete(
        &self,
        short: &Short,
        caller: &Caller,
        expected: Option<u64>,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Idempotent<Link>> {
        let now = self.ports.clock.now();
        let delete = |link: &mut Link| link.deleted_at = Some(now);
        let deleted = self.change(short, caller, expected, idempotency.clone(), delete);
        self.idempotent(idempotency.as_ref(), deleted).await
    }

    async fn edit_once(
        &self,
        short: &Short,
        edit: LinkChange,
        caller: &Caller,
        here: &[Origin],
        expected: Option<u64>,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Idempotent<Link>> {
        if let Some(target) = &edit.target {
            self.check_target(target, here)?;
        }
        self.check_expiry(edit.expires_at.flatten())?;
        // Before hashing, which is costly.
        let link = self.managed(short, caller).await?;
        if edit.new_manage_key && link.owner.is_some() {
            let reason = "must be false, because a link with an owner has no manage key";
            return Err(Error::invalid("new_manage_key", reason));
        }
        let new_hash = match &edit.password {
            Some(Some(password)) => {
                let of = PasswordOf::Link(caller.owner());
                Some(Some(self.ports.passwords.hash(of, password.clone()).await?))
            }
            Some(None) => Some(None),
            None => None,
        };
        let edit = |link: &mut Link| apply(link, &edit, new_hash.as_ref());
        self.change(short, caller, expected, idempotency, edit).await
    }

    /// Runs `change`, unless its idempotency key has a stored outcome.
    async fn idempotent(
        &self,
        idempotency: Option<&IdempotencyKey>,
        change: impl Future<Output = Result<Idempotent<Link>>>,
    ) -> Result<Idempotent<Link>> {
        if let Some(done) = self.stored_change(idempotency).await? {
            return Ok(done);
        }
        match change.await {
            Ok(done) => Ok(done),
            // A refused change may have been made by a concurrent copy of the request.
            Err(error) => self.stored_change(idempotency).await?.ok_or(error),
        }
    }

    /// Returns the stored outcome of an earlier change with this idempotency key.
    ///
    /// # Errors
    ///
    /// [`Error::KeyReused`] if the key was used for another kind of write.
    pub async fn stored_change(
        &self,
        idempotency: Option<&IdempotencyKey>,
    ) -> Result<Option<Idempotent<Link>>> {
        let outcome =
            self.stored_outcome(idempotency).await?.map(StoredLinkOutcome::changed).transpose()?;
        Ok(outcome.map(|outcome| Idempotent { outcome, replayed: true }))
    }

    async fn change(
        &self,
        short: &Short,
        caller: &Caller,
        expected: Option<u64>,
        idempotency: Option<IdempotencyKey>,
        apply: impl Fn(&mut Link),
    ) -> Result<Idempotent<Link>> {
        if self.ports.settings.mode == Mode::Replace {
            return Err(ONLY_PUT);
        }
        for _ in 0..CHANGE_TRIES {
            let mut link = (*self.managed(short, caller).await?).clone();
            if expected.is_some_and(|version| version != link.version) {
                return Err(Error::Stale);
            }
            link.version += 1;
            link.changed_at = self.ports.clock.now();
            apply(&mut link);
            if let Some(done) = self.ports.store.change(link, idempotency.clone()).await? {
                return Ok(done);
            }
        }
        Err(Error::Stale)
    }
}

fn apply(link: &mut Link, edit: &LinkChange, new_hash: Option<&Option<PasswordHash>>) {
    if let Some(target) = &edit.target {
        link.target = target.clone();
    }
    if let Some(redirect) = edit.redirect {
        link.redirect = redirect;
    }
    if let Some(expires_at) = edit.expires_at {
        link.expires_at = expires_at;
    }
    if let Some(limit) = edit.click_limit {
        // The store keeps the used clicks, which only it knows.
        link.click_limit = limit;
    }
    if let Some(hash) = new_hash {
        link.password.clone_from(hash);
    }
    if let Some(tags) = &edit.tags {
        link.tags = tags.clone();
    }
    link.key_version += u32::from(edit.new_manage_key);
}
