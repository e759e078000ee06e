//! The task that follows a channel while it has at least one stream.

use std::{sync::Arc, time::Duration};

use lodge_domain::{
    Result,
    board::{Board, Cursor, News, PAGE_MAX, Reach, Slug},
};
use tokio::{
    sync::broadcast::{
        self,
        error::{RecvError, TryRecvError},
    },
    time::{MissedTickBehavior, interval},
};

use super::{
    feed::{Frame, Told},
    shared::Shared,
};

/// The period of polling the store, for events of other processes that no wake-up announced.
const PAUSE: Duration = Duration::from_millis(500);

/// Reads new events of a channel and broadcasts them, until the last stream ends.
pub(super) async fn follow(
    shared: Arc<Shared>,
    channel: Slug,
    frames: broadcast::Sender<Frame>,
    mut news: broadcast::Receiver<News>,
) {
    let mut rings = shared.board.rings();
    let mut ticks = interval(PAUSE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut cursor = None;
    loop {
        tokio::select! {
            _ = ticks.tick() => shared.rooms.announce(&channel),
            () = rung(&mut rings, &channel) => {}
            heard = news.recv() => match heard {
                Ok(heard) => {
                    shared.hear(&channel, heard);
                    continue;
                }
                // A ban may have been missed: end all streams, whose clients reconnect and are checked again.
                Err(RecvError::Lagged(_) | RecvError::Closed) => return,
            },
        }
        // The next read covers all wake-ups so far.
        while !matches!(rings.try_recv(), Err(TryRecvError::Empty | TryRecvError::Closed)) {}
        if let Err(error) = read_on(&shared.board, &channel, &mut cursor, &frames).await {
            tracing::warn!(%error, %channel, "reading new events failed; retrying");
        }
    }
}

/// Waits for a wake-up of this channel.
async fn rung(rings: &mut broadcast::Receiver<Slug>, channel: &Slug) {
    loop {
        match rings.recv().await {
            Ok(rung) if rung != *channel => {}
            // Lagged: a wake-up of this channel may have been lost.
            Ok(_) | Err(RecvError::Lagged(_)) => return,
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

/// Broadcasts the events since the last call.
async fn read_on(
    board: &Board,
    channel: &Slug,
    cursor: &mut Option<Cursor>,
    frames: &broadcast::Sender<Frame>,
) -> Result<()> {
    loop {
        let Some(had) = cursor.clone() else {
            // The first stream may have read the store before this point.
            *cursor = Some(board.events(channel.clone(), Reach::Tail, 1).await?.cursor);
            let _ = frames.send(Frame::Look);
            return Ok(());
        };
        let page = board.events(channel.clone(), Reach::After(had), PAGE_MAX).await?;
        let mut had = page.start;
        for event in page.events {
            had.take(event.id);
            // Fails only without a receiver.
            let _ = frames.send(Frame::Event(Arc::new(Told::new(event, had.clone()))));
        }
        *cursor = Some(page.cursor);
        if !page.more {
            return Ok(());
        }
    }
}
