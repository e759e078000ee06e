//! The task that follows a channel while it has at least one stream.

use std::{sync::Arc, time::Duration};

use lodge_domain::{
    Result,
    board::{Board, Cursor, EventRange, MemberUpdate, PAGE_MAX, Slug},
};
use tokio::{
    sync::broadcast::{
        self,
        error::{RecvError, TryRecvError},
    },
    time::{MissedTickBehavior, interval},
};

use super::{
    feed::{Frame, SharedEvent},
    shared::StreamState,
};

/// The period of polling the store, for events of other processes that no wake-up announced.
const POLL_PERIOD: Duration = Duration::from_millis(500);

/// Reads new events of a channel and broadcasts them, until the last stream ends.
pub(super) async fn follow(
    shared: Arc<StreamState>,
    channel: Slug,
    frames: broadcast::Sender<Frame>,
    mut news: broadcast::Receiver<MemberUpdate>,
) {
    let mut wakeups = shared.board.wakeups();
    let mut ticks = interval(POLL_PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut cursor = None;
    loop {
        tokio::select! {
            _ = ticks.tick() => shared.rooms.announce(&channel),
            () = wait_for_wakeup(&mut wakeups, &channel) => {}
            heard = news.recv() => match heard {
                Ok(heard) => {
                    shared.apply_news(&channel, heard);
                    continue;
                }
                // A ban may have been missed: end all streams, whose clients reconnect and are checked again.
                Err(RecvError::Lagged(_) | RecvError::Closed) => return,
            },
        }
        // The next read covers all wake-ups so far.
        while !matches!(wakeups.try_recv(), Err(TryRecvError::Empty | TryRecvError::Closed)) {}
        if let Err(error) =
            broadcast_new_events(&shared.board, &channel, &mut cursor, &frames).await
        {
            tracing::warn!(%error, %channel, "reading new events failed; retrying");
        }
    }
}

/// Waits for a wake-up of this channel.
async fn wait_for_wakeup(rings: &mut broadcast::Receiver<Slug>, channel: &Slug) {
    loop {
        match rings.recv().await {
            Ok(woken) if woken != *channel => {}
            // Lagged: a wake-up of this channel may have been lost.
            Ok(_) | Err(RecvError::Lagged(_)) => return,
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

/// Broadcasts the events since the last call.
async fn broadcast_new_events(
    board: &Board,
    channel: &Slug,
    cursor: &mut Option<Cursor>,
    frames: &broadcast::Sender<Frame>,
) -> Result<()> {
    loop {
        let Some(had) = cursor.clone() else {
            // The first stream may have read the store before this point.
            *cursor = Some(board.events(channel.clone(), EventRange::Tail, 1).await?.cursor);
            let _ = frames.send(Frame::CatchUp);
            return Ok(());
        };
        let page = board.events(channel.clone(), EventRange::After(had), PAGE_MAX).await?;
        let mut had = page.start;
        for event in page.events {
            had.take(event.id);
            // Fails only without a receiver.
            let _ = frames.send(Frame::Event(Arc::new(SharedEvent::new(event, had.clone()))));
        }
        *cursor = Some(page.cursor);
        if !page.more {
            return Ok(());
        }
    }
}
