//! Roll-up of clicks, and cleanup.

use std::{path::Path, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use lodge_contract::samples::{
    BEGIN, RESERVED, at, change, chosen, create, fresh, fresh_owner, idempotency_key, link,
};
use lodge_domain::{
    Clock,
    clock::ManualClock,
    idempotency::OUTCOME_KEPT_SECONDS,
    links::{
        ClickBatch, ClickLimit, Device, Grouping, Link, LinkId, Tags,
        clicks::{ClickCell, ClickLine, OTHER_REFERRERS},
    },
};
use lodge_sqlite::{CleanupReport, Sqlite};
use rusqlite::Connection;
use uuid::Uuid;

use crate::support::open;

const DAY: i64 = 86_400;

/// Rows in a table of an open database.
fn rows(folder: &Path, table: &str) -> u64 {
    let connection = Connection::open(folder.join("lodge.db")).unwrap();
    connection
        .query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0))
        .unwrap()
        .cast_unsigned()
}

/// Runs cleanup at `now` until nothing is left; returns the totals.
async fn tidy(engine: &Sqlite, now: Timestamp) -> CleanupReport {
    let mut sum = CleanupReport::default();
    loop {
        let tidied = engine.remove_expired(now, RESERVED).await.unwrap();
        sum.outcomes += tidied.outcomes;
        sum.links += tidied.links;
        sum.hours += tidied.hours;
        sum.referrers += tidied.referrers;
        if !tidied.more {
            return sum;
        }
    }
}

fn batch(
    number: u64,
    clicks: Vec<(ClickCell, u64)>,
    referrers: Vec<((LinkId, Box<str>), u64)>,
) -> Arc<ClickBatch> {
    Arc::new(ClickBatch { incarnation: Uuid::from_u128(7), number, clicks, referrers })
}

#[tokio::test]
async fn ten_million_clicks_take_as_few_rows_as_ten_thousand() {
    let (engine, folder) = open();
    let clicks = engine.clicks();
    let clock = ManualClock::at(BEGIN);
    let links: Vec<LinkId> = (0..10).map(|_| LinkId(Uuid::now_v7())).collect();
    let flush = async |number: u64, each: u64| {
        let hour = clock.now().as_second() / 3600;
        let cells = links.iter().flat_map(|link| {
            Device::ALL.map(|device| (ClickCell { link: *link, hour, device }, each))
        });
        let referrers =
            links.iter().map(|link| ((*link, Box::from("news.example")), each)).collect();
        clicks.add(batch(number, cells.collect(), referrers)).await.unwrap();
        clock.advance_seconds(1);
    };
    for number in 1..=20 {
        flush(number, 10).await;
    }
    let sizes = || {
        ["clicks_hour", "clicks_day", "referrers", "click_flushes"]
            .map(|table| rows(folder.path(), table))
    };
    let few = sizes();
    for number in 21..=100 {
        flush(number, 2_500).await;
    }
    let report = clicks.report(links[0], Grouping::Device, BEGIN).await.unwrap();
    assert!((report.total + report.bots) * 10 >= 10_000_000, "{report:?}");
    assert_eq!(sizes(), few);
    assert_eq!(few, [50, 0, 10, 1]);
}

#[tokio::test]
async fn hours_older_than_31_days_become_days() {
    let (engine, folder) = open();
    let clicks = engine.clicks();
    let link = LinkId(Uuid::now_v7());
    let first_hour = BEGIN.as_second() / 3600;
    let cells = (0..40 * 24)
        .map(|hour| (ClickCell { link, hour: first_hour + hour, device: Device::Mobile }, 1))
        .collect();
    clicks.add(batch(1, cells, Vec::new())).await.unwrap();
    let before = clicks.report(link, Grouping::Day, BEGIN).await.unwrap();

    let now = at(40 * DAY);
    let tidied = tidy(&engine, now).await;
    assert_eq!(tidied, CleanupReport { hours: 9 * 24, ..CleanupReport::default() });
    assert_eq!(
        (rows(folder.path(), "clicks_hour"), rows(folder.path(), "clicks_day")),
        (31 * 24, 10)
    );
    assert_eq!(clicks.report(link, Grouping::Day, BEGIN).await.unwrap(), before);
    assert_eq!(clicks.report(link, Grouping::Hour, BEGIN).await.unwrap().lines.len(), 31 * 24);
    assert_eq!(clicks.totals(vec![link]).await.unwrap(), [40 * 24]);
    assert_eq!(tidy(&engine, now).await, CleanupReport::default());
    // A late click on an hour that was rolled up is rolled up by the next cleanup.
    let late = (ClickCell { link, hour: first_hour, device: Device::Mobile }, 1);
    clicks.add(batch(2, vec![late], Vec::new())).await.unwrap();
    assert_eq!(tidy(&engine, now).await, CleanupReport { hours: 1, ..CleanupReport::default() });
    let day = clicks.report(link, Grouping::Day, BEGIN).await.unwrap().lines[0].clicks;
    assert_eq!(day, before.lines[0].clicks + 1);
}

