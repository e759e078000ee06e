//! The report for a terminal.

use std::io::{Result, Write};

use super::{Figures, Report, RunReport, decimal, thousands};

/// Width of a row's name and of a figure.
const NAME: usize = 24;
const FIGURE: usize = 14;

pub(crate) fn write(report: &Report, out: &mut impl Write) -> Result<()> {
    let options = &report.options;
    writeln!(out, "{} {} {}", report.generator, report.command, report.url)?;
    writeln!(out, "  {}; {}; {}", options.pace, options.until, options.workload)?;
    let kept = if options.new_connections { "one per request" } else { "kept" };
    writeln!(
        out,
        "  {} connections, {kept}; {} threads; deadline {} s",
        options.connections, options.threads, options.timeout_s
    )?;
    if report.runs.is_empty() {
        return writeln!(out, "\nstopped before the first run");
    }
    if report.total.interrupted {
        writeln!(out, "  stopped early")?;
    }
    writeln!(out)?;
    table(&report.total, out)?;
    besides(&report.total, out)?;
    repeats(report, out)
}

fn row(
    out: &mut impl Write,
    name: &str,
    columns: &[(&str, &Figures)],
    figure: impl Fn(&Figures) -> String,
) -> Result<()> {
    write!(out, "{name:<NAME$}")?;
    for (_, figures) in columns {
        write!(out, "{:>FIGURE$}", figure(figures))?;
    }
    writeln!(out)
}

fn table(run: &RunReport, out: &mut impl Write) -> Result<()> {
    let columns = run.columns();
    if columns.len() > 1 {
        write!(out, "{:<NAME$}", "")?;
        for (name, _) in &columns {
            write!(out, "{name:>FIGURE$}")?;
        }
        writeln!(out)?;
    }
    row(out, "requests", &columns, |figures| thousands(figures.count))?;
    row(out, "errors", &columns, |figures| thousands(figures.errors))?;
    row(out, "errors, %", &columns, |figures| format!("{:.3}", figures.error_percent))?;
    for kind in run.all.errors_by_kind.keys() {
        row(out, &format!("  {kind}"), &columns, |figures| {
            thousands(figures.errors_by_kind.get(kind).copied().unwrap_or_default())
        })?;
    }
    for (kind, detail) in &run.all.error_details {
        writeln!(out, "  ({kind}: {detail})")?;
    }
    row(out, "successes/s", &columns, |figures| decimal(figures.rate_per_s))?;
    row(out, "sent, KB/s", &columns, |figures| decimal(figures.sent_kb_per_s))?;
    row(out, "received, KB/s", &columns, |figures| decimal(figures.received_kb_per_s))?;
    writeln!(out, "latency of successes, ms")?;
    for (index, (name, _)) in run.all.latency_ms.rows().iter().enumerate() {
        row(out, &format!("  {name}"), &columns, |figures| figures.latency_ms.cell(index))?;
    }
    writeln!(out, "first byte after sending, ms")?;
    row(out, "  mean", &columns, |figures| format!("{:.3}", figures.wait_ms.mean))?;
    row(out, "  p99", &columns, |figures| format!("{:.3}", figures.wait_ms.p99))?;
    if run.all.connect_ms.count > 0 {
        writeln!(out, "new connections, ms")?;
        row(out, "  count", &columns, |figures| thousands(figures.connect_ms.count))?;
        row(out, "  mean", &columns, |figures| format!("{:.3}", figures.connect_ms.mean))?;
        row(out, "  p99", &columns, |figures| format!("{:.3}", figures.connect_ms.p99))?;
        row(out, "  max", &columns, |figures| format!("{:.3}", figures.connect_ms.max))?;
    }
    writeln!(out, "served within, % of all requests")?;
    for (index, within) in run.all.within.iter().enumerate() {
        row(out, &format!("  {} ms", within.ms), &columns, |figures| {
            format!("{:.3}", figures.within[index].percent)
        })?;
    }
    Ok(())
}

/// What is not a figure of the server's speed.
fn besides(run: &RunReport, out: &mut impl Write) -> Result<()> {
    writeln!(out, "{:<NAME$}{:>FIGURE$}", "time, s", format!("{:.3}", run.elapsed_s))?;
    if let Some(cpu_us) = run.client_cpu_us_per_request {
        writeln!(out, "{:<NAME$}{:>FIGURE$}", "client CPU, µs/request", format!("{cpu_us:.2}"))?;
    }
    if let Some(pacing) = &run.pacing {
        pacing.write("requests", out)?;
    }
    if let Some(writes) = &run.writes {
        let [acknowledged, refused, unknown] =
            [writes.acknowledged, writes.refused, writes.unknown].map(thousands);
        writeln!(
            out,
            "writes: {acknowledged} acknowledged, {refused} refused or not sent, {unknown} of unknown outcome"
        )?;
    }
    if let Some(found) = &run.verification {
        if run.writes.is_some() {
            let [acknowledged, verified, missing, wrong, unreadable] =
                [found.acknowledged, found.verified, found.missing, found.wrong, found.unreadable]
                    .map(thousands);
            writeln!(
                out,
                "read back: {acknowledged} links acknowledged: {verified} verified, {missing} missing, {wrong} wrong, {unreadable} unreadable"
            )?;
            let [unknown, stored, wrong] =
                [found.unknown, found.unknown_stored, found.unknown_wrong].map(thousands);
            writeln!(
                out,
                "           {unknown} links of unknown outcome: {stored} stored, {wrong} wrong"
            )?;
        }
        if found.unchecked > 0 {
            writeln!(
                out,
                "           {} writes past the bound of what can be checked",
                thousands(found.unchecked)
            )?;
        }
        if found.reads_checked > 0 {
            writeln!(
                out,
                "reads compared: {}, {} with a wrong target",
                thousands(found.reads_checked),
                thousands(found.reads_wrong)
            )?;
        }
        if !found.examples.is_empty() {
            writeln!(out, "for example: {}", found.examples.join(" "))?;
        }
        writeln!(out, "{}", if found.clean() { "VERIFIED" } else { "NOT AS ACKNOWLEDGED" })?;
    }
    Ok(())
}

fn repeats(report: &Report, out: &mut impl Write) -> Result<()> {
    let Some(repeat) = &report.repeat else { return Ok(()) };
    writeln!(
        out,
        "\n{:<8}{:>FIGURE$}{:>FIGURE$}{:>FIGURE$}{:>10}",
        "run", "successes/s", "p50, ms", "p99, ms", "errors"
    )?;
    for (number, run) in (1..).zip(&report.runs) {
        let all = &run.all;
        let (rate, p50, p99) = (
            decimal(all.rate_per_s),
            format!("{:.3}", all.latency_ms.median),
            format!("{:.3}", all.latency_ms.p99),
        );
        writeln!(
            out,
            "{number:<8}{rate:>FIGURE$}{p50:>FIGURE$}{p99:>FIGURE$}{:>10}",
            thousands(all.errors)
        )?;
    }
    for (name, pick) in [("mean", true), ("sd", false)] {
        let of = |spread: super::Spread| if pick { spread.mean } else { spread.sd };
        let (rate, p50, p99) = (
            decimal(of(repeat.rate_per_s)),
            format!("{:.3}", of(repeat.p50_ms)),
            format!("{:.3}", of(repeat.p99_ms)),
        );
        writeln!(out, "{name:<8}{rate:>FIGURE$}{p50:>FIGURE$}{p99:>FIGURE$}")?;
    }
    Ok(())
}
