//! `lodge admin events`.

use anyhow::Result;
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use jiff::Timestamp;
use lodge_domain::{
    accounts::{NamedSecurityEvent, SecurityEventFilter, Username},
    security::{SECURITY_EVENTS_PER_CALL_MAX, SecurityEventKind},
};

use crate::{
    admin::{Administrator, Command},
    commands::{out::outln, table::Table},
};

#[derive(Debug, Args)]
pub(super) struct EventsOptions {
    /// Only events of this kind.
    #[arg(long, value_parser = kind())]
    kind: Option<SecurityEventKind>,
    /// Only events about the account with this username, or caused by it.
    #[arg(long, value_name = "USERNAME")]
    account: Option<String>,
    /// Only events from this origin, as the list shows it.
    #[arg(long, value_name = "ORIGIN")]
    from: Option<String>,
    /// Only events since this time, such as 2026-01-31T12:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<Timestamp>,
    /// The maximum number of events.
    #[arg(long, default_value_t = 100)]
    limit: usize,
    /// Print each event as a line of JSON.
    #[arg(long)]
    json: bool,
}

fn kind() -> impl TypedValueParser<Value = SecurityEventKind> {
    PossibleValuesParser::new(SecurityEventKind::ALL.map(SecurityEventKind::name))
        .try_map(|name| SecurityEventKind::named(&name).ok_or("unknown kind"))
}

fn time(text: &str) -> Result<Timestamp, &'static str> {
    text.parse().map_err(|_| "must be a time such as 2026-01-31T12:00:00Z")
}

pub(super) fn carry_out(administrator: &mut Administrator, options: EventsOptions) -> Result<()> {
    let EventsOptions { kind, account, from: origin, since, limit, json } = options;
    let account = account.map(|name| Username::parse(&name)).transpose()?;
    let titles = ["TIME", "EVENT", "COUNT", "ACCOUNT", "BY", "FROM", "DETAIL"];
    let (mut table, mut left, mut before) = (Table::new(titles), limit, None);
    while left > 0 {
        let page = left.min(SECURITY_EVENTS_PER_CALL_MAX);
        let account = account.clone();
        let origin = origin.clone();
        let filter = SecurityEventFilter { kind, account, origin, since, before, limit: page };
        let events: Vec<NamedSecurityEvent> = administrator.request(Command::Events(filter))?;
        for event in &events {
            if json {
                outln!("{}", serde_json::to_string(event)?);
            } else {
                table.add(row(event));
            }
        }
        match events.last() {
            Some(last) if events.len() == page => before = Some(last.event.id),
            _ => break,
        }
        left -= page;
    }
    if !json {
        table.print();
    }
    Ok(())
}

fn row(named: &NamedSecurityEvent) -> [String; 7] {
    let NamedSecurityEvent { event, .. } = named;
    [
        event.at.to_string(),
        event.kind.name().to_owned(),
        event.repeats.to_string(),
        named.about().unwrap_or_default(),
        named.by(),
        event.origin.clone(),
        event.detail.clone(),
    ]
}
