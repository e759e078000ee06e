//! Replies from a thread of the engine to callers on async runtimes.

use lodge_domain::Result;
use tokio::{
    runtime::Handle,
    sync::oneshot::{self, Receiver, Sender},
};

/// The sender of a reply, and the runtime on which the caller waits.
pub(crate) struct Reply<T> {
    to: Sender<Result<T>>,
    runtime: Option<Handle>,
}

impl<T: Send + 'static> Reply<T> {
    /// Returns a sender for the current runtime, and the caller's receiver.
    pub(crate) fn channel() -> (Self, Receiver<Result<T>>) {
        let (to, answer) = oneshot::channel();
        (Self { to, runtime: Handle::try_current().ok() }, answer)
    }

    /// Whether the caller has stopped waiting.
    pub(crate) fn is_closed(&self) -> bool {
        self.to.is_closed()
    }
}

/// Replies to send together. Sending each from the engine's thread would cost a system call to wake its runtime; so
/// each runtime is woken once for all its callers.
#[derive(Default)]
pub(crate) struct Replies {
    by_runtime: Vec<(Handle, Bundle)>,
}

/// Replies for one runtime. They are sent when this is dropped: on that runtime, or on this thread if the runtime has
/// ended, because the caller may have moved to another.
#[derive(Default)]
struct Bundle(Vec<Box<dyn FnOnce() + Send>>);

impl Replies {
    pub(crate) fn add<T: Send + 'static>(&mut self, reply: Reply<T>, answer: Result<T>) {
        let Reply { to, runtime: home } = reply;
        // The caller may have stopped waiting.
        let send = move || drop(to.send(answer));
        let Some(home) = home else { return send() };
        let known = self.by_runtime.iter_mut().find(|(known, _)| known.id() == home.id());
        match known {
            Some((_, bundle)) => bundle.0.push(Box::new(send)),
            None => self.by_runtime.push((home, Bundle(vec![Box::new(send)]))),
        }
    }

    /// Sends the replies, each on its caller's runtime.
    pub(crate) fn send(self) {
        for (home, bundle) in self.by_runtime {
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
    fn replies_reach_every_runtime_and_callers_without_one() {
        let (one, other) = (runtime(), runtime());
        let mut replies = Replies::default();
        let mut waiting = Vec::new();
        for (number, home) in [(0, Some(&one)), (1, Some(&other)), (2, Some(&one)), (3, None)] {
            let (reply, answer) = home.map_or_else(Reply::channel, asked_on);
            replies.add(reply, Ok(number));
            waiting.push((number, home, answer));
        }
        let of_each: Vec<usize> = replies.by_runtime.iter().map(|(_, sent)| sent.0.len()).collect();
        assert_eq!(of_each, [2, 1]);
        replies.send();
        for (number, home, answer) in waiting {
            let told = home.unwrap_or(&one).block_on(answer).unwrap();
            assert_eq!(told.unwrap(), number);
        }
    }

    #[test]
    fn a_caller_whose_runtime_ended_before_the_reply_gets_it() {
        let ended = runtime();
        let (reply, answer) = asked_on(&ended);
        drop(ended);
        let mut replies = Replies::default();
        replies.add(reply, Ok(1));
        replies.send();
        assert_eq!(runtime().block_on(answer).unwrap().unwrap(), 1);
    }

    #[test]
    fn a_caller_whose_runtime_ends_during_the_reply_gets_it() {
        let ends = runtime();
        let (reply, answer) = asked_on(&ends);
        let mut replies = Replies::default();
        replies.add(reply, Ok(1));
        replies.send();
        drop(ends);
        assert_eq!(runtime().block_on(answer).unwrap().unwrap(), 1);
    }
}
