//! The broadcast of a channel's events to its streams. Each event is serialised once for all of them.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use lodge_domain::{
    Error, Result,
    board::{Board, BoardEvent, Cursor, Slug},
};
use tokio::sync::{OnceCell, broadcast};
use tokio_util::task::AbortOnDropHandle;

use super::{dto::EventJson, page_event::page_event};

/// The capacity of a channel's broadcast, in frames. A stream that lags further behind reads from the store again. A
/// slow stream keeps up to this many frames in memory for its channel, each possibly a message's whole HTML. With a
/// smaller capacity, a pause of 0.1 s makes all streams of a busy channel read from the store, at half the throughput.
pub(super) const BROADCAST_CAPACITY: usize = 1_024;

/// The broadcast that the streams of a channel share. Dropping the last reference aborts the task.
pub(super) struct Feed {
    pub(super) frames: broadcast::Sender<Frame>,
    pub(super) task: AbortOnDropHandle<()>,
}

impl Feed {
    /// Whether the task that follows the channel is running.
    pub(super) fn is_running(&self) -> bool {
        !self.task.is_finished()
    }
}

/// An item of a channel's broadcast.
#[derive(Clone)]
pub(super) enum Frame {
    /// An event of the channel.
    Event(Arc<SharedEvent>),
    /// Events may have been stored before the task began to follow the channel: read the store again.
    CatchUp,
    /// A serialised frame about members: `people`, `join`, `leave`, `person` or `gone`.
    Presence(Bytes),
}

/// An event, serialised once for all streams with the same cursor.
pub(super) struct SharedEvent {
    event: BoardEvent,
    /// The cursor after the event of a stream that has received all that the task has read.
    cursor: Cursor,
    serialized: OnceLock<(Bytes, usize)>,
    rendered: OnceCell<(Bytes, usize)>,
}

impl SharedEvent {
    pub(super) fn new(event: BoardEvent, cursor: Cursor) -> Self {
        Self { event, cursor, serialized: OnceLock::new(), rendered: OnceCell::new() }
    }

    pub(super) fn event(&self) -> &BoardEvent {
        &self.event
    }

    /// Returns the frames for a stream whose cursor after the event is `cursor`: the shared bytes, or an id line of
    /// its own followed by the shared data line.
    pub(super) fn frames(&self, cursor: &Cursor) -> (Bytes, Option<Bytes>) {
        let written = self.serialized.get_or_init(|| whole(&self.cursor, &data_line(&self.event)));
        self.for_reader(written, cursor)
    }

    /// Like [`Self::frames`], for pages. The first call renders the message's HTML.
    pub(super) async fn page_frames(
        &self,
        board: &Board,
        channel: &Slug,
        cursor: &Cursor,
    ) -> Result<(Bytes, Option<Bytes>)> {
        let shown = self.rendered.get_or_try_init(async || {
            Ok::<_, Error>(whole(&self.cursor, &page_data_line(board, channel, &self.event).await?))
        });
        Ok(self.for_reader(shown.await?, cursor))
    }

    fn for_reader(
        &self,
        (whole, id_bytes): &(Bytes, usize),
        cursor: &Cursor,
    ) -> (Bytes, Option<Bytes>) {
        if *cursor == self.cursor {
            return (whole.clone(), None);
        }
        (id_line(cursor).into(), Some(whole.slice(*id_bytes..)))
    }
}

/// Returns a frame, and the length of its id line in bytes.
fn whole(cursor: &Cursor, data_line: &str) -> (Bytes, usize) {
    let id = id_line(cursor);
    ([id.as_bytes(), data_line.as_bytes()].concat().into(), id.len())
}

/// Serialises an event for one stream.
pub(super) fn frame(event: &BoardEvent, cursor: &Cursor) -> Bytes {
    whole(cursor, &data_line(event)).0
}

/// Serialises an event for the stream of one page.
pub(super) async fn page_frame(
    board: &Board,
    channel: &Slug,
    event: &BoardEvent,
    cursor: &Cursor,
) -> Result<Bytes> {
    Ok(whole(cursor, &page_data_line(board, channel, event).await?).0)
}

/// The id line: a reconnecting client sends the cursor back as `Last-Event-ID`.
pub(super) fn id_line(cursor: &Cursor) -> String {
    format!("id: {cursor}\n")
}

fn data_line(event: &BoardEvent) -> String {
    let json = serde_json::to_string(&EventJson::from(event)).unwrap_or_default();
    format!("data: {json}\n\n")
}

async fn page_data_line(board: &Board, channel: &Slug, event: &BoardEvent) -> Result<String> {
    let json = page_event(board, channel, event).await?;
    Ok(format!("data: {}\n\n", serde_json::to_string(&json).map_err(Error::internal)?))
}

#[cfg(test)]
mod tests {
    use lodge_domain::board::{BoardEventContent, Stamp};

    use super::*;
    use crate::board::samples::member;

    #[test]
    fn an_event_is_serialised_once_and_only_the_id_line_depends_on_the_cursor() {
        let id = "7:42".parse().unwrap();
        let by = member(1, "ada", "Ada");
        let event = BoardEvent {
            id,
            at: Stamp::stored(0),
            by,
            content: BoardEventContent::Delete { target: id },
        };
        let cursor: Cursor = "7:42,9:3".parse().unwrap();
        let told = SharedEvent::new(event.clone(), cursor.clone());
        let ((first, none), (again, _)) = (told.frames(&cursor), told.frames(&cursor));
        assert_eq!((first.as_ptr(), none), (again.as_ptr(), None), "both share the same bytes");
        assert_eq!(first, frame(&event, &cursor));
        let other: Cursor = "7:42".parse().unwrap();
        let (line, data) = told.frames(&other);
        assert_eq!([line, data.unwrap()].concat(), frame(&event, &other));
        let text = String::from_utf8(first.to_vec()).unwrap();
        assert!(text.starts_with("id: 7:42,9:3\ndata: {") && text.ends_with("}\n\n"), "{text}");
    }
}
