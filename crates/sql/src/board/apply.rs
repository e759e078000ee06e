//! Editing, deleting and hiding a message, and reacting to it.

use jiff::Timestamp;
use lodge_domain::board::{
    Action, Actor, Applied, BoardEvent, BoardEventContent, Channel, EventId, Origin, Slug,
    TargetMessage, authorize,
};

use super::{
    LoggedEvent, WordIndex, channels, members,
    origins::{self, no_channel},
    projection::{self, no_message},
    record::record_new,
    row::event_key,
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
pub(super) fn apply(
    tx: &mut dyn Tx,
    words: &dyn WordIndex,
    origin: Origin,
    (slug, message): (&Slug, EventId),
    action: &Action,
    by: &Actor,
    now: Timestamp,
) -> Result<Option<Applied>, Failure> {
    origins::lock(tx, origin)?;
    let (channel, Channel { is_archived, .. }) =
        channels::find(tx, slug)?.ok_or_else(no_channel)?;
    let found = projection::find(tx, channel, message)?;
    let found = found.filter(|found| found.author.is_some()).ok_or_else(no_message)?;
    let [row, target_origin, target_seq] = event_key(channel, message);
    let has_sign = match action {
        Action::React { reaction, .. } => {
            let (sign, person) = (reaction.emoji(), by.id().number());
            tx.exists(&HAS_REACTED, values![row, target_origin, target_seq, sign, person])?
        }
        Action::Edit(_) | Action::Delete | Action::Hide(_) => false,
    };
    let edits = match action {
        Action::Edit(_) => {
            tx.one(&EDITS, &event_key(channel, message), |row| row.get(0))?.unwrap_or(0)
        }
        Action::Delete | Action::React { .. } | Action::Hide(_) => 0,
    };
    let target = TargetMessage {
        is_own: found.author == Some(by.id().number()),
        body: found.body,
        visibility: found.state.visibility(),
        has_reaction: has_sign,
        edits,
        is_archived,
    };
    let is_banned = members::is_banned(tx, by.id())?;
    let Some(what) = authorize(&target, by, is_banned, message, action.clone())? else {
        return Ok(None);
    };
    let (id, at) = origins::next(tx, channel, origin, now)?;
    members::note(tx, &by.profile)?;
    let event = LoggedEvent { channel, id, at, author: by.id(), content: &what, client_id: None };
    record_new(tx, words, &event)?;
    let former = found.picture.filter(|_| matches!(what, BoardEventContent::Delete { .. }));
    Ok(Some(Applied {
        event: BoardEvent { id, at, by: by.profile.clone(), content: what },
        detached_picture: former,
    }))
}
