//! The report of a board: posts, their latency to the streams, and published figures for comparison.

use std::io::Write;
use std::time::SystemTime;

use anyhow::Result;
use serde::Serialize;

use super::listen::Disconnects;
use super::plan::BoardPlan;
use super::request::Streams;
use super::run::Counts;
use super::verify::Verification;
use crate::engine::outcome::Outcomes;
use crate::engine::pace::Until;
use crate::report::figures::{Figures, Latency, Pacing, decimal, ms, thousands};
use crate::report::page::{Facts, Page, Published, Report, RunOutcome, Section, Table};
use crate::report::plots::{self, Series};
use crate::report::published::PublishedRun;

/// The options of the run.
#[derive(Debug, Serialize)]
struct Options {
    /// A description of how messages were sent.
    workload: String,
    channel: String,
    users: u32,
    streams: u32,
    /// Which streams: of the API, or of pages.
    listening: Streams,
    servers: usize,
    connections: u32,
    cut_s: Option<f64>,
    timeout_s: f64,
    patience_s: f64,
    seed: u64,
    verify: bool,
}

/// The results of the run.
#[derive(Debug, Serialize)]
pub(crate) struct Run {
    pub(crate) interrupted: bool,
    pub(crate) elapsed_s: f64,
    /// Posts, with the latency to their responses.
    pub(crate) posts: Figures,
    /// From a message's due time until a stream had it, over all streams.
    pub(crate) each_stream_ms: Latency,
    /// The same until the last stream had it, for acknowledged messages that all streams have.
    pub(crate) until_last_ms: Latency,
    pub(crate) messages: Counts,
    /// Events received by all streams while messages were posted.
    pub(crate) frames: u64,
    pub(crate) frames_per_s: f64,
    /// Time from the last post until every stream had every message.
    pub(crate) caught_up_s: f64,
    /// Ended stream connections by cause.
    pub(crate) ends: Disconnects,
    /// `None` in a closed loop.
    pub(crate) pacing: Option<Pacing>,
    /// CPU time of the load generator.
    pub(crate) client_cpu_s: Option<f64>,
    pub(crate) verification: Option<Verification>,
    pub(crate) published: Vec<PublishedRun>,
}

type BoardReport = Report<Options, Run>;

/// Writes the report to `out` and to the files that the plan names.
pub(crate) fn write(
    plan: &BoardPlan,
    started: SystemTime,
    run: Run,
    out: &mut impl Write,
) -> Result<RunOutcome> {
    let is_sound = run.messages.outcomes.acknowledged > 0
        && run.messages.new_as_repeat == 0
        && run.verification.as_ref().is_none_or(Verification::clean);
    let url = plan.args.servers.join(",");
    let report = Report::new("board", &url, started, Options::new(plan), run);
    let args = &plan.args;
    report.write(&page(&report), &args.files, out)?;
    Ok(RunOutcome::of(is_sound))
}

impl Options {
    fn new(plan: &BoardPlan) -> Self {
        let (args, flow) = (&plan.args, &plan.flow);
        let workload = if let (Some(rate), Until::Duration(time)) = (flow.rate_per_s, flow.until) {
            format!("open loop at {rate} messages/s for {} s", time.as_secs_f64())
        } else {
            format!("closed loop, {} messages from each account", args.messages.unwrap_or_default())
        };
        Self {
            workload,
            channel: args.channel.clone(),
            users: args.users,
            streams: plan.streams,
            listening: plan.site(0).streams,
            servers: plan.sites.len(),
            connections: flow.connections,
            cut_s: args.cut.map(|cut| cut.as_secs_f64()),
            timeout_s: args.timeout.as_secs_f64(),
            patience_s: args.patience.as_secs_f64(),
            seed: args.seed,
            verify: args.verify,
        }
    }
}

