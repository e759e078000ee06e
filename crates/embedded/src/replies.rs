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

/// Answers that become known together. To answer one after the other from here would be a system call each,
/// with which a runtime is woken by another thread; so each runtime is woken once, for all that wait on it.
#[derive(Default)]
pub(crate) struct Answers {
    of_homes: Vec<(Handle, Vec<Sending>)>,
}

/// One of them, on the way.
type Sending = Box<dyn FnOnce() + Send>;

impl Answers {
    pub(crate) fn add<T: Send + 'static>(&mut self, reply: Reply<T>, answer: Result<T>) {
        let Reply { to, home } = reply;
        // Whoever asked may have gone.
        let send = move || drop(to.send(answer));
        let Some(home) = home else { return send() };
        let known = self.of_homes.iter_mut().find(|(known, _)| known.id() == home.id());
        match known {
            Some((_, sending)) => sending.push(Box::new(send)),
            None => self.of_homes.push((home, vec![Box::new(send)])),
        }
    }

    /// Has them sent, those of each runtime there.
    pub(crate) fn send(self) {
        for (home, sending) in self.of_homes {
            let all = move || sending.into_iter().for_each(|send| send());
            home.spawn(async move { all() });
        }
    }
}

#[cfg(test)]
mod tests {
    use lodge_domain::Error;
    use tokio::runtime::{Builder, Runtime};

    use super::*;

    fn runtime() -> Runtime {
        Builder::new_current_thread().build().unwrap()
    }

    #[test]
    fn answers_find_their_way_to_every_runtime_and_to_where_there_is_none() {
        let (one, other) = (runtime(), runtime());
        let asked = |on: &Runtime| on.block_on(async { Reply::<u8>::channel() });
        let mut answers = Answers::default();
        let mut waiting = Vec::new();
        for (number, home) in [(0, Some(&one)), (1, Some(&other)), (2, Some(&one)), (3, None)] {
            let (reply, answer) = home.map_or_else(Reply::channel, asked);
            answers.add(reply, Ok(number));
            waiting.push((number, home, answer));
        }
        assert_eq!(answers.of_homes.iter().map(|(_, sent)| sent.len()).collect::<Vec<_>>(), [2, 1]);
        answers.send();
        for (number, home, answer) in waiting {
            let told = home.unwrap_or(&one).block_on(answer).unwrap();
            assert_eq!(told.unwrap(), number);
        }
    }

    #[test]
    fn an_answer_to_a_runtime_that_has_ended_is_dropped() {
        let ended = runtime();
        let (reply, answer) = ended.block_on(async { Reply::<u8>::channel() });
        drop(ended);
        let mut answers = Answers::default();
        answers.add(reply, Err(Error::not_found("nothing")));
        answers.send();
        answer.blocking_recv().unwrap_err();
    }
}
