//! Authorization rules. Stores apply them inside the writing transaction, so that a decision cannot be outdated.

use std::time::Duration;

use jiff::Timestamp;

use super::{Action, Actor, BoardEventContent, Body, EventId, NewMessage, Reaction, Visibility};
use crate::{Error, Result};

/// The most edits of one message; every earlier version is stored.
pub const EDITS_MAX: u32 = 50;

/// What a store knows of the author of a new message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AuthorStatus {
    /// Whether the author is banned from the board.
    pub is_banned: bool,
    /// When the author last posted in the channel, by the clock of that time.
    pub last_at: Option<Timestamp>,
    /// The channel's slow mode, in seconds.
    pub slow_mode_s: u32,
    /// Whether the channel is archived.
    pub is_archived: bool,
}

/// What a store knows of a message and the member who acts on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetMessage {
    /// Whether the member wrote the message.
    pub is_own: bool,
    /// The current text.
    pub body: Option<Body>,
    /// Whether the message can be read.
    pub visibility: Visibility,
    /// Whether the message has the member's reaction that the action names.
    pub has_reaction: bool,
    /// How many edits the message has; counted only for an edit.
    pub edits: u32,
    /// Whether the message's channel is archived.
    pub is_archived: bool,
}

/// The error for banned members.
pub const BANNED: &str = "you are banned from this board by its moderators";

/// Returns [`Error::Forbidden`] for a banned member.
pub fn check_banned(is_banned: bool) -> Result<()> {
    if is_banned {
        return Err(Error::forbidden(BANNED));
    }
    Ok(())
}

fn check_open(is_archived: bool) -> Result<()> {
    if is_archived {
        return Err(Error::forbidden("this channel is archived and read-only"));
    }
    Ok(())
}

/// Checks whether a member may post at `now`, by the wall clock. Slow mode compares clock times: a message's stamp may
/// be later because another server's clock was ahead, and a member must not wait for that. A clock that was set back
/// blocks a member for at most one interval. Two requests that are handled in the reverse of their clock order count
/// as too fast.
pub fn check_post(writer: &AuthorStatus, by: &Actor, now: Timestamp) -> Result<()> {
    check_banned(writer.is_banned)?;
    check_open(writer.is_archived)?;
    let (slow, now) = (i64::from(writer.slow_mode_s) * 1_000_000, now.as_microsecond());
    let last_at = writer.last_at.map(Timestamp::as_microsecond);
    let last_at = last_at.filter(|last_at| !by.is_staff() && *last_at <= now + slow);
    let Some(last_at) = last_at else { return Ok(()) };
    match u64::try_from(last_at.min(now) + slow - now) {
        Ok(wait) if wait > 0 => {
            Err(Error::TooMany { retry_after: Duration::from_secs(wait.div_ceil(1_000_000)) })
        }
        _ => Ok(()),
    }
}

/// Returns [`Error::KeyReused`] if a repeated client id comes with another channel, text or message that it replies to.
/// `before` is the original text, `None` if it is no longer stored, and `reply_to` the original reply.
pub fn check_repeated(
    new: &NewMessage,
    same_channel: bool,
    before: Option<&Body>,
    reply_to: Option<EventId>,
) -> Result<()> {
    let same_text = before.is_none_or(|before| *before == new.body);
    if same_channel && same_text && reply_to == new.reply_to {
        return Ok(());
    }
    Err(Error::KeyReused)
}

/// Decides what an action does; `None` if it would change nothing.
pub fn authorize(
    target: &TargetMessage,
    by: &Actor,
    is_banned: bool,
    id: super::EventId,
    action: Action,
) -> Result<Option<BoardEventContent>> {
    check_banned(is_banned)?;
    let readable = || match target.visibility {
        Visibility::Shown => Ok(()),
        Visibility::Hidden => Err(Error::forbidden("this message is hidden")),
        Visibility::Deleted => Err(Error::gone("this message was deleted")),
    };
    match action {
        Action::Edit(body) => {
            check_own(target)?;
            check_open(target.is_archived)?;
            readable()?;
            if target.body.as_ref() == Some(&body) {
                return Ok(None);
            }
            if target.edits >= EDITS_MAX {
                return Err(Error::conflict("a message can be edited at most 50 times"));
            }
            Ok(Some(BoardEventContent::Edit { target: id, body: Some(body) }))
        }
        Action::Delete => {
            check_own(target)?;
            let is_there = target.visibility != Visibility::Deleted;
            Ok(is_there.then_some(BoardEventContent::Delete { target: id }))
        }
        Action::React { reaction, is_removed } => {
            check_open(target.is_archived)?;
            readable()?;
            Ok(reacted(target, id, reaction, is_removed))
        }
        Action::Hide(is_hidden) => {
            by.check_staff()?;
            if target.visibility == Visibility::Deleted {
                return Err(Error::gone("this message was deleted"));
            }
            let is_so = is_hidden == (target.visibility == Visibility::Hidden);
            Ok((!is_so).then_some(BoardEventContent::Hide { target: id, is_hidden }))
        }
    }
}

