//! Creates the links that a run then reads. Not part of any figure.

use std::sync::Arc;

use anyhow::{Result, bail, ensure};

use crate::batch::{Batch, Reply, Verdict, run_batch};
use crate::control::Control;
use crate::links::{LinkSet, Pair};
use crate::plan::Plan;

/// Creates the links of the plan's set, if it has its own.
pub(crate) fn create_links(plan: &Arc<Plan>, control: &Control) -> Result<()> {
    let Some(count) = plan.get.as_ref().and_then(|get| match get.set {
        LinkSet::Own { count } => Some(count),
        LinkSet::Fixed | LinkSet::Given(_) | LinkSet::People(_) => None,
    }) else {
        return Ok(());
    };
    let creation = Creation {
        plan: Arc::clone(plan),
        count,
        begun: 0,
        created: 0,
        refusal: None,
        pair: Pair::default(),
    };
    let creation = run_batch(plan.sending(), control, creation)?;
    if let Some(refusal) = creation.refusal {
        bail!(
            "cannot create the links to read: {refusal}; name existing ones with --shorts, or another path with --path"
        );
    }
    ensure!(
        control.stopped() || creation.created == count,
        "only {} of {count} links could be created",
        creation.created
    );
    Ok(())
}

struct Creation {
    plan: Arc<Plan>,
    count: u64,
    begun: u64,
    created: u64,
    refusal: Option<String>,
    pair: Pair,
}

impl Batch for Creation {
    fn next(&mut self, request: &mut Vec<u8>) -> Option<u64> {
        if self.begun == self.count || self.refusal.is_some() {
            return None;
        }
        let number = self.begun;
        self.begun += 1;
        self.pair.for_reading(&self.plan.prefix, number);
        self.plan.create.template.render(&self.pair.short, &self.pair.long, request);
        Some(number)
    }

    fn judge(&mut self, _number: u64, reply: Reply<'_>, last: bool) -> Verdict {
        let refusal = match reply {
            Reply::Answer { status, .. } if self.plan.create.expect.contains(&status) => {
                self.created += 1;
                return Verdict::Settled;
            }
            Reply::Answer { status: status @ (429 | 500..), .. } if last => {
                format!("PUT /?short=…&long=… answers {status}, again and again")
            }
            Reply::None if last => {
                "PUT /?short=…&long=… gets no answer, again and again".to_owned()
            }
            Reply::Answer { status: 429 | 500.., .. } | Reply::None => return Verdict::Again,
            Reply::Answer { status, .. } => format!("PUT /?short=…&long=… answers {status}"),
        };
        self.refusal = Some(refusal);
        Verdict::Settled
    }
}
