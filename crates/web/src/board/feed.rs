//! What listeners to a channel hear, as it goes over the wire: written once for all of them.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use lodge_domain::{
    Error, Result,
    board::{Board, Cursor, Event, Slug},
};
use tokio::sync::{OnceCell, broadcast};
use tokio_util::task::AbortOnDropHandle;

use super::{dto::EventJson, shown::shown};

/// What a listener may have missed before it goes back to reading the store. One that reads slowly keeps so much in
/// memory for its channel, and each may be a message's whole HTML. With fewer, a pause of a tenth of a second has all
/// of a busy channel's listeners read the store, which is half as fast.
pub(super) const WAITING_MAX: usize = 1_024;

/// What the listeners to a channel share; the last of them to go ends the task.
pub(super) struct Feed {
    pub(super) frames: broadcast::Sender<Frame>,
    pub(super) task: AbortOnDropHandle<()>,
}

impl Feed {
    /// Whether anybody still looks for what is new.
    pub(super) fn is_followed(&self) -> bool {
        !self.task.is_finished()
    }
}

/// What all listeners to a channel hear.
#[derive(Clone)]
pub(super) enum Frame {
    /// Something has happened.
    Event(Arc<Told>),
    /// Something may have happened before anybody followed.
    Look,
    /// Something about people, as it goes over the wire.
    Word(Bytes),
}

/// An event as it goes over the wire, written once for all who have the same cursor.
pub(super) struct Told {
    event: Event,
    /// What a reader has who has all that the follower had then.
    cursor: Cursor,
    written: OnceLock<(Bytes, usize)>,
    shown: OnceCell<(Bytes, usize)>,
}

impl Told {
    pub(super) fn new(event: Event, cursor: Cursor) -> Self {
        Self { event, cursor, written: OnceLock::new(), shown: OnceCell::new() }
    }

    pub(super) fn event(&self) -> &Event {
        &self.event
    }

    /// The frames for a reader who has `cursor` with it: the same bytes for all, or the line of the id anew before
    /// them.
    pub(super) fn frames(&self, cursor: &Cursor) -> (Bytes, Option<Bytes>) {
        let written = self.written.get_or_init(|| whole(&self.cursor, &data_line(&self.event)));
        self.for_reader(written, cursor)
    }

    /// The same for a page, of which whoever comes first makes what is to be seen.
    pub(super) async fn page_frames(
        &self,
        board: &Board,
        channel: &Slug,
        cursor: &Cursor,
    ) -> Result<(Bytes, Option<Bytes>)> {
        let shown = self.shown.get_or_try_init(async || {
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

/// A frame, and how much of it is the line of its id.
fn whole(cursor: &Cursor, data_line: &str) -> (Bytes, usize) {
    let id = id_line(cursor);
    ([id.as_bytes(), data_line.as_bytes()].concat().into(), id.len())
}

/// An event that one reader alone is told.
pub(super) fn frame(event: &Event, cursor: &Cursor) -> Bytes {
    whole(cursor, &data_line(event)).0
}

/// The same for a page.
pub(super) async fn page_frame(
    board: &Board,
    channel: &Slug,
    event: &Event,
    cursor: &Cursor,
) -> Result<Bytes> {
    Ok(whole(cursor, &page_data_line(board, channel, event).await?).0)
}

/// What a reader has, so that they come back with it.
pub(super) fn id_line(cursor: &Cursor) -> String {
    format!("id: {cursor}\n")
}

fn data_line(event: &Event) -> String {
    let json = serde_json::to_string(&EventJson::from(event)).unwrap_or_default();
    format!("data: {json}\n\n")
}

async fn page_data_line(board: &Board, channel: &Slug, event: &Event) -> Result<String> {
    let json = shown(board, channel, event).await?;
    Ok(format!("data: {}\n\n", serde_json::to_string(&json).map_err(Error::internal)?))
}

#[cfg(test)]
mod tests {
    use lodge_domain::board::{Stamp, What};

    use super::*;
    use crate::board::samples::member;

    #[test]
    fn an_event_is_written_once_and_the_id_anew_for_whoever_has_another_cursor() {
        let id = "7:42".parse().unwrap();
        let by = member(1, "ada", "Ada");
        let event = Event { id, at: Stamp::stored(0), by, what: What::Delete { target: id } };
        let cursor: Cursor = "7:42,9:3".parse().unwrap();
        let told = Told::new(event.clone(), cursor.clone());
        let ((first, none), (again, _)) = (told.frames(&cursor), told.frames(&cursor));
        assert_eq!((first.as_ptr(), none), (again.as_ptr(), None), "each holds the same bytes");
        assert_eq!(first, frame(&event, &cursor));
        let other: Cursor = "7:42".parse().unwrap();
        let (line, data) = told.frames(&other);
        assert_eq!([line, data.unwrap()].concat(), frame(&event, &other));
        let text = String::from_utf8(first.to_vec()).unwrap();
        assert!(text.starts_with("id: 7:42,9:3\ndata: {") && text.ends_with("}\n\n"), "{text}");
    }
}
