//! One stream of a channel's events.

use std::{collections::VecDeque, future, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::FutureExt;
use lodge_domain::{
    Error, Result,
    board::{BANNED, BoardEvent, Cursor, EventRange, MentionWatch, Slug},
};
use tokio::{
    sync::broadcast::{self, error::RecvError},
    time::{Interval, MissedTickBehavior, interval},
};

use super::{
    caller::{BoardCaller, Credential},
    feed::{Frame, SharedEvent, frame, id_line, page_frame},
    reader::{Reader, Received},
    shared::{Audience, PersonStreamSlot, PresenceGuard, StreamState},
};
use crate::edge::stream::named_event;

/// Events per read of the store.
const PAGE: usize = 50;

/// The bytes of replayed events that may wait to be sent, exceeded by at most the last frame.
const WAITING_BYTES_MAX: usize = 32 * 1024;

/// The period of checking that the session or bot key is still valid.
const CHECK_PERIOD: Duration = Duration::from_millis(500);

/// The frame after a mention of the reader, which makes a page read its unread counts.
const MENTION: Bytes = Bytes::from_static(b"event: mention\ndata: {}\n\n");

/// Consecutive failed checks or reads after which the stream is closed.
const FAILURES_MAX: u32 = 20;

/// A stream of a channel's events.
pub(super) struct EventStream {
    shared: Arc<StreamState>,
    channel: Slug,
    credential: Credential,
    audience: Audience,
    reader: Reader,
    frames: broadcast::Receiver<Frame>,
    /// The reader's mentions in any channel; `None` for programs.
    mentions: Option<MentionWatch>,
    pub(super) waiting: VecDeque<Bytes>,
    checks: Interval,
    failures: u32,
    has_ended: bool,
    stay: PresenceGuard,
    own: PersonStreamSlot,
}

impl EventStream {
    /// Creates a stream of the events after `cursor`. With `is_new`, the client does not have the cursor yet and is
    /// sent it first.
    pub(super) fn new(
        shared: &Arc<StreamState>,
        visitor: &BoardCaller,
        channel: Slug,
        cursor: Cursor,
        own: PersonStreamSlot,
        is_new: bool,
        audience: Audience,
    ) -> Self {
        let mut waiting = VecDeque::new();
        if is_new {
            // An id without data: the client dispatches no event, but sends the id when it reconnects.
            waiting.push_back((id_line(&cursor) + "\n").into());
        }
        let (stay, frames, people) = shared.enter(&channel, &visitor.actor.profile);
        waiting.push_back(people);
        let is_page = audience == Audience::Pages;
        let mentions =
            is_page.then(|| shared.board.watch_mentions(&visitor.actor.profile)).flatten();
        let mut checks = interval(CHECK_PERIOD);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            shared: Arc::clone(shared),
            channel,
            credential: visitor.credential,
            audience,
            reader: Reader::from(cursor),
            frames,
            mentions,
            waiting,
            checks,
            failures: 0,
            has_ended: false,
            stay,
            own,
        }
    }

    /// Returns the next frame to send; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.own.banned.is_cancelled() && !self.has_ended {
                self.end(BANNED);
            }
            if let Some(next) = self.waiting.pop_front() {
                return Some(next);
            }
            if self.has_ended {
                return None;
            }
            if !self.reader.is_live() {
                if self.checks.tick().now_or_never().is_some() {
                    self.check_credential().await;
                }
                if !self.has_ended {
                    self.read_page().await;
                }
                continue;
            }
            tokio::select! {
                biased;
                () = self.own.banned.cancelled() => {}
                _ = self.checks.tick() => self.check_credential().await,
                heard = self.frames.recv() => self.receive(heard).await,
                () = next_mention(&mut self.mentions) => self.waiting.push_back(MENTION),
            }
        }
    }

    /// Reads the page of events after the cursor from the store.
    async fn read_page(&mut self) {
        let after = EventRange::After(self.reader.cursor().clone());
        match self.shared.board.events(self.channel.clone(), after, PAGE).await {
            Ok(page) => {
                let (mut had, mut bytes) = (page.start.clone(), 0);
                for (event, cursor) in self.reader.read(page) {
                    match self.frame(&event, &cursor).await {
                        Ok(frame) => {
                            bytes += frame.len();
                            self.waiting.push_back(frame);
                        }
                        Err(error) => {
                            self.reread_from(had, &error);
                            self.checks.tick().await;
                            return;
                        }
                    }
                    had = cursor;
                    if bytes >= WAITING_BYTES_MAX {
                        // The rest is read after these frames are sent.
                        self.reader = Reader::from(had);
                        break;
                    }
                }
                self.failures = 0;
            }
            Err(error) => {
                self.fail(&error);
                self.checks.tick().await;
            }
        }
    }

    async fn frame(&self, event: &BoardEvent, cursor: &Cursor) -> Result<Bytes> {
        match self.audience {
            Audience::Programs => Ok(frame(event, cursor)),
            Audience::Pages => page_frame(&self.shared.board, &self.channel, event, cursor).await,
        }
    }

    async fn frames(&self, told: &SharedEvent) -> Result<(Bytes, Option<Bytes>)> {
        let cursor = self.reader.cursor();
        match self.audience {
            Audience::Programs => Ok(told.frames(cursor)),
            Audience::Pages => told.page_frames(&self.shared.board, &self.channel, cursor).await,
        }
    }

    /// Reads again from `had` after a failure.
    fn reread_from(&mut self, had: Cursor, error: &Error) {
        self.reader = Reader::from(had);
        self.fail(error);
    }

    async fn receive(&mut self, heard: Result<Frame, RecvError>) {
        match heard {
            Ok(Frame::Event(told)) => {
                let id = told.event().id;
                if self.reader.receive(id) != Received::Next {
                    return;
                }
                match self.frames(&told).await {
                    Ok((first, rest)) => {
                        self.waiting.push_back(first);
                        self.waiting.extend(rest);
                    }
                    Err(error) => {
                        let mut had = self.reader.cursor().clone();
                        had.rewind_before(id);
                        self.reread_from(had, &error);
                    }
                }
            }
            Ok(Frame::CatchUp) => self.reader.mark_behind(),
            Ok(Frame::Presence(word)) => self.waiting.push_back(word),
            Err(RecvError::Lagged(_)) => {
                self.reader.mark_behind();
                // Lost joins and leaves cannot be replayed: send the whole list.
                self.waiting.push_back(self.shared.rooms.people(&self.channel).frame());
            }
            Err(RecvError::Closed) => self.has_ended = true,
        }
    }

    /// Ends the stream if its session or bot key is no longer valid.
    async fn check_credential(&mut self) {
        if !self.stay.feed.is_running() {
            self.has_ended = true;
            return;
        }
        let stands = match self.credential {
            Credential::Session(session) => match self.shared.accounts.who(session).await {
                Ok(_) => Ok(true),
                Err(Error::Unauthenticated(_)) => Ok(false),
                Err(error) => Err(error),
            },
            Credential::Bot(bot) => {
                self.shared.board.bots().live(bot).await.map(|key| key.is_some())
            }
        };
        match stands {
            Ok(true) => self.failures = 0,
            Ok(false) => self.end("you are signed out"),
            Err(error) => self.fail(&error),
        }
    }

    /// Ends the stream for good, with an `end` event that says why.
    fn end(&mut self, why: &str) {
        self.has_ended = true;
        self.stay.has_signed_out = true;
        self.waiting.clear();
        let why = serde_json::json!({ "why": why }).to_string();
        self.waiting.push_back(named_event("end", &why));
    }

    fn fail(&mut self, error: &Error) {
        tracing::debug!(%error, channel = %self.channel, "a check or read of a stream failed");
        self.failures += 1;
        // The client reconnects, and gets the error as a response.
        self.has_ended |= self.failures >= FAILURES_MAX;
    }
}

/// Waits for a mention of the reader; forever for a stream without them.
async fn next_mention(mentions: &mut Option<MentionWatch>) {
    match mentions {
        Some(mentions) => mentions.mentioned().await,
        None => future::pending().await,
    }
}
