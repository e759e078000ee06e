//! The report of a board: posts, and what came of them at those who listen, beside what the seed measured.

use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde::Serialize;

use super::seeds::{BOARD_RUNS, SeedRun};
use super::{Figures, Latency, Pacing, decimal, save, thousands};
use crate::board::{BoardPlan, BoardRun, Counts, Ends, Streams, Verification};
use crate::record::float;

/// Width of a row's name and of a figure.
const NAME: usize = 28;
const FIGURE: usize = 11;

/// Everything that there is to say.
#[derive(Debug, Serialize)]
pub(crate) struct BoardReport {
    pub(crate) generator: String,
    pub(crate) command: &'static str,
    pub(crate) url: String,
    started_unix_s: u64,
    pub(crate) options: Options,
    pub(crate) interrupted: bool,
    pub(crate) elapsed_s: f64,
    /// Posts, to their answers.
    pub(crate) posts: Figures,
    /// From when a message was due until a stream had it, over all streams.
    pub(crate) each_stream_ms: Latency,
    /// The same until the last of all streams had it, for acknowledged messages that all have.
    pub(crate) until_last_ms: Latency,
    pub(crate) messages: Counts,
    /// Events that came to all streams while messages were posted.
    pub(crate) frames: u64,
    pub(crate) frames_per_s: f64,
    /// How long the streams took after the posting to get what they did not have.
    pub(crate) caught_up_s: f64,
    /// How connections of streams ended.
    pub(crate) ends: Ends,
    /// Open loop only.
    pub(crate) pacing: Option<Pacing>,
    /// CPU time of the load generator.
    pub(crate) client_cpu_s: Option<f64>,
    pub(crate) verification: Option<Verification>,
    pub(crate) published: &'static [SeedRun],
}

/// What was asked for.
#[derive(Debug, Serialize)]
pub(crate) struct Options {
    /// In words: how messages were sent.
    pub(crate) workload: String,
    pub(crate) channel: String,
    pub(crate) users: u32,
    pub(crate) streams: u32,
    /// Whose streams: the API's, or those of pages.
    pub(crate) listening: Streams,
    pub(crate) servers: usize,
    pub(crate) connections: u32,
    pub(crate) cut_s: Option<f64>,
    pub(crate) timeout_s: f64,
    pub(crate) patience_s: f64,
    pub(crate) seed: u64,
    pub(crate) verify: bool,
}

impl BoardReport {
    pub(crate) fn new(plan: &BoardPlan, started: SystemTime, run: &BoardRun) -> Self {
        let elapsed_s = run.elapsed.as_secs_f64();
        Self {
            generator: concat!("lodge load ", env!("CARGO_PKG_VERSION")).to_owned(),
            command: "board",
            url: plan.urls.clone(),
            started_unix_s: started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
            options: Options::new(plan),
            interrupted: run.interrupted,
            elapsed_s,
            posts: Figures::new(&run.posts, run.elapsed),
            each_stream_ms: Latency::of(&run.each),
            until_last_ms: Latency::of(&run.until_last),
            messages: run.counts,
            frames: run.frames,
            frames_per_s: if elapsed_s > 0.0 { float(run.frames) / elapsed_s } else { 0.0 },
            caught_up_s: run.caught_up.as_secs_f64(),
            ends: run.ends,
            pacing: plan
                .flow
                .rate_per_s
                .map(|_| Pacing { lag_ms: Latency::of(&run.lag), queued: run.queued }),
            client_cpu_s: run.cpu.map(|cpu| cpu.as_secs_f64()),
            verification: run.verification.clone(),
            published: BOARD_RUNS,
        }
    }

    /// Whether something was acknowledged and nothing was found missing or wrong.
    pub(crate) fn sound(&self) -> bool {
        self.messages.acknowledged > 0
            && self.messages.new_as_repeat == 0
            && self.verification.as_ref().is_none_or(Verification::clean)
    }

    /// Writes the text report to `out` and whatever files the plan names.
    pub(crate) fn write(&self, plan: &BoardPlan, out: &mut impl Write) -> Result<()> {
        self.text(out).context("cannot write the report")?;
        if let Some(path) = &plan.json {
            save(path, &(serde_json::to_string_pretty(self)? + "\n"))?;
        }
        if let Some(path) = &plan.html {
            save(path, &super::board_html::render(self)?)?;
        }
        Ok(())
    }

    fn text(&self, out: &mut impl Write) -> io::Result<()> {
        let options = &self.options;
        writeln!(out, "{} {} {}", self.generator, self.command, self.url)?;
        writeln!(
            out,
            "  {}; {} accounts, {} {}; channel {}",
            options.workload,
            thousands(options.users.into()),
            thousands(options.streams.into()),
            options.listening.name(),
            options.channel
        )?;
        writeln!(
            out,
            "  deadline {} s a try, {} s a message; seed {}",
            options.timeout_s, options.patience_s, options.seed
        )?;
        if let Some(cut_s) = options.cut_s {
            writeln!(out, "  each stream is cut every {cut_s} s on average")?;
        }
        if self.interrupted {
            writeln!(out, "  stopped early")?;
        }
        writeln!(out)?;
        self.table(out)?;
        self.besides(out)?;
        if let Some(found) = &self.verification {
            verification(found, out)?;
        }
        Ok(())
    }

