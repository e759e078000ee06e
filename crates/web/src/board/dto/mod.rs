//! The JSON shapes that several handlers answer with. Whatever people wrote is data in them.

mod channel;
mod event;
mod message;
mod people;
mod picture;

pub(super) use self::{
    channel::{ChannelJson, UnreadJson},
    event::EventJson,
    message::{FoundJson, MessageJson},
    people::{PeopleJson, PersonJson},
    picture::picture_of,
};

use lodge_domain::board::Visibility;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// Why a message cannot be read.
fn unreadable(visibility: Visibility) -> Option<&'static str> {
    match visibility {
        Visibility::Shown => None,
        Visibility::Hidden => Some("hidden"),
        Visibility::Deleted => Some("deleted"),
    }
}
