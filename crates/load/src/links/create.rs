//! Creates the links that a run then reads. Not part of any figure.

use std::cell::RefCell;

use anyhow::{Result, bail, ensure};

use super::plan::Plan;
use super::set::{LinkSet, Pair};
use crate::engine::client::{Reply, Verdict};
use crate::engine::control::Control;

/// Creates the links of the plan's set, if it has its own.
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
                    return Verdict::Settled;
                }
                _ if reply.is_passing() && !last => return Verdict::Again,
                Reply::Answer { status, .. } if reply.is_passing() => {
                    format!("answers {status}, again and again")
                }
                Reply::Answer { status, .. } => format!("answers {status}"),
                Reply::None => "gets no answer, again and again".to_owned(),
            };
            refusal.replace(Some(answer));
            Verdict::Settled
        },
    )?;
    if let Some(answer) = refusal.into_inner() {
        bail!(
            "cannot create the links to read: PUT /?short=…&long=… {answer}; name existing ones with --shorts, or another path with --path"
        );
    }
    ensure!(
        control.stopped() || created == *count,
        "only {created} of {count} links could be created"
    );
    Ok(())
}