#[tokio::test]
async fn rare_referrers_become_the_others() {
    let (engine, folder) = open();
    let clicks = engine.clicks();
    let links = [LinkId(Uuid::now_v7()), LinkId(Uuid::now_v7())];
    for (number, link) in (1..).zip(links) {
        let hosts = if number == 1 { 5_000 } else { 500 };
        let from = |host: u64| {
            ((link, format!("{host}.example").into()), if host < 500 { 10 + host } else { 1 })
        };
        clicks.add(batch(number, Vec::new(), (0..hosts).map(from).collect())).await.unwrap();
    }
    assert_eq!(
        tidy(&engine, BEGIN).await,
        CleanupReport { referrers: 4_500, ..CleanupReport::default() }
    );
    assert_eq!(rows(folder.path(), "referrers"), 501 + 500);
    let hosts = clicks.report(links[0], Grouping::Referrer, BEGIN).await.unwrap().lines;
    assert_eq!(hosts[0], ClickLine { key: OTHER_REFERRERS.to_owned(), clicks: 4_500 });
    assert_eq!(hosts[1], ClickLine { key: "499.example".to_owned(), clicks: 509 });
    assert_eq!(hosts.len(), 501);
    assert_eq!(tidy(&engine, BEGIN).await, CleanupReport::default());
}

#[tokio::test]
async fn a_walk_over_many_links_resumes_where_it_stopped() {
    let (engine, folder) = open();
    let hour = BEGIN.as_second() / 3600;
    let cells = (0..4_500)
        .map(|_| (ClickCell { link: LinkId(Uuid::now_v7()), hour, device: Device::Other }, 1))
        .collect();
    engine.clicks().add(batch(1, cells, Vec::new())).await.unwrap();
    let now = at(60 * DAY);
    assert!(engine.remove_expired(now, RESERVED).await.unwrap().more);
    assert_eq!(tidy(&engine, now).await.hours, 2_500);
    assert_eq!((rows(folder.path(), "clicks_hour"), rows(folder.path(), "clicks_day")), (0, 4_500));
}

#[tokio::test]
async fn forgotten_links_are_removed_with_all_their_rows() {
    let (engine, folder) = open();
    let links = engine.links();
    let owned = || Link {
        owner: Some(fresh_owner()),
        tags: Tags::parse(["a", "b"]).unwrap(),
        ..link(&fresh("owned"))
    };
    let kept = create(&*links, owned()).await;
    let expired = create(&*links, Link { expires_at: Some(at(10)), ..owned() }).await;
    let expires_later = create(&*links, Link { expires_at: Some(at(10 * DAY)), ..owned() }).await;
    let deleted = create(&*links, Link { expires_at: Some(at(1)), ..owned() }).await;
    change(&*links, &deleted, |link| link.deleted_at = Some(at(20))).await;
    let exhausted = create(&*links, Link { click_limit: ClickLimit::new(1).ok(), ..owned() }).await;
    links.take_click(&exhausted.short, exhausted.id, at(15)).await.unwrap();
    let gone = [&expired, &deleted, &exhausted];
    let cell = |link: &Link| {
        (
            ClickCell {
                link: link.id,
                hour: at(40 * DAY).as_second() / 3600,
                device: Device::Other,
            },
            1,
        )
    };
    let cells = gone.into_iter().chain([&kept]).map(cell).collect();
    engine
        .clicks()
        .add(batch(1, cells, vec![((expired.id, "a.example".into()), 1)]))
        .await
        .unwrap();

    assert_eq!(tidy(&engine, at(9) + RESERVED).await.links, 0);
    assert_eq!(tidy(&engine, at(15) + RESERVED).await.links, 2);
    assert_eq!(tidy(&engine, at(19) + RESERVED).await.links, 0);
    assert_eq!(tidy(&engine, at(20) + RESERVED).await.links, 1);
    for link in gone {
        assert_eq!(links.find(&link.short).await.unwrap(), None);
    }
    for link in [&kept, &expires_later] {
        assert_eq!(links.find(&link.short).await.unwrap().as_deref(), Some(link));
    }
    let left =
        ["links", "link_tags", "clicks_hour", "referrers"].map(|table| rows(folder.path(), table));
    assert_eq!(left, [2, 4, 1, 0]);
    assert_eq!(rows(folder.path(), "link_search_docsize"), 2);
}

#[tokio::test]
async fn many_forgotten_links_are_removed_in_several_rounds() {
    let (engine, folder) = open();
    let links = engine.links();
    let over = (0..450)
        .map(|_| chosen(Link { expires_at: Some(at(1)), ..link(&fresh("over")) }))
        .collect();
    links.claim(over, RESERVED, None).await.unwrap();
    let now = at(1) + RESERVED + SignedDuration::from_secs(1);
    assert_eq!(
        engine.remove_expired(now, RESERVED).await.unwrap(),
        CleanupReport { links: 200, more: true, ..CleanupReport::default() }
    );
    assert_eq!(tidy(&engine, now).await.links, 250);
    assert_eq!(rows(folder.path(), "links"), 0);
}

#[tokio::test]
async fn outcomes_are_removed_after_a_day() {
    let (engine, folder) = open();
    for seconds in 0..30 {
        let attempt = idempotency_key(&fresh("key"), "", seconds);
        engine
            .links()
            .claim(vec![chosen(link(&fresh("tried")))], RESERVED, Some(attempt))
            .await
            .unwrap();
    }
    assert_eq!(
        tidy(&engine, at(9 + OUTCOME_KEPT_SECONDS)).await,
        CleanupReport { outcomes: 10, ..CleanupReport::default() }
    );
    assert_eq!(rows(folder.path(), "outcomes"), 20);
}
