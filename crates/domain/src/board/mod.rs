//! The message board: channels, their ordered event logs, and the rules of posting and moderation.

mod body;
mod channel;
mod cursor;
mod event;
mod guests;
mod hooks;
mod markup;
mod mentions;
mod origin;
mod page;
mod people;
mod pictures;
mod presence;
mod projection;
mod rules;
mod service;
#[cfg(test)]
mod sound_html;
mod stamp;
mod store;

pub use self::{
    body::{BODY_CHARS_MAX, Body, ClientId, Reaction},
    channel::{CHANNELS_MAX, Channel, ChannelChange, SLOW_MODE_S_MAX, Slug, Topic},
    cursor::{CURSOR_BYTES_MAX, Cursor},
    event::{
        Amended, Event, EventsPage, Message, MessagesPage, NewMessage, Posted, Quote, Reach,
        ReactionCount, Version, Visibility, What, Wish,
    },
    guests::Guests,
    hooks::{
        Courier, Deliver, Delivered, Delivery, HOOK_URL_BYTES_MAX, HOOKS_MAX, Hook, HookId,
        HookPorts, HookSecret, HookStanding, HookStore, HookUrl, Hooks, Look, NewHook, Render,
    },
    markup::{HTML_BYTES_MAX, html},
    mentions::{MENTIONS_MAX, Mention, mentioned, mentions},
    origin::{EventId, Origin},
    people::{Actor, BOT_PREFIX, PersonId, Profile},
    presence::{PRESENCE_TTL, Presence},
    projection::{MessageState, Place},
    rules::{BANNED, EDITS_MAX, Target, Writer, check_banned, check_post, check_repeated, judge},
    service::{Board, BoardStores, News},
    stamp::Stamp,
    store::{
        BoardLog, BoardPeople, Channels, EventLog, Known, MessagePictures, MessageSearch,
        MessagesQuery, PAGE_MAX, ReadNote, ReadPositions, Report, Reports, UNREAD_MAX, Unread,
        Word,
    },
};
