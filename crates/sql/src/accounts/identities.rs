//! Identities of sign-in providers that are linked to accounts, and sign-up tickets.

use std::sync::Arc;

use async_trait::async_trait;
use lodge_domain::{
    Result,
    accounts::{
        Account, AccountEvent, AccountEventKind, AccountId, EndSessions, Identity, IdentityStore,
        Linked, LinkedIdentity, NewAccount, NewTicket, Redeemed, SessionId, TicketDigest, Unlink,
        Unlinked,
    },
};

use super::{
    change, events,
    find::get,
    metered,
    row::{columns, read},
    sessions,
};
use crate::{
    Database, Failure, Row, Tx,
    statement::{for_update, same, statements},
    tx::values,
};

/// Sign-up tickets that are stored; the oldest beyond this number are dropped.
pub const TICKETS_MAX: i64 = 10_000;

statements! {
    FIND = same(concat!("SELECT ", columns!(), " FROM identities i JOIN accounts a ON a.id = i.account \
        WHERE i.issuer = ? AND i.subject = ? AND a.deleted_at IS NULL"));
    LIST = same("SELECT issuer, subject, linked_at FROM identities WHERE account = ? ORDER BY issuer");
    OWNER = same("SELECT account FROM identities WHERE issuer = ? AND subject = ?");
    HAS_ONE = same("SELECT 1 FROM identities WHERE account = ? AND issuer = ?");
    ADD = same("INSERT INTO identities (issuer, subject, account, linked_at) VALUES (?, ?, ?, ?)");
    REMOVE = same("DELETE FROM identities WHERE account = ? AND issuer = ?");
    ISSUE = same("REPLACE INTO tickets (digest, issuer, subject, expires_at) VALUES (?, ?, ?, ?)");
    DROP_OLDEST = same("DELETE FROM tickets WHERE row <= ?");
    TICKET = for_update!("SELECT issuer, subject FROM tickets WHERE digest = ? AND expires_at > ?");
    USE_UP = same("DELETE FROM tickets WHERE digest = ?");
}

/// The [`IdentityStore`] of a database.
pub struct SqlIdentities(pub Arc<dyn Database>);

#[async_trait]
impl IdentityStore for SqlIdentities {
    async fn find(&self, identity: &Identity) -> Result<Option<Account>> {
        let Identity { issuer, subject } = identity.clone();
        let find =
            move |tx: &mut dyn Tx| tx.one(&FIND, values![&issuer, &subject], |row| read(row, 0));
        metered::read(&*self.0, find).await
    }

    async fn list(&self, account: AccountId) -> Result<Vec<LinkedIdentity>> {
        metered::read(&*self.0, move |tx| list(tx, account)).await
    }

    async fn link(
        &self,
        identity: Identity,
        session: SessionId,
        event: AccountEvent,
    ) -> Result<Linked> {
        metered::write(&*self.0, move |tx| link(tx, &identity, session, &event)).await
    }

    async fn unlink(&self, request: Unlink, event: AccountEvent) -> Result<Unlinked> {
        metered::write(&*self.0, move |tx| unlink(tx, &request, &event)).await
    }

    async fn issue(&self, ticket: NewTicket) -> Result<()> {
        metered::write(&*self.0, move |tx| issue(tx, &ticket)).await
    }

    async fn redeem(&self, ticket: TicketDigest, account: NewAccount) -> Result<Redeemed> {
        metered::write(&*self.0, move |tx| redeem(tx, ticket, &account)).await
    }
}

fn list(tx: &mut dyn Tx, account: AccountId) -> Result<Vec<LinkedIdentity>, Failure> {
    tx.all(&LIST, values![account.0], |row| {
        let identity = Identity { issuer: row.get(0)?, subject: row.get(1)? };
        Ok(LinkedIdentity { identity, linked_at: row.get(2)? })
    })
}