fn page(report: &BoardReport) -> Page {
    let (options, run) = (&report.options, &report.figures);
    let mut page = report.page();
    page.about = vec![
        format!(
            "{}; {} accounts, {} {}; channel {}",
            options.workload,
            thousands(options.users.into()),
            thousands(options.streams.into()),
            options.listening.name(),
            options.channel
        ),
        format!(
            "timeout {} s per try, {} s per message; seed {}",
            options.timeout_s, options.patience_s, options.seed
        ),
    ];
    let cut = options.cut_s.map(|cut_s| format!("each stream cut every {cut_s} s on average"));
    page.about.extend(cut);
    page.about.extend(run.interrupted.then(|| "stopped early".to_owned()));
    page.tiles = vec![
        ("messages a second", decimal(run.posts.rate_per_s)),
        ("p99 to the response, ms", ms(run.posts.latency_ms.p99)),
        ("p99 to the last stream, ms", ms(run.until_last_ms.p99)),
        ("events a second, all streams", decimal(run.frames_per_s)),
    ];
    let points = run.posts.series.iter().filter(|point| point.width_s > 0.0).copied();
    let series: [Series; 1] = [("posts", points.collect())];
    let posts = &run.posts;
    page.sections = vec![
        Section::Table(table(run)),
        Section::Plot(plots::throughput(&series, run.elapsed_s, posts.rate_per_s)),
        Section::Plot(plots::latency(&series, run.elapsed_s, &posts.latency_ms)),
        Section::Published(Published { ours: Vec::new(), known: run.published.clone() }),
        Section::Facts(facts(run)),
    ];
    page.verdict = run.verification.as_ref().map(|found| found.verdict().to_owned());
    page
}

fn table(run: &Run) -> Table {
    let rows = [
        ("post to response", &run.posts.latency_ms),
        ("post to each stream", &run.each_stream_ms),
        ("post to the last stream", &run.until_last_ms),
    ];
    let row = |(name, latency): (&str, &Latency)| {
        let named = [name.to_owned(), thousands(latency.count)];
        named.into_iter().chain(latency.cells()).collect()
    };
    let titles = ["ms from the due time", "count"];
    let head = titles.iter().chain(&Latency::TITLES);
    Table::new("Latency from a message's due time", head, rows.into_iter().map(row))
}

fn facts(run: &Run) -> Facts {
    let mut facts = Facts::default();
    let Counts { outcomes, retries, new_as_repeat } = run.messages;
    let Outcomes { acknowledged, refused, unknown } = outcomes;
    let [acknowledged, refused, unknown, retries] =
        [acknowledged, refused, unknown, retries].map(thousands);
    facts.add(
        "messages",
        format!(
            "{acknowledged} acknowledged in {:.3} s, {}/s; {refused} refused or not sent, {unknown} unknown; {retries} retries",
            run.elapsed_s,
            decimal(run.posts.rate_per_s)
        ),
    );
    if new_as_repeat > 0 {
        facts.add("new messages answered as repeats", thousands(new_as_repeat));
    }
    facts.add_errors("errors", &run.posts);
    facts.add(
        "events",
        format!(
            "{} to all streams, {}/s; all streams caught up {:.3} s after the last post",
            thousands(run.frames),
            decimal(run.frames_per_s),
            run.caught_up_s
        ),
    );
    let [cut, lost, refused, silent] =
        [run.ends.cut, run.ends.lost, run.ends.refused, run.ends.silent].map(thousands);
    facts.add(
        "reconnected streams",
        format!("{cut} cut on purpose, {lost} lost, {refused} refused, {silent} idle for a minute"),
    );
    if let Some(cpu_s) = run.client_cpu_s {
        facts.add("client CPU while posting", format!("{cpu_s:.2} s"));
    }
    facts.add_pacing(run.pacing.as_ref(), "posts");
    let Some(found) = &run.verification else { return facts };
    let [streams, acknowledged, unknown, stored] =
        [found.streams.into(), found.acknowledged, found.unknown, found.unknown_stored]
            .map(thousands);
    facts.add(
        "compared",
        format!(
            "{streams} streams with {acknowledged} acknowledged messages and {unknown} of unknown outcome, {stored} of which were stored"
        ),
    );
    for (what, count) in found.faults().into_iter().filter(|(_, count)| *count > 0) {
        facts.add(what, thousands(count));
    }
    facts.add_examples(&found.examples);
    facts
}
