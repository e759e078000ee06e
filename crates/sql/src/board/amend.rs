//! Editing, deleting and hiding a message, and reacting to it.

use jiff::Timestamp;
use lodge_domain::board::{
    Actor, Amended, Channel, Event, EventId, Origin, Slug, Target, What, Wish, judge,
};

use super::{
    Recorded, WordIndex, channels,
    origins::{self, no_channel},
    people,
    projection::{self, no_message},
    record::record_new,
    row::name,
};
use crate::{
    Failure, Tx,
    statement::{same, statements},
    tx::values,
};

statements! {
    HAS_REACTED = same("SELECT 1 FROM board_reactions \
        WHERE channel = ? AND origin = ? AND seq = ? AND sign = ? AND person = ? AND NOT is_removed");
    EDITS = same("SELECT count(*) FROM board_events \
        WHERE channel = ? AND target_origin = ? AND target_seq = ? AND kind = 2");
}

/// Authorizes and applies an action; `None` if it would change nothing.
pub(super) fn amend(
    tx: &mut dyn Tx,
    words: &dyn WordIndex,
    origin: Origin,
    (slug, message): (&Slug, EventId),
    wish: &Wish,
    by: &Actor,
    now: Timestamp,
) -> Result<Option<Amended>, Failure> {
    origins::lock(tx, origin)?;
    let (channel, Channel { is_archived, .. }) =
        channels::find(tx, slug)?.ok_or_else(no_channel)?;
    let found = projection::find(tx, channel, message)?;
    let found = found.filter(|found| found.author.is_some()).ok_or_else(no_message)?;
    let [row, target_origin, target_seq] = name(channel, message);
    let has_sign = match wish {
        Wish::React { reaction, .. } => {
            let (sign, person) = (reaction.sign(), by.id().number());
            tx.exists(&HAS_REACTED, values![row, target_origin, target_seq, sign, person])?
        }
        Wish::Edit(_) | Wish::Delete | Wish::Hide(_) => false,
    };
    let edits = match wish {
        Wish::Edit(_) => tx.one(&EDITS, &name(channel, message), |row| row.get(0))?.unwrap_or(0),
        Wish::Delete | Wish::React { .. } | Wish::Hide(_) => 0,
    };
    let target = Target {
        is_own: found.author == Some(by.id().number()),
        body: found.body,
        visibility: found.state.visibility(),
        has_sign,
        edits,
        is_archived,
    };
    let is_banned = people::is_banned(tx, by.id())?;
    let Some(what) = judge(&target, by, is_banned, message, wish.clone())? else {
        return Ok(None);
    };
    let (id, at) = origins::next(tx, channel, origin, now)?;
    people::note(tx, &by.profile)?;
    let event = Recorded { channel, id, at, author: by.id(), what: &what, client_id: None };
    record_new(tx, words, &event)?;
    let former = found.picture.filter(|_| matches!(what, What::Delete { .. }));
    Ok(Some(Amended { event: Event { id, at, by: by.profile.clone(), what }, former }))
}
