//! The message board: channels, their ordered event logs, and the rules of posting and moderation.

mod body;
mod channel;
mod cursor;
mod event;
mod hooks;
#[cfg(test)]
mod html_check;
mod markup;
mod member_sync;
mod mentions;
mod notifier;
mod origin;
mod page;
mod people;
mod pictures;
mod presence;
mod projection;
mod rules;
mod service;
mod stamp;
mod store;

pub use self::{
    body::{BODY_CHARS_MAX, Body, ClientId, Reaction},
    channel::{CHANNELS_MAX, Channel, ChannelChange, SLOW_MODE_S_MAX, Slug, Topic},
    cursor::{CURSOR_BYTES_MAX, Cursor},
    event::{
        Action, Applied, BoardEvent, BoardEventContent, EventRange, EventsPage, Message,
        MessagesPage, NewMessage, Posted, Quote, ReactionCount, Version, Visibility,
    },
    hooks::{
        Deliver, Delivery, DeliveryOutcome, DeliveryStatus, HOOK_URL_BYTES_MAX, HOOKS_MAX, Hook,
        HookDispatcher, HookId, HookPorts, HookSecret, HookStore, HookUrl, HookWakeup, Hooks,
        NewHook, Render,
    },
    markup::{HTML_BYTES_MAX, html},
    member_sync::MemberSync,
    mentions::{MENTIONS_MAX, Mention, mentioned, mentions},
    notifier::MentionWatch,
    origin::{EventId, Origin},
    people::{Actor, BOT_PREFIX, PersonId, Profile},
    presence::{PRESENCE_TTL, Presence},
    projection::{EventSortKey, MessageState},
    rules::{
        AuthorStatus, BANNED, EDITS_MAX, TargetMessage, authorize, check_banned, check_post,
        check_repeated,
    },
    service::{Board, BoardStores, MemberUpdate},
    stamp::Stamp,
    store::{
        BoardLog, BoardMembers, Channels, EventLog, KnownMember, MessagePictures, MessageRange,
        MessageSearch, MessagesQuery, PAGE_MAX, ReadPosition, ReadPositions, Report, Reports,
        UNREAD_MAX, Unread, Word,
    },
};
