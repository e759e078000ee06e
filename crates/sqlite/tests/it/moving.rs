//! A data folder as the source of a move.

use std::{path::Path, sync::Arc};

use jiff::Timestamp;
use lodge_contract::{
    accounts::{event, fresh_name, made, new},
    samples::{
        BEGIN, RESERVED, at, change, chosen, create, fresh, fresh_owner, idempotency_key, link,
    },
};
use lodge_domain::{
    accounts::AccountEventKind,
    links::{
        ClickBatch, ClickLimit, Device, Link, LinkId, StoredLinkOutcome, Tags,
        clicks::ClickCell,
        moving::{Extent, MovingLink, Source},
    },
};
use lodge_sqlite::{MovingFolder, OpenError, Options, Sqlite};
use rusqlite::Connection;
use tempfile::TempDir;
use uuid::Uuid;

use crate::support::open;

fn source(folder: &Path) -> Result<MovingFolder, OpenError> {
    MovingFolder::open(folder, &Options::default())
}

async fn extent(folder: &TempDir) -> Extent {
    source(folder.path()).unwrap().extent().await.unwrap()
}

async fn pages(source: &MovingFolder, limit: usize) -> Vec<MovingLink> {
    let (mut links, mut after) = (Vec::new(), None);
    loop {
        let page = source.links(after.take(), limit).await.unwrap();
        assert!(page.len() <= limit);
        let Some(last) = page.last() else { return links };
        after = Some(last.link.short.clone());
        links.extend(page);
    }
}

fn clicks(link: LinkId, number: u64) -> Arc<ClickBatch> {
    let cell = |hour, device| ClickCell { link, hour, device };
    let clicks = vec![(cell(100, Device::Mobile), 3), (cell(101, Device::Mobile), 4)];
    let referrers = vec![((link, "news.example".into()), 2)];
    Arc::new(ClickBatch { incarnation: Uuid::from_u128(9), number, clicks, referrers })
}

#[tokio::test]
async fn every_link_is_read_unchanged_with_its_clicks() {
    let (engine, folder) = open();
    let store = engine.links();
    let mut made: Vec<Link> = Vec::new();
    for number in 0..7 {
        let mut wanted = link(&fresh("made"));
        wanted.owner = (number % 2 == 0).then(fresh_owner);
        wanted.tags = Tags::parse(["a", "b"]).unwrap();
        wanted.click_limit = (number == 3).then(|| ClickLimit::new(5).unwrap());
        made.push(create(&*store, wanted).await);
    }
    let gone = change(&*store, &made[2], |link| link.deleted_at = Some(at(1))).await;
    made[2] = gone;
    store.take_click(&made[3].short, made[3].id, at(1)).await.unwrap();
    made[3] = (*store.find(&made[3].short).await.unwrap().unwrap()).clone();
    engine.clicks().add(clicks(made[0].id, 1)).await.unwrap();
    let outcome = idempotency_key(&fresh("key"), "body", 0);
    let again = vec![chosen(link(&fresh("once")))];
    let done = store.claim(again, RESERVED, Some(outcome.clone())).await.unwrap();
    let key = engine.keys().add("me", [7; 32], BEGIN).await.unwrap();
    let secret = engine.secret();
    drop(store);
    engine.close().await.unwrap();

    let source = source(folder.path()).unwrap();
    let mut read = pages(&source, 3).await;
    read.retain(|moving| !moving.link.short.as_str().starts_with("once"));
    let by_id = |links: &mut Vec<Link>| links.sort_by_key(|link| link.id);
    let mut links: Vec<Link> = read.iter().map(|moving| moving.link.clone()).collect();
    by_id(&mut links);
    by_id(&mut made);
    assert_eq!(links, made);
    let shorts: Vec<_> = read.iter().map(|moving| moving.link.short.clone()).collect();
    let found: Vec<_> = source.find(shorts).await.unwrap().into_iter().flatten().collect();
    assert_eq!(found, read);
    let followed: Vec<_> = read.iter().filter(|moving| moving.clicks.total() > 0).collect();
    let [followed] = followed[..] else { panic!("{followed:?}") };
    assert_eq!(followed.clicks.days, [((4, Device::Mobile), 7)].into());
    assert_eq!(followed.clicks.hours.len(), 2);
    assert_eq!(followed.clicks.referrers, [("news.example".to_owned(), 2)].into());

    let keys = source.keys().await.unwrap();
    assert_eq!((&keys[0].key, keys[0].digest, keys.len()), (&key, [7; 32], 1));
    let outcomes = source.outcomes(i64::MIN, Timestamp::UNIX_EPOCH, 10).await.unwrap();
    assert_eq!((outcomes.len(), &outcomes[0].attempt), (1, &outcome));
    assert_eq!(outcomes[0].outcome, StoredLinkOutcome::Claims(done.outcome));
    assert!(
        source.outcomes(outcomes[0].place, Timestamp::UNIX_EPOCH, 10).await.unwrap().is_empty()
    );
    assert!(source.outcomes(i64::MIN, outcome.at, 10).await.unwrap().is_empty(), "too old");
    assert_eq!(source.secret().await.unwrap().reveal(), secret.reveal());
}

