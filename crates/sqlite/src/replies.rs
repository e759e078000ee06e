//! The way of an answer from a thread of the engine to whoever waits for it on a runtime.

use lodge_domain::Result;
use tokio::{
    runtime::Handle,
    sync::oneshot::{self, Receiver, Sender},
};

/// Where an answer is waited for.
pub(crate) struct Reply<T> {
    to: Sender<Result<T>>,
    home: Option<Handle>,
}

impl<T: Send + 'static> Reply<T> {
    /// A way to the caller, and the caller's end of it.
    pub(crate) fn channel() -> (Self, Receiver<Result<T>>) {
        let (to, answer) = oneshot::channel();
        (Self { to, home: Handle::try_current().ok() }, answer)
    }

    /// Whether nobody waits any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.to.is_closed()
    }
}

/// Answers that become known together. To send one after the other from here would be a system call each,
/// with which a runtime is woken by another thread; so each runtime is woken once, for all that wait on it.
#[derive(Default)]
pub(crate) struct Replies {
    of_homes: Vec<(Handle, Bundle)>,
}

/// Answers for one runtime. They are sent where this is dropped: there, or here if it has ended, because
/// whoever waits may have moved to another.
#[derive(Default)]
struct Bundle(Vec<Box<dyn FnOnce() + Send>>);

impl Replies {
    pub(crate) fn add<T: Send + 'static>(&mut self, reply: Reply<T>, answer: Result<T>) {
        let Reply { to, home } = reply;
        // Whoever asked may have gone.
        let send = move || drop(to.send(answer));
        let Some(home) = home else { return send() };
        let known = self.of_homes.iter_mut().find(|(known, _)| known.id() == home.id());
        match known {
            Some((_, bundle)) => bundle.0.push(Box::new(send)),
            None => self.of_homes.push((home, Bundle(vec![Box::new(send)]))),
        }
    }

    /// Has them sent, those of each runtime there.
    pub(crate) fn send(self) {
        for (home, bundle) in self.of_homes {
            home.spawn(async move { drop(bundle) });
        }
    }
}

impl Drop for Bundle {
    fn drop(&mut self) {
        self.0.drain(..).for_each(|send| send());
    }
}

#[cfg(test)]
mod tests {
    use tokio::runtime::{Builder, Runtime};

    use super::*;

    fn runtime() -> Runtime {
        Builder::new_current_thread().build().unwrap()
    }

    fn asked_on(runtime: &Runtime) -> (Reply<u8>, Receiver<Result<u8>>) {
        runtime.block_on(async { Reply::channel() })
    }

    #[test]
    fn answers_find_their_way_to_every_runtime_and_to_where_there_is_none() {
        let (one, other) = (runtime(), runtime());
        let mut replies = Replies::default();
        let mut waiting = Vec::new();
        for (number, home) in [(0, Some(&one)), (1, Some(&other)), (2, Some(&one)), (3, None)] {
            let (reply, answer) = home.map_or_else(Reply::channel, asked_on);
            replies.add(reply, Ok(number));
            waiting.push((number, home, answer));
        }
        let of_each: Vec<usize> = replies.of_homes.iter().map(|(_, sent)| sent.0.len()).collect();
        assert_eq!(of_each, [2, 1]);
        replies.send();
        for (number, home, answer) in waiting {
            let told = home.unwrap_or(&one).block_on(answer).unwrap();
            assert_eq!(told.unwrap(), number);
        }
    }

    #[test]
    fn whoever_moved_away_from_a_runtime_that_ended_is_answered() {
        let ended = runtime();
        let (reply, answer) = asked_on(&ended);
        drop(ended);
        let mut replies = Replies::default();
        replies.add(reply, Ok(1));
        replies.send();
        assert_eq!(runtime().block_on(answer).unwrap().unwrap(), 1);
    }

    #[test]
    fn whoever_moved_away_from_a_runtime_that_ends_meanwhile_is_answered() {
        let ends = runtime();
        let (reply, answer) = asked_on(&ends);
        let mut replies = Replies::default();
        replies.add(reply, Ok(1));
        replies.send();
        drop(ends);
        assert_eq!(runtime().block_on(answer).unwrap().unwrap(), 1);
    }
}
