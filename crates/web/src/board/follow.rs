//! The task that follows a channel while anybody listens to it.

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

/// How often it is looked whether something has happened of which nobody here has heard.
const PAUSE: Duration = Duration::from_millis(500);

/// Reads what happens in a channel, and tells it, until the last listener goes.
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
                // A ban may have been among what is missed: all come again, and are let in anew.
                Err(RecvError::Lagged(_) | RecvError::Closed) => return,
            },
        }
        // What rang until now is read by now.
        while !matches!(rings.try_recv(), Err(TryRecvError::Empty | TryRecvError::Closed)) {}
        if let Err(error) = read_on(&shared.board, &channel, &mut cursor, &frames).await {
            tracing::warn!(%error, %channel, "listeners wait for what happens");
        }
    }
}

/// Waits until something may have happened in the channel.
async fn rung(rings: &mut broadcast::Receiver<Slug>, channel: &Slug) {
    loop {
        match rings.recv().await {
            Ok(rung) if rung != *channel => {}
            // Too many rang: this one may have been among them.
            Ok(_) | Err(RecvError::Lagged(_)) => return,
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

/// Tells what has happened since the last time.
async fn read_on(
    board: &Board,
    channel: &Slug,
    cursor: &mut Option<Cursor>,
    frames: &broadcast::Sender<Frame>,
) -> Result<()> {
    loop {
        let Some(had) = cursor.clone() else {
            // Whoever came first may have read before this.
            *cursor = Some(board.events(channel.clone(), Reach::Tail, 1).await?.cursor);
            let _ = frames.send(Frame::Look);
            return Ok(());
        };
        let page = board.events(channel.clone(), Reach::After(had), PAGE_MAX).await?;
        let mut had = page.start;
        for event in page.events {
            had.take(event.id);
            // Nobody may listen.
            let _ = frames.send(Frame::Event(Arc::new(Told::new(event, had.clone()))));
        }
        *cursor = Some(page.cursor);
        if !page.more {
            return Ok(());
        }
    }
}
