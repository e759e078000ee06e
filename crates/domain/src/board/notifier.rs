//! Notifications in this process: which channels have new events, and which members are mentioned.

use std::{collections::HashMap, future, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::{broadcast, watch};

use super::{BoardEvent, BoardEventContent, Slug, mentioned};
use crate::accounts::Username;

/// Pending wake-ups of a listener; one that lags further behind has to look at all channels.
const WAKEUPS_MAX: usize = 1_024;

/// The watched members.
type Watched = Arc<Mutex<HashMap<Username, watch::Sender<()>>>>;

/// Notifies listeners of stored events. A mention costs one lookup per name, however many members are watched.
#[derive(Debug, Clone)]
pub(super) struct Notifier {
    wakeups: broadcast::Sender<Slug>,
    watched: Watched,
}

impl Notifier {
    /// Starts without listeners.
    pub(super) fn new() -> Self {
        Self { wakeups: broadcast::Sender::new(WAKEUPS_MAX), watched: Watched::default() }
    }

    /// Subscribes to the channels that get new events.
    pub(super) fn wakeups(&self) -> broadcast::Receiver<Slug> {
        self.wakeups.subscribe()
    }

    /// Watches the mentions of a member from now on.
    pub(super) fn watch_mentions(&self, name: Username) -> MentionWatch {
        let mut watched = self.watched.lock();
        let sender = watched.entry(name.clone()).or_insert_with(|| watch::Sender::new(()));
        let mentions = Some(sender.subscribe());
        MentionWatch { watched: Arc::clone(&self.watched), name, mentions }
    }

    /// Notifies the listeners of a channel of a stored event, and the members whom its text mentions.
    pub(super) fn notify(&self, channel: Slug, event: &BoardEvent) {
        // There may be no listener.
        let _ = self.wakeups.send(channel);
        let (BoardEventContent::Message { body: Some(body), .. }
        | BoardEventContent::Edit { body: Some(body), .. }) = &event.content
        else {
            return;
        };
        let names = mentioned(body);
        if names.is_empty() {
            return;
        }
        let watched = self.watched.lock();
        for sender in names.iter().filter_map(|name| watched.get(name)) {
            sender.send_replace(());
        }
    }
}

/// A subscription to the mentions of one member, in all channels.
#[derive(Debug)]
pub struct MentionWatch {
    watched: Watched,
    name: Username,
    /// `None` only while this is dropped.
    mentions: Option<watch::Receiver<()>>,
}

impl MentionWatch {
    /// Waits until a message mentions the member; several mentions since the last call count as one.
    pub async fn mentioned(&mut self) {
        let changed = match &mut self.mentions {
            Some(mentions) => mentions.changed().await.is_ok(),
            None => false,
        };
        if !changed {
            future::pending::<()>().await;
        }
    }
}

impl Drop for MentionWatch {
    fn drop(&mut self) {
        let mut watched = self.watched.lock();
        // Under the lock, so that of two that are dropped at once the second finds no other.
        drop(self.mentions.take());
        if watched.get(&self.name).is_some_and(|sender| sender.receiver_count() == 0) {
            watched.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::board::{Body, Profile, Stamp};

    #[test]
    fn only_mentioned_members_are_notified_and_an_ended_watch_leaves_nothing() {
        let notifier = Notifier::new();
        let watch = |name| notifier.watch_mentions(Username::parse(name).unwrap());
        let say = |text: &str| {
            let (id, body) = ("7:1".parse().unwrap(), Some(Body::parse(text).unwrap()));
            let content = BoardEventContent::Edit { target: id, body };
            let (at, by) = (Stamp::stored(0), Profile::of_member(1));
            notifier.notify(Slug::lobby(), &BoardEvent { id, at, by, content });
        };
        let (mut ada, mut also_ada, mut bob) = (watch("ada"), watch("ada"), watch("bob"));
        say("@Ada, @cleo");
        say("@ada");
        for ada in [&mut ada, &mut also_ada] {
            assert!(ada.mentioned().now_or_never().is_some());
            assert!(ada.mentioned().now_or_never().is_none(), "two mentions count as one");
        }
        assert!(bob.mentioned().now_or_never().is_none());
        drop(ada);
        say("@ada");
        assert!(also_ada.mentioned().now_or_never().is_some());
        drop((also_ada, bob));
        assert!(notifier.watched.lock().is_empty());
    }
}
