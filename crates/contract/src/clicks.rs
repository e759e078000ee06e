//! Counted clicks.

use std::sync::Arc;

use jiff::Timestamp;
use lodge_domain::links::{
    ClickBatch, ClickReport, Device, Grouping, LinkId,
    clicks::{ClickCell, ClickLine},
};
use uuid::Uuid;

use crate::{
    Fixture,
    samples::{BEGIN, at_once},
};

const HOUR: i64 = 3_600;

fn hour_of_begin() -> i64 {
    BEGIN.as_second() / HOUR
}

pub(crate) fn batch(incarnation: Uuid, number: u64, link: LinkId, count: u64) -> Arc<ClickBatch> {
    let cell = ClickCell { link, hour: hour_of_begin(), device: Device::Desktop };
    let clicks = vec![(cell, count)];
    let referrers = vec![((link, "news.example".into()), count)];
    Arc::new(ClickBatch { incarnation, number, clicks, referrers })
}

fn new_link() -> LinkId {
    LinkId(Uuid::now_v7())
}

async fn total(fixture: &Fixture, link: LinkId) -> u64 {
    let report = fixture.clicks.report(link, Grouping::Referrer, BEGIN).await.unwrap();
    let from_referrers: u64 = report.lines.iter().map(|line| line.clicks).sum();
    assert_eq!(report.total, from_referrers);
    report.total
}

/// For any number of repetitions, also late ones.
pub async fn a_batch_counts_once(fixture: &Fixture) {
    let (incarnation, link) = (Uuid::now_v7(), new_link());
    assert_eq!(total(fixture, link).await, 0);
    for (number, expected) in
        [(1, 10), (1, 10), (2, 20), (3, 30), (2, 30), (1, 30), (3, 30), (4, 40)]
    {
        fixture.clicks.add(batch(incarnation, number, link, 10)).await.unwrap();
        assert_eq!(total(fixture, link).await, expected);
    }
    at_once(10, |_| {
        let (store, batch) = (Arc::clone(&fixture.clicks), batch(incarnation, 5, link, 10));
        async move { store.add(batch).await.unwrap() }
    })
    .await;
    assert_eq!(total(fixture, link).await, 50);
}

/// Each process numbers its own batches.
pub async fn batches_of_two_processes_add_up(fixture: &Fixture) {
    let link = new_link();
    for incarnation in [Uuid::now_v7(), Uuid::now_v7()] {
        for number in 1..=3 {
            fixture.clicks.add(batch(incarnation, number, link, 1)).await.unwrap();
        }
    }
    assert_eq!(total(fixture, link).await, 6);
}

/// A batch about many links is counted as a whole, and once if sent twice.
pub async fn a_large_batch_counts_whole(fixture: &Fixture) {
    let links: Vec<LinkId> = (0..1_500).map(|_| new_link()).collect();
    let cell = |link: &LinkId| {
        (ClickCell { link: *link, hour: hour_of_begin(), device: Device::Mobile }, 2)
    };
    let clicks = links.iter().map(cell).collect();
    let referrers = links.iter().take(700).map(|link| ((*link, "a.example".into()), 1)).collect();
    let large = Arc::new(ClickBatch { incarnation: Uuid::now_v7(), number: 1, clicks, referrers });
    for _ in 0..2 {
        fixture.clicks.add(Arc::clone(&large)).await.unwrap();
    }
    let next = batch(large.incarnation, 2, links[0], 1);
    fixture.clicks.add(next).await.unwrap();
    let totals = fixture.clicks.totals(links.clone()).await.unwrap();
    assert_eq!(totals[0], 3);
    assert!(totals[1..].iter().all(|total| *total == 2));
    let report = fixture.clicks.report(links[699], Grouping::Referrer, BEGIN).await.unwrap();
    assert_eq!(report.lines, [ClickLine { key: "a.example".to_owned(), clicks: 1 }]);
}

/// Clicks are grouped by hour, day, device and referrer; bots count only in the device groups.
pub async fn a_report_groups_clicks(fixture: &Fixture) {
    let link = new_link();
    // 2026-09-21T14:13:20Z
    let hour = hour_of_begin();
    let cell = |hour, device, count| (ClickCell { link, hour, device }, count);
    let clicks = vec![
        cell(hour, Device::Mobile, 5),
        cell(hour, Device::Desktop, 2),
        cell(hour, Device::Bot, 100),
        cell(hour + 1, Device::Mobile, 1),
        cell(hour + 2, Device::Bot, 1),
        cell(hour + 24, Device::Tablet, 3),
    ];
    let from = |host: &str, count| ((link, Box::from(host)), count);
    let referrers = vec![from("b.example", 4), from("a.example", 4), from("c.example", 6)];
    let incarnation = Uuid::now_v7();
    let batch = ClickBatch { incarnation, number: 1, clicks, referrers };
    fixture.clicks.add(Arc::new(batch)).await.unwrap();

    let lines = |lines: &[(&str, u64)]| -> Vec<ClickLine> {
        let to_line =
            |(key, clicks): &(&str, u64)| ClickLine { key: (*key).to_owned(), clicks: *clicks };
        lines.iter().map(to_line).collect()
    };
    let report = async |by, since: Timestamp| {
        let ClickReport { total, bots, lines } =
            fixture.clicks.report(link, by, since).await.unwrap();
        assert_eq!((total, bots), (11, 101));
        lines
    };
    let hours =
        [("2026-09-21T14:00:00Z", 7), ("2026-09-21T15:00:00Z", 1), ("2026-09-22T14:00:00Z", 3)];
    assert_eq!(report(Grouping::Hour, BEGIN).await, lines(&hours));
    let next_hour = Timestamp::from_second((hour + 1) * HOUR).unwrap();
    assert_eq!(report(Grouping::Hour, next_hour).await, lines(&hours[1..]));
    assert_eq!(report(Grouping::Day, BEGIN).await, lines(&[("2026-09-21", 8), ("2026-09-22", 3)]));
    let next_day = Timestamp::from_second((hour + 24) * HOUR).unwrap();
    assert_eq!(report(Grouping::Day, next_day).await, lines(&[("2026-09-22", 3)]));
    let devices = [("bot", 101), ("mobile", 6), ("tablet", 3), ("desktop", 2)];
    assert_eq!(report(Grouping::Device, BEGIN).await, lines(&devices));
    let hosts = [("c.example", 6), ("a.example", 4), ("b.example", 4)];
    assert_eq!(report(Grouping::Referrer, BEGIN).await, lines(&hosts));
}

/// One total for each requested link, 0 if it has no clicks.
pub async fn totals_come_in_order_and_without_bots(fixture: &Fixture) {
    let (first, second, third) = (new_link(), new_link(), new_link());
    let cell = |link, device, count| (ClickCell { link, hour: hour_of_begin(), device }, count);
    let clicks = vec![
        cell(first, Device::Other, 1),
        cell(first, Device::Bot, 9),
        cell(third, Device::Mobile, 3),
    ];
    let counted =
        ClickBatch { incarnation: Uuid::now_v7(), number: 1, clicks, referrers: Vec::new() };
    fixture.clicks.add(Arc::new(counted)).await.unwrap();
    let totals = fixture.clicks.totals(vec![third, second, first, third]).await.unwrap();
    assert_eq!(totals, [3, 0, 1, 3]);
}
