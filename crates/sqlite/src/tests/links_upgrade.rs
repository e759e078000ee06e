//! The upgrade of links from before a search found tags.

use std::sync::Arc;

use lodge_domain::{
    caller::Owner,
    keys::KeyId,
    links::{LinkQuery, LinkStore},
};
use rusqlite::Connection;

use super::private_folder;
use crate::{Options, engine::Engine, links::SqliteLinks, migrations};

/// The last schema version whose search found no tags.
const FORMER: u32 = 19;

/// Links of key 1: tagged, without tags, and deleted.
const WRITTEN: &str = "
    INSERT INTO links (row, short, id, target, redirect, version, key_version, owner, created_at, changed_at,
        deleted_at, tags) VALUES
        (1, 'a', randomblob(16), 'https://one.example/', 307, 1, 1, 1, 1, 1, NULL, '[\"winter\",\"lift pass\"]'),
        (2, 'b', randomblob(16), 'https://two.example/', 307, 1, 1, 1, 2, 2, NULL, NULL),
        (3, 'c', randomblob(16), 'https://three.example/', 307, 1, 1, 1, 3, 3, 3, '[\"winter\"]');
    INSERT INTO link_search (rowid, short, target) VALUES (1, 'a', 'https://one.example/'), (2, 'b', 'https://two.example/');";

#[tokio::test]
async fn an_upgraded_search_finds_tags() {
    let folder = private_folder();
    let mut file = Connection::open(folder.path().join("lodge.db")).unwrap();
    migrations::run_to(&mut file, FORMER).unwrap();
    file.execute_batch(WRITTEN).unwrap();
    drop(file);
    let engine = Arc::new(Engine::open(folder.path(), &Options::default()).unwrap());
    let links = SqliteLinks(engine);
    let found = async |words: &str| {
        let query = LinkQuery {
            owner: Owner::Key(KeyId(1)),
            after: None,
            tag: None,
            prefix: None,
            search: Some(words.to_owned()),
            limit: 10,
        };
        let found = links.list(query).await.unwrap();
        found.iter().map(|link| link.short.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(found("winter").await, ["a"]);
    assert_eq!(found("pass one").await, ["a"]);
    assert_eq!(found("two.example").await, ["b"]);
    assert_eq!(found("example").await.len(), 2);
}