fn check_own(target: &TargetMessage) -> Result<()> {
    if target.is_own {
        Ok(())
    } else {
        Err(Error::forbidden("only the author may edit or delete a message"))
    }
}

fn reacted(
    target: &TargetMessage,
    id: super::EventId,
    reaction: Reaction,
    is_removed: bool,
) -> Option<BoardEventContent> {
    let changes = is_removed == target.has_reaction;
    changes.then_some(BoardEventContent::Reaction { target: id, reaction, is_removed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        accounts::Role,
        board::{EventId, Origin, Profile},
    };

    fn actor(role: Role) -> Actor {
        Actor { profile: Profile { role, ..Profile::of_member(1) }, role }
    }

    fn actions() -> [Action; 6] {
        let reaction = Reaction::all().next().unwrap();
        [
            Action::Edit(Body::parse("new").unwrap()),
            Action::Delete,
            Action::React { reaction, is_removed: false },
            Action::React { reaction, is_removed: true },
            Action::Hide(true),
            Action::Hide(false),
        ]
    }

    /// The outcome of each action: `+` it happens, `=` nothing changes, `-` it is refused.
    fn judged(
        is_own: bool,
        visibility: Visibility,
        role: Role,
        (is_banned, is_archived): (bool, bool),
    ) -> String {
        let id = EventId { origin: Origin::new(1).unwrap(), seq: 1 };
        let body = Some(Body::parse("old").unwrap());
        let edits = EDITS_MAX - 1;
        let target =
            TargetMessage { is_own, body, visibility, has_reaction: false, edits, is_archived };
        let judged = |action| match authorize(&target, &actor(role), is_banned, id, action) {
            Ok(Some(_)) => '+',
            Ok(None) => '=',
            Err(_) => '-',
        };
        actions().map(judged).into_iter().collect()
    }

    #[test]
    fn authors_edit_and_delete_and_staff_hide() {
        use Role::{Admin, Member, Moderator};
        use Visibility::{Deleted, Hidden, Shown};
        // Edit, delete, add a reaction, remove it, hide, show.
        for (is_own, visibility, role, wanted) in [
            (true, Shown, Member, "+++=--"),
            (false, Shown, Member, "--+=--"),
            (false, Shown, Moderator, "--+=+="),
            (false, Shown, Admin, "--+=+="),
            (true, Hidden, Member, "-+----"),
            (false, Hidden, Member, "------"),
            (false, Hidden, Moderator, "----=+"),
            (true, Deleted, Member, "-=----"),
            (false, Deleted, Admin, "------"),
        ] {
            let found = judged(is_own, visibility, role, (false, false));
            assert_eq!(found, wanted, "{is_own} {visibility:?} {role:?}");
            assert_eq!(judged(is_own, visibility, role, (true, false)), "------");
        }
    }

    #[test]
    fn an_archived_channel_allows_only_deletion_and_hiding() {
        for (is_own, role, wanted) in
            [(true, Role::Member, "-+----"), (false, Role::Admin, "----+=")]
        {
            assert_eq!(judged(is_own, Visibility::Shown, role, (false, true)), wanted);
        }
        let writer = AuthorStatus { is_archived: true, ..AuthorStatus::default() };
        let now = Timestamp::UNIX_EPOCH;
        assert!(check_post(&writer, &actor(Role::Admin), now).is_err());
        check_post(&AuthorStatus::default(), &actor(Role::Member), now).unwrap();
    }

    #[test]
    fn members_wait_out_a_slow_mode_to_the_second() {
        let at = |microseconds| Timestamp::from_microsecond(microseconds).unwrap();
        let writer = AuthorStatus {
            last_at: Some(at(5_000_000)),
            slow_mode_s: 10,
            ..AuthorStatus::default()
        };
        let member = actor(Role::Member);
        // The first request carries a clock time before the last message.
        for (now, wait_s) in [(4_000_000, 10), (5_000_001, 10), (14_000_000, 1), (14_999_999, 1)] {
            let refused = check_post(&writer, &member, at(now));
            let Err(Error::TooMany { retry_after }) = refused else { panic!("{refused:?}") };
            assert_eq!(retry_after.as_secs(), wait_s);
        }
        check_post(&writer, &member, at(15_000_000)).unwrap();
        // The clock was set back.
        check_post(&writer, &member, at(-5_000_001)).unwrap();
        check_post(&writer, &actor(Role::Moderator), at(5_000_001)).unwrap();
        check_post(&AuthorStatus { slow_mode_s: 0, ..writer }, &member, at(5_000_001)).unwrap();
    }
}
