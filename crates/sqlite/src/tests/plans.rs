//! Query plans: no request scans a table.

use std::sync::Arc;

use lodge_contract::samples::fresh_owner;
use lodge_domain::{
    accounts::{NewAccount, Username},
    links::{LinkId, LinkQuery},
};
use lodge_sql::{App, accounts::FIND_BY_NAME, board};
use rusqlite::{Connection, OptionalExtension, StatementStatus};
use uuid::Uuid;

use super::open;
use crate::{
    Options, cleanup, clicks,
    links::{Plan, change, find, list, row},
    moving, rides, words,
};

/// Returns the query plan of a statement.
fn plan(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let rows =
        statement.raw_query().mapped(|row| row.get::<_, String>(3)).collect::<Result<_, _>>();
    rows.unwrap()
}

/// Whether a step of a plan scans a table. The result of a subquery, and rows that a full-text index finds by words
/// (`M`) or by rowid (`=`), do not count.
fn is_walk(step: &str) -> bool {
    let by = step.split_once("VIRTUAL TABLE INDEX ").and_then(|(_, index)| index.split_once(':'));
    // A scan of a channel's whole log counts as a table scan.
    step.ends_with("board_events USING PRIMARY KEY (channel=?)")
        || step.starts_with("SCAN ")
        && !step.starts_with("SCAN (")
        && !by.is_some_and(|(_, by)| by.starts_with(['M', '=']))
        // The alias of a subquery.
        && step != "SCAN s"
        && step != "SCAN CONSTANT ROW"
}

fn lists() -> Vec<String> {
    let mut queries = Vec::new();
    for tag in [None, Some("tag".to_owned())] {
        for prefix in [None, Some("prefix".to_owned())] {
            for search in [None, Some("ab".to_owned()), Some("abc ab".to_owned())] {
                for after in [None, Some(LinkId(Uuid::nil()))] {
                    for plan in [Plan::Scan, Plan::Index] {
                        let (tag, prefix, search) = (tag.clone(), prefix.clone(), search.clone());
                        let query = LinkQuery {
                            owner: fresh_owner(),
                            after,
                            tag,
                            prefix,
                            search,
                            limit: 50,
                        };
                        queries.extend(list::sql(&query, plan));
                    }
                }
            }
        }
    }
    queries
}

#[tokio::test]
async fn every_query_uses_an_index() {
    let (engine, _folder) = open(&Options::default());
    let mut queries: Vec<String> = lists();
    assert!(queries.len() > 20);
    queries.extend([find::BY_SHORT.clone(), list::PAGE.clone()]);
    let texts = [change::TAKE_CLICK, row::INSERT, row::UPDATE, row::DELETE]
        .into_iter()
        .chain(row::INDEX)
        .chain(crate::links::DELETE_CLICKS)
        .chain(clicks::STATEMENTS)
        .chain(cleanup::STATEMENTS)
        .chain(rides::OF_EVENTS)
        .chain(rides::OF_SUMS)
        .chain(rides::OF_DAYS)
        .chain(rides::OF_PLACES)
        .chain(rides::OF_LEADERS);
    queries.extend(texts.map(str::to_owned));
    queries.extend(rides::of_reads());
    queries.extend(rides::of_searches());
    queries.extend(rides::of_rebuilding().map(str::to_owned));
    queries.extend(moving::statements());
    queries.extend(lodge_sql::statements().map(|statement| statement.sqlite.to_owned()));
    queries.extend(board::statements().map(|statement| statement.sqlite.to_owned()));
    queries.extend([words::ADD, words::REMOVE, words::FIND].map(|own| own.sqlite.to_owned()));
    let check = move |connection: &Connection| {
        for sql in queries {
            let plan = plan(connection, &sql);
            assert!(!plan.iter().any(|step| is_walk(step)), "{sql}\n{plan:#?}");
        }
        Ok(())
    };
    engine.writer.write(App::Links, check).await.unwrap();
}

#[tokio::test]
async fn a_page_of_the_board_is_not_sorted() {
    assert_not_sorted(board::pages().map(|statement| statement.sqlite.to_owned())).await;
}

async fn assert_not_sorted(pages: impl IntoIterator<Item = String> + Send + 'static) {
    let (engine, _folder) = open(&Options::default());
    let check = move |connection: &Connection| {
        for sql in pages {
            let plan = plan(connection, &sql);
            assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{sql}\n{plan:#?}");
        }
        Ok(())
    };
    engine.readers.read(App::Links, check).await.unwrap();
}

#[tokio::test]
async fn a_page_of_a_list_is_not_sorted() {
    let owner = fresh_owner();
    let all = LinkQuery { owner, after: None, tag: None, prefix: None, search: None, limit: 50 };
    let tagged = LinkQuery { tag: Some("tag".to_owned()), ..all.clone() };
    let lists = [&all, &tagged].map(|query| list::sql(query, Plan::Scan).unwrap());
    assert_not_sorted(lists.into_iter().chain([list::PAGE.clone()])).await;
}

/// Looks up an account by name; returns its id, and how many steps `SQLite` took, none of them a table scan.
fn look_up(connection: &Connection, name: &str) -> (Option<i64>, i32) {
    let mut statement = connection.prepare(FIND_BY_NAME.sqlite).unwrap();
    let found = statement.query_row([name], |row| row.get(0)).optional().unwrap();
    assert_eq!(statement.get_status(StatementStatus::FullscanStep), 0, "{name}");
    (found, statement.get_status(StatementStatus::VmStep))
}

#[tokio::test]
async fn the_first_the_last_and_an_unknown_name_are_found_by_the_same_index() {
    const ACCOUNTS: usize = 3_000;
    let (engine, _folder) = open(&Options::default());
    let new = (0..ACCOUNTS).map(|number| {
        let username = Username::parse(&format!("user-{}", number * 7 % ACCOUNTS)).unwrap();
        NewAccount { password: None, ..lodge_contract::accounts::new(&username) }
    });
    let added = crate::Sqlite(Arc::clone(&engine)).accounts().add_many(new.collect()).await;
    assert_eq!(added.unwrap(), [true; ACCOUNTS]);
    let check = |connection: &Connection| {
        let steps = plan(connection, FIND_BY_NAME.sqlite);
        let by_index = "SEARCH a USING INDEX accounts_by_username (username=?)";
        assert_eq!(steps, [by_index]);
        let names = [0, ACCOUNTS / 2, ACCOUNTS - 1].map(|at| format!("user-{}", at * 7 % ACCOUNTS));
        let known = names.map(|name| look_up(connection, &name));
        let number = |at: usize| i64::try_from(at).ok();
        assert_eq!(
            known.map(|(found, _)| found),
            [number(1), number(ACCOUNTS / 2 + 1), number(ACCOUNTS)]
        );
        let (unknown, steps) = look_up(connection, "user-x");
        assert_eq!(unknown, None);
        // A known name costs only the read of the row more.
        assert!(known.iter().all(|(_, of_known)| *of_known == known[0].1 && *of_known >= steps));
        Ok(())
    };
    engine.readers.read(App::Links, check).await.unwrap();
}
