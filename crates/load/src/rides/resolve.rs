//! Events of unknown outcome, sent once more under their ids until the server says what became of them.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Context, Result};

use super::plan::RidesPlan;
use super::tally::{Doubtful, Tally};
use crate::batch::{Batch, Reply, Verdict, run_batch};
use crate::control::Control;

/// Sends these events once more, and tells `tally` what they came to; those that stay in doubt.
pub(crate) fn ask_again(
    plan: &Arc<RidesPlan>,
    doubtful: Vec<Doubtful>,
    tally: &mut Tally,
) -> Result<Vec<Doubtful>> {
    let asking = Asking {
        plan: Arc::clone(plan),
        events: doubtful.into_iter(),
        open: HashMap::new(),
        begun: 0,
        resolved: Vec::new(),
        left: Vec::new(),
    };
    let asked = run_batch(plan.sending(), &Control::default(), asking)
        .context("cannot ask for the outcome of events once more")?;
    for (event, stored) in &asked.resolved {
        tally.resolve(event, *stored);
    }
    Ok(asked.left)
}

struct Asking {
    plan: Arc<RidesPlan>,
    events: std::vec::IntoIter<Doubtful>,
    /// Those under way.
    open: HashMap<u64, Doubtful>,
    begun: u64,
    /// With whether they are stored.
    resolved: Vec<(Doubtful, bool)>,
    left: Vec<Doubtful>,
}

impl Batch for Asking {
    fn next(&mut self, request: &mut Vec<u8>) -> Option<u64> {
        let event = self.events.next()?;
        self.plan.requests.post(event.id, &event.ride, request);
        self.begun += 1;
        self.open.insert(self.begun, event);
        Some(self.begun)
    }

    fn judge(&mut self, number: u64, reply: Reply<'_>, last: bool) -> Verdict {
        let stored = match reply {
            Reply::Answer { status: 200..=299, .. } => Some(true),
            // What is wrong with it now was so before.
            Reply::Answer { status: 400, .. } => Some(false),
            _ => None,
        };
        if stored.is_none() && !last {
            return Verdict::Again;
        }
        let Some(event) = self.open.remove(&number) else { return Verdict::Settled };
        match stored {
            Some(stored) => self.resolved.push((event, stored)),
            None => self.left.push(event),
        }
        Verdict::Settled
    }
}
