//! `cargo xtask mutations`: removes one essential piece of code at a time, and requires a test to fail.

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
    /// Skip the mutations that a test has detected on this commit.
    #[arg(long)]
    resume: bool,
}

/// A change of the source that a test must detect.
struct Mutation {
    what: &'static str,
    file: &'static str,
    /// Code that occurs exactly once in the file, and its replacement.
    code: &'static str,
    replacement: &'static str,
    /// The test that must fail: its package, target and name.
    test: [&'static str; 3],
}

const MUTATIONS: [Mutation; 4] = [
    Mutation {
        what: "a message counts as confirmed when it is sent",
        file: "crates/engines/src/rabbitmq/channel.rs",
        code: "                .await?\n                .await\n",
        replacement: "                .await\n                .map(|_| Confirmation::Ack(None))\n",
        test: ["lodge-engines", "cluster", "behind::a_link_that_the_queue_does_not_confirm"],
    },
    Mutation {
        what: "a worker acknowledges messages before it has stored them",
        file: "crates/engines/src/write_behind/drain.rs",
        code: "let batch = self.write_behind.queue.receive().await?;",
        replacement: "let batch = self.write_behind.queue.receive().await?; self.write_behind.queue.acknowledge(batch.clone()).await?;",
        test: ["lodge-engines", "cluster", "behind::a_link_in_flight_when_its_worker_ended"],
    },
    Mutation {
        what: "a web process does not read the change feed",
        file: "crates/local/src/feed_trust.rs",
        code: "match feed.changed().await {",
        replacement: "match Ok::<Vec<Short>, lodge_domain::Error>(Vec::new()) {",
        test: ["lodge", "cluster", "coherence"],
    },
    Mutation {
        what: "a repeated event is stored again, under another id",
        file: "crates/sqlite/src/rides/record.rs",
        code: "        if self.insert(event, ride, None)? {",
        replacement: "        let id = RideEventId::Uuid(uuid::Uuid::now_v7());\n        if self.insert(&RideEvent { id, ..event.clone() }, ride, None)? {",
        test: ["lodge", "it", "rides_crash::every_acknowledged_event_is_counted_once"],
    },
];

impl Mutation {
    /// The file and its text, which contains the code exactly once.
    fn source(&self) -> Result<(PathBuf, String)> {
        let file = process::root().join(self.file);
        let text = fs::read_to_string(&file)?;
        ensure!(
            text.matches(self.code).count() == 1,
            "{} does not contain the code of the mutation exactly once",
            self.file
        );
        Ok((file, text))
    }
}

/// A mutated file, which is restored on drop.
struct Mutated {
    file: PathBuf,
    original: String,
}

impl Mutated {
    fn by(mutation: &Mutation) -> Result<Self> {
        let (file, original) = mutation.source()?;
        fs::write(&file, original.replace(mutation.code, mutation.replacement))?;
        Ok(Self { file, original })
    }
}

impl Drop for Mutated {
    fn drop(&mut self) {
        if let Err(error) = fs::write(&self.file, &self.original) {
            eprintln!("{} could not be restored: {error}", self.file.display());
        }
    }
}

/// Applies one mutation after the other, with a cluster of its own; fails if a test does not detect one.
pub(crate) fn run(options: &Options) -> Result<()> {
    let passes = Passes::of("mutations", options.resume)?;
    system::provide(FOR_CLUSTERS)?;
    cluster::with_own(&cluster::built_lodge()?, |cluster| {
        let block = cluster.layout().block().to_string();
        let mut undetected = Vec::new();
        for mutation in &MUTATIONS {
            let run = || is_detected(mutation, &block).context(mutation.what);
            if !passes.run(mutation.what, run)? {
                undetected.push(mutation.what);
            }
        }
        ensure!(undetected.is_empty(), "no test detected that {}", undetected.join("; that "));
        Ok(())
    })
}

/// Whether the test passes without the mutation and fails with it.
fn is_detected(mutation: &Mutation, block: &str) -> Result<bool> {
    let [package, target, test] = mutation.test;
    let build = ["test", "--package", package, "--test", target, "--no-run"];
    let run = ["test", "--package", package, "--test", target, test];
    let block = [("TESTBED_BLOCK", block)];
    process::run("cargo", &run, &block)?;
    println!("\n── what if {}?", mutation.what);
    let _mutated = Mutated::by(mutation)?;
    process::run("cargo", &build, &[])?;
    let is_seen = process::run("cargo", &run, &block).is_err();
    println!("── {}: {}", mutation.what, if is_seen { "detected" } else { "NOT DETECTED" });
    Ok(is_seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutation_finds_its_code_and_its_test() {
        for mutation in &MUTATIONS {
            mutation.source().unwrap();
            let [package, target, test] = mutation.test;
            let (module, name) = test.split_once("::").unwrap_or((test, ""));
            let folder = format!("crates/{}/tests/{target}", package.trim_start_matches("lodge-"));
            let file = process::root().join(folder).join(module).with_extension("rs");
            assert!(fs::read_to_string(&file).unwrap().contains(&format!("fn {name}")), "{test}");
        }
    }
}