fn link(
    tx: &mut dyn Tx,
    identity: &Identity,
    session: SessionId,
    event: &AccountEvent,
) -> Result<Linked, Failure> {
    let account = event.account;
    if change::lock_account(tx, account)?.is_none()
        || !sessions::is_live(tx, account, session, event.at)?
    {
        return Ok(Linked::NoSession);
    }
    match owner(tx, identity)? {
        Some(owner) if owner == account => return Ok(Linked::Done),
        Some(_) => return Ok(Linked::Elsewhere),
        None => {}
    }
    if tx.exists(&HAS_ONE, values![account.0, &identity.issuer])? {
        return Ok(Linked::Another);
    }
    if !add(tx, identity, account, event)? {
        return Ok(Linked::Elsewhere);
    }
    events::record(tx, event)?;
    Ok(Linked::Done)
}

fn unlink(tx: &mut dyn Tx, request: &Unlink, event: &AccountEvent) -> Result<Unlinked, Failure> {
    let Unlink { issuer, kept, issuers } = request;
    if change::lock_account(tx, event.account)?.is_none() {
        return Ok(Unlinked::NotLinked);
    }
    let Some(account) = get(tx, event.account)? else { return Ok(Unlinked::NotLinked) };
    let linked = list(tx, account.id)?;
    let mut linked = linked.iter().map(|linked| &linked.identity.issuer);
    if !linked.clone().any(|linked| linked == issuer) {
        return Ok(Unlinked::NotLinked);
    }
    let stays_open = |other: &String| other != issuer && issuers.contains(other);
    if !account.has_password && !linked.any(stays_open) {
        return Ok(Unlinked::OnlyWay);
    }
    tx.execute(&REMOVE, values![account.id.0, issuer])?;
    change::end(tx, account.id, EndSessions::AllBut(*kept), account.epoch)?;
    events::record(tx, event)?;
    Ok(Unlinked::Done)
}

fn issue(tx: &mut dyn Tx, ticket: &NewTicket) -> Result<(), Failure> {
    let NewTicket { digest, identity: Identity { issuer, subject }, expires_at } = ticket;
    let row = tx.insert(&ISSUE, values![&digest.0, issuer, subject, *expires_at])?;
    if let Some(row) = row {
        tx.execute(&DROP_OLDEST, values![row - TICKETS_MAX])?;
    }
    Ok(())
}

fn redeem(tx: &mut dyn Tx, ticket: TicketDigest, new: &NewAccount) -> Result<Redeemed, Failure> {
    let read = |row: Row<'_>| Ok(Identity { issuer: row.get(0)?, subject: row.get(1)? });
    let found = tx.one(&TICKET, values![&ticket.0, new.created_at], read)?;
    let Some(identity) = found else { return Ok(Redeemed::NoTicket) };
    if owner(tx, &identity)?.is_some() {
        return Ok(Redeemed::Known);
    }
    let Some(account) = change::add(tx, new)? else { return Ok(Redeemed::Taken) };
    let event = AccountEvent {
        account: account.id,
        at: new.created_at,
        kind: AccountEventKind::Linked,
        by: lodge_domain::accounts::Actor::Owner,
    };
    if !add(tx, &identity, account.id, &event)? {
        // The rollback removes the account; when the transaction runs again, it finds the identity.
        return Err(Failure::Deadlock("another transaction linked the identity".into()));
    }
    tx.execute(&USE_UP, values![&ticket.0])?;
    events::record(tx, &event)?;
    Ok(Redeemed::Made(account))
}

fn owner(tx: &mut dyn Tx, identity: &Identity) -> Result<Option<AccountId>, Failure> {
    let read = |row: Row<'_>| Ok(AccountId(row.get(0)?));
    tx.one(&OWNER, values![&identity.issuer, &identity.subject], read)
}

/// Links the identity; returns false if it is already linked.
fn add(
    tx: &mut dyn Tx,
    Identity { issuer, subject }: &Identity,
    account: AccountId,
    event: &AccountEvent,
) -> Result<bool, Failure> {
    Ok(tx.insert(&ADD, values![issuer, subject, account.0, event.at])?.is_some())
}