#[tokio::test]
async fn a_page_ends_early_where_links_have_many_clicks() {
    let (engine, folder) = open();
    for _ in 0..3 {
        let made = create(&*engine.links(), link(&fresh("many"))).await;
        let cells = (0..11_000).map(|hour| ClickCell { link: made.id, hour, device: Device::Bot });
        let clicks = cells.map(|cell| (cell, 1)).collect();
        let (incarnation, referrers) = (made.id.0, Vec::new());
        let batch = ClickBatch { incarnation, number: 1, clicks, referrers };
        engine.clicks().add(Arc::new(batch)).await.unwrap();
    }
    engine.close().await.unwrap();
    let source = source(folder.path()).unwrap();
    assert_eq!(source.links(None, 3).await.unwrap().len(), 2);
    assert_eq!(pages(&source, 3).await.len(), 3);
}

#[tokio::test]
async fn accounts_left_behind_are_reported() {
    let (engine, folder) = open();
    engine.close().await.unwrap();
    assert!(!source(folder.path()).unwrap().has_accounts().await.unwrap());
    let engine = Sqlite::open(folder.path(), &Options::default()).unwrap();
    let account = made(&*engine.accounts(), &fresh_name()).await;
    engine.close().await.unwrap();
    assert!(source(folder.path()).unwrap().has_accounts().await.unwrap());
    let engine = Sqlite::open(folder.path(), &Options::default()).unwrap();
    engine.accounts().remove(event(account.id, AccountEventKind::Deleted, 1)).await.unwrap();
    engine.close().await.unwrap();
    assert!(!source(folder.path()).unwrap().has_accounts().await.unwrap(), "it is deleted");
}

#[tokio::test]
async fn account_writes_do_not_change_the_extent() {
    let (engine, folder) = open();
    engine.close().await.unwrap();
    let was = extent(&folder).await;
    let engine = Sqlite::open(folder.path(), &Options::default()).unwrap();
    let attempt = idempotency_key(&fresh("key"), "body", 0);
    engine.accounts().add(new(&fresh_name()), Some(attempt)).await.unwrap();
    engine.close().await.unwrap();
    assert_eq!(extent(&folder).await, was);
}

#[tokio::test]
async fn every_write_to_links_changes_the_extent() {
    let (engine, folder) = open();
    let mut wanted = link(&fresh("few"));
    wanted.click_limit = Some(ClickLimit::new(5).unwrap());
    let mut few = create(&*engine.links(), wanted).await;
    engine.close().await.unwrap();
    let mut was = extent(&folder).await;
    assert_eq!((was.links, was.keys, was.clicks), (1, 0, 0));
    assert_eq!(extent(&folder).await, was, "reading changes nothing");
    for change_number in 0..7 {
        let engine = Sqlite::open(folder.path(), &Options::default()).unwrap();
        let (links, keys) = (engine.links(), engine.keys());
        match change_number {
            0 => drop(create(&*links, link(&fresh("more"))).await),
            1 => few = change(&*links, &few, |link| link.expires_at = Some(at(900))).await,
            2 => drop(links.take_click(&few.short, few.id, at(2)).await.unwrap()),
            3 => engine.clicks().add(clicks(few.id, 1)).await.unwrap(),
            4 => drop(keys.add("me", [7; 32], BEGIN).await.unwrap()),
            5 => drop(keys.revoke("me", at(1)).await.unwrap()),
            _ => {
                // Refused; only the outcome is stored.
                let taken = vec![chosen(link(&few.short))];
                let attempt = idempotency_key(&fresh("key"), "body", 0);
                links.claim(taken, RESERVED, Some(attempt)).await.unwrap();
            }
        }
        drop((links, keys));
        engine.close().await.unwrap();
        let is = extent(&folder).await;
        assert_ne!(is, was, "change {change_number}");
        was = is;
    }
}

#[tokio::test]
async fn a_folder_that_is_moved_is_locked_and_an_older_one_is_left_alone() {
    let (engine, folder) = open();
    assert!(matches!(source(folder.path()), Err(OpenError::Locked { .. })));
    engine.close().await.unwrap();
    let moving = source(folder.path()).unwrap();
    let second = Sqlite::open(folder.path(), &Options::default());
    assert!(matches!(second, Err(OpenError::Locked { .. })));
    drop(moving);
    let database = Connection::open(folder.path().join("lodge.db")).unwrap();
    database.pragma_update(None, "user_version", 0).unwrap();
    drop(database);
    assert!(matches!(source(folder.path()), Err(OpenError::Older { found: 0, .. })));
    let nowhere = folder.path().join("nowhere");
    assert!(source(&nowhere).is_err() && !nowhere.exists());
}
