//! `cargo xtask mutations`: what nothing may be lost without is left out, one thing at a time, and a test
//! must notice.

use std::{fs, path::PathBuf};

use anyhow::{Context as _, Result, ensure};
use clap::Args;

use crate::{
    cluster, process,
    results::Passes,
    system::{self, FOR_CLUSTERS},
};

#[derive(Args)]
pub(crate) struct Options {
    /// Leave out those that a test has noticed on this commit.
    #[arg(long)]
    resume: bool,
}

/// Something that is left out.
struct Mutation {
    what: &'static str,
    file: &'static str,
    /// What is there, once, and what stands there instead.
    code: &'static str,
    instead: &'static str,
    /// The test that must fail: its package, target and name.
    test: [&'static str; 3],
}

const MUTATIONS: [Mutation; 4] = [
    Mutation {
        what: "a message is taken for confirmed when it is sent",
        file: "crates/engines/src/rabbitmq/channel.rs",
        code: "                .await?\n                .await\n",
        instead: "                .await\n                .map(|_| Confirmation::Ack(None))\n",
        test: ["lodge-engines", "cluster", "behind::a_link_that_the_queue_does_not_confirm"],
    },
    Mutation {
        what: "a worker takes messages off the queue before it has stored them",
        file: "crates/engines/src/behind/drain.rs",
        code: "let batch = self.queue.receive().await?;",
        instead: "let batch = self.queue.receive().await?; self.queue.stored(batch.clone()).await?;",
        test: ["lodge-engines", "cluster", "behind::a_link_in_flight_when_its_worker_ended"],
    },
    Mutation {
        what: "a web process does not read the change feed",
        file: "crates/local/src/following.rs",
        code: "match feed.changed().await {",
        instead: "match Ok::<Vec<Short>, lodge_domain::Error>(Vec::new()) {",
        test: ["lodge", "cluster", "coherence"],
    },
    Mutation {
        what: "an event that was stored before is stored once more, under another id",
        file: "crates/sqlite/src/rides/record.rs",
        code: "        if self.insert(event, ride, None)? {",
        instead: "        let id = EventId::Uuid(uuid::Uuid::now_v7());\n        if self.insert(&RideEvent { id, ..event.clone() }, ride, None)? {",
        test: ["lodge", "it", "rides_crash::kills"],
    },
];

/// A file that reads otherwise until this is dropped.
struct Mutated {
    file: PathBuf,
    original: String,
}

impl Mutated {
    fn by(mutation: &Mutation) -> Result<Self> {
        let file = process::root().join(mutation.file);
        let original = fs::read_to_string(&file)?;
        ensure!(
            original.matches(mutation.code).count() == 1,
            "{} has not once what is to be left out",
            mutation.file
        );
        fs::write(&file, original.replace(mutation.code, mutation.instead))?;
        Ok(Self { file, original })
    }
}

impl Drop for Mutated {
    fn drop(&mut self) {
        if let Err(error) = fs::write(&self.file, &self.original) {
            eprintln!("{} could not be put right: {error}", self.file.display());
        }
    }
}

/// Leaves out one thing after the other, on a cluster of its own; fails if no test notices.
pub(crate) fn run(options: &Options) -> Result<()> {
    let passes = Passes::of("mutations", options.resume)?;
    system::provide(FOR_CLUSTERS)?;
    cluster::with_own(cluster::built_lodge()?, |cluster| {
        let block = cluster.layout().block().to_string();
        let mut unseen = Vec::new();
        for mutation in &MUTATIONS {
            let run = || is_seen(mutation, &block).context(mutation.what);
            if !passes.run(mutation.what, run)? {
                unseen.push(mutation.what);
            }
        }
        ensure!(unseen.is_empty(), "no test noticed that {}", unseen.join("; that "));
        Ok(())
    })
}

/// Whether its test fails with it, and not without.
fn is_seen(mutation: &Mutation, block: &str) -> Result<bool> {
    let [package, target, test] = mutation.test;
    let build = ["test", "--package", package, "--test", target, "--no-run"];
    let run = ["test", "--package", package, "--test", target, test];
    let block = [("TESTBED_BLOCK", block)];
    process::run("cargo", &run, &block)?;
    println!("\n── what if {}?", mutation.what);
    let _mutated = Mutated::by(mutation)?;
    process::run("cargo", &build, &[])?;
    let is_seen = process::run("cargo", &run, &block).is_err();
    println!("── {}: {}", mutation.what, if is_seen { "noticed" } else { "NOT NOTICED" });
    Ok(is_seen)
}
