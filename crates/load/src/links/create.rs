//! Creates the links that a run then reads, outside the measurement.

use std::cell::RefCell;

use anyhow::{Result, bail, ensure};

use super::plan::Plan;
use super::set::{LinkSet, Pair};
use crate::engine::client::{Decision, Reply};
use crate::engine::control::Control;

/// Creates the links of the plan's set, unless they exist already.
pub(crate) fn create_links(plan: &Plan, control: &Control) -> Result<()> {
    let Some(LinkSet::Own { count }) = plan.get.as_ref().map(|get| &get.set) else {
        return Ok(());
    };
    let (mut created, mut pair) = (0, Pair::default());
    let refusal = RefCell::new(None);
    plan.client.send(
        control,
        (0..*count).take_while(|_| refusal.borrow().is_none()),
        |number, request| {
            pair.for_reading(&plan.prefix, *number);
            plan.create.template.render(&pair.short, &pair.long, request);
        },
        |_, reply, last| {
            let answer = match reply {
                Reply::Answer { status, .. } if plan.create.expect.contains(&status) => {
                    created += 1;
                    return Decision::Settled;
                }
                _ if reply.is_passing() && !last => return Decision::Retry,
                Reply::Answer { status, .. } if reply.is_passing() => {
                    format!("returned {status} on every try")
                }
                Reply::Answer { status, .. } => format!("returned {status}"),
                Reply::None => "got no response on any try".to_owned(),
            };
            refusal.replace(Some(answer));
            Decision::Settled
        },
    )?;
    if let Some(answer) = refusal.into_inner() {
        bail!(
            "cannot create the links to read: PUT /?short=…&long=… {answer}; give existing links with --shorts, or a path without {{short}} with --path"
        );
    }
    ensure!(control.stopped() || created == *count, "created only {created} of {count} links");
    Ok(())
}