    /// The distributions with their names.
    pub(crate) fn rows(&self) -> [(&'static str, &Latency); 3] {
        [
            ("post to answer", &self.posts.latency_ms),
            ("post to each stream", &self.each_stream_ms),
            ("post to the last stream", &self.until_last_ms),
        ]
    }

    /// Our rows, and beneath them those of the seed.
    fn table(&self, out: &mut impl Write) -> io::Result<()> {
        write!(out, "{:<NAME$}{:>FIGURE$}", "ms, from when it was due", "count")?;
        for (title, _) in self.posts.latency_ms.rows() {
            write!(out, "{title:>FIGURE$}")?;
        }
        writeln!(out)?;
        for (name, latency) in self.rows() {
            write!(out, "{name:<NAME$}{:>FIGURE$}", thousands(latency.count))?;
            for index in 0..latency.rows().len() {
                write!(out, "{:>FIGURE$}", latency.cell(index))?;
            }
            writeln!(out)?;
        }
        writeln!(out, "\nmeasured before, on other machines:")?;
        for known in self.published {
            let mean = known.mean_ms.map_or_else(String::new, |ms| format!(": mean {ms} ms"));
            let measured = known.measured.trim_end_matches('.');
            writeln!(out, "  {}, {}{mean} ({measured})", known.system, known.how)?;
        }
        writeln!(out)
    }

    fn besides(&self, out: &mut impl Write) -> io::Result<()> {
        let Counts { acknowledged, refused, unknown, retries, new_as_repeat } = self.messages;
        let [acknowledged, refused, unknown, retries] =
            [acknowledged, refused, unknown, retries].map(thousands);
        writeln!(
            out,
            "messages: {acknowledged} acknowledged in {:.3} s, {}/s; {refused} refused or not sent, {unknown} of unknown outcome; {retries} retries",
            self.elapsed_s,
            decimal(self.posts.rate_per_s)
        )?;
        if new_as_repeat > 0 {
            writeln!(out, "new, but answered as sent before: {}", thousands(new_as_repeat))?;
        }
        self.posts.write_errors("errors", out)?;
        writeln!(
            out,
            "events: {} to all streams, {}/s; the streams had everything {:.3} s after the last post",
            thousands(self.frames),
            decimal(self.frames_per_s),
            self.caught_up_s
        )?;
        let [cut, lost, refused, silent] =
            [self.ends.cut, self.ends.lost, self.ends.refused, self.ends.silent].map(thousands);
        writeln!(
            out,
            "streams opened again: {cut} cut by us, {lost} lost, {refused} refused, {silent} silent"
        )?;
        if let Some(cpu_s) = self.client_cpu_s {
            writeln!(out, "client CPU while posting: {cpu_s:.2} s")?;
        }
        if let Some(pacing) = &self.pacing {
            pacing.write("posts", out)?;
        }
        Ok(())
    }
}

impl Options {
    fn new(plan: &BoardPlan) -> Self {
        let workload = match (plan.flow.rate_per_s, plan.each) {
            (_, Some(each)) => format!("closed loop, {each} messages of each account"),
            (rate, None) => {
                let duration = match plan.flow.until {
                    crate::plan::Until::Duration(duration) => duration.as_secs_f64(),
                    crate::plan::Until::Requests(_) => 0.0,
                };
                format!("open loop at {} messages/s for {duration} s", rate.unwrap_or_default())
            }
        };
        Self {
            workload,
            channel: plan.channel.clone(),
            users: plan.users,
            streams: plan.streams,
            listening: plan.listening,
            servers: plan.sites.len(),
            connections: plan.flow.connections,
            cut_s: plan.cut.map(|cut| cut.as_secs_f64()),
            timeout_s: plan.timeout.as_secs_f64(),
            patience_s: plan.patience.as_secs_f64(),
            seed: plan.seed,
            verify: plan.verify,
        }
    }
}

fn verification(found: &Verification, out: &mut impl Write) -> io::Result<()> {
    let [streams, acknowledged, unknown, stored] =
        [found.streams.into(), found.acknowledged, found.unknown, found.unknown_stored]
            .map(thousands);
    writeln!(
        out,
        "compared: {streams} streams with {acknowledged} acknowledged messages, and {unknown} of unknown outcome, of which {stored} are there"
    )?;
    for (what, count) in found.faults().into_iter().filter(|(_, count)| *count > 0) {
        writeln!(out, "  {what}: {}", thousands(count))?;
    }
    for example in &found.examples {
        writeln!(out, "for example: {example}")?;
    }
    match found {
        _ if found.clean() => writeln!(out, "VERIFIED"),
        Verification { acknowledged: 0, .. } => {
            writeln!(out, "NOT VERIFIED: no message was acknowledged")
        }
        _ => writeln!(out, "NOT VERIFIED"),
    }
}
