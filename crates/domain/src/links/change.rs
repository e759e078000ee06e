//! Changing links.

use jiff::Timestamp;

use super::{
    Caller, ClickLimit, Link, Links, Mode, Origin, Outcome, RedirectCode, Short, Tags, Target,
};
use crate::{
    Attempt, Done, Error, Result,
    passwords::{Password, PasswordHash},
};

/// How often a change is tried again when others change the same link meanwhile.
const CHANGE_TRIES: usize = 5;

const ONLY_PUT: Error =
    Error::forbidden("this deployment's links are changed by PUT alone (links.mode = \"replace\")");

/// What is to change about a link; `None` leaves it, `Some(None)` takes it away.
#[derive(Debug, Clone, Default)]
pub struct Edit {
    /// Where it leads.
    pub target: Option<Target>,
    /// The status of its redirects.
    pub redirect: Option<RedirectCode>,
    /// From when on it leads nowhere.
    pub expires_at: Option<Option<Timestamp>>,
    /// How often it may be followed in all, the clicks so far among them.
    pub click_limit: Option<Option<ClickLimit>>,
    /// What a visitor must know.
    pub password: Option<Option<Password>>,
    /// What its owner sorts it by.
    pub tags: Option<Tags>,
    /// Whether its manage key is replaced, so that the old one opens nothing.
    pub new_manage_key: bool,
}

impl Links {
    /// Changes a link; `expected` is the version that the caller read, if they insist on it.
    pub async fn edit(
        &self,
        short: &Short,
        edit: Edit,
        caller: &Caller,
        here: &[Origin],
        expected: Option<u64>,
        attempt: Option<Attempt>,
    ) -> Result<Done<Link>> {
        let edited = self.edit_anew(short, edit, caller, here, expected, attempt.clone());
        self.once(attempt.as_ref(), edited).await
    }

    /// Deletes a link; its short stays reserved.
    pub async fn delete(
        &self,
        short: &Short,
        caller: &Caller,
        expected: Option<u64>,
        attempt: Option<Attempt>,
    ) -> Result<Done<Link>> {
        let now = self.ports.clock.now();
        let delete = |link: &mut Link| link.deleted_at = Some(now);
        let deleted = self.change(short, caller, expected, attempt.clone(), delete);
        self.once(attempt.as_ref(), deleted).await
    }

    async fn edit_anew(
        &self,
        short: &Short,
        edit: Edit,
        caller: &Caller,
        here: &[Origin],
        expected: Option<u64>,
        attempt: Option<Attempt>,
    ) -> Result<Done<Link>> {
        if let Some(target) = &edit.target {
            self.check_target(target, here)?;
        }
        self.check_expiry(edit.expires_at.flatten())?;
        // Before the hash, which is costly.
        self.managed(short, caller).await?;
        let new_hash = match &edit.password {
            Some(Some(password)) => Some(Some(self.ports.passwords.hash(password.clone()).await?)),
            Some(None) => Some(None),
            None => None,
        };
        let edit = |link: &mut Link| apply(link, &edit, new_hash.as_ref());
        self.change(short, caller, expected, attempt, edit).await
    }

    /// Makes a change, unless this attempt has made it before.
    async fn once(
        &self,
        attempt: Option<&Attempt>,
        change: impl Future<Output = Result<Done<Link>>>,
    ) -> Result<Done<Link>> {
        if let Some(done) = self.recall_change(attempt).await? {
            return Ok(done);
        }
        match change.await {
            Ok(done) => Ok(done),
            // What was refused may have been done by the same attempt, sent twice at once.
            Err(error) => self.recall_change(attempt).await?.ok_or(error),
        }
    }

    /// What came of an earlier change with this attempt.
    ///
    /// # Errors
    ///
    /// [`Error::KeyReused`] if the attempt was made at something else.
    pub async fn recall_change(&self, attempt: Option<&Attempt>) -> Result<Option<Done<Link>>> {
        let outcome = self.recall(attempt).await?.map(Outcome::changed).transpose()?;
        Ok(outcome.map(|outcome| Done { outcome, replayed: true }))
    }

    async fn change(
        &self,
        short: &Short,
        caller: &Caller,
        expected: Option<u64>,
        attempt: Option<Attempt>,
        apply: impl Fn(&mut Link),
    ) -> Result<Done<Link>> {
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
            if let Some(done) = self.ports.store.change(link, attempt.clone()).await? {
                return Ok(done);
            }
        }
        Err(Error::Stale)
    }
}

fn apply(link: &mut Link, edit: &Edit, new_hash: Option<&Option<PasswordHash>>) {
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
        // The clicks so far stay used; the store, which knows them, sees to it.
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
