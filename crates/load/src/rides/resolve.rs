//! Events of unknown outcome, sent once more under their ids until the server says what became of them.

use anyhow::{Context, Result};

use super::plan::RidesPlan;
use super::tally::{Doubtful, Tally};
use crate::engine::batch::{Reply, Verdict};
use crate::engine::control::Control;

/// Sends these events once more, and tells `tally` what they came to; those that stay in doubt.
pub(crate) fn ask_again(
    plan: &RidesPlan,
    doubtful: Vec<Doubtful>,
    tally: &mut Tally,
) -> Result<Vec<Doubtful>> {
    let mut left = Vec::new();
    plan.batch()
        .send(
            &Control::default(),
            doubtful.into_iter(),
            |event, request| plan.requests.post(event.id, &event.ride, request),
            |event, reply, last| {
                match reply {
                    Reply::Answer { status: 200..=299, .. } => tally.resolve(event, true),
                    // What is wrong with it now was so before.
                    Reply::Answer { status: 400, .. } => tally.resolve(event, false),
                    _ if last => left.push(*event),
                    _ => return Verdict::Again,
                }
                Verdict::Settled
            },
        )
        .context("cannot ask for the outcome of events once more")?;
    Ok(left)
}
