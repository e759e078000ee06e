//! The upgrade of accounts from before look-alikes of usernames were refused.

use std::sync::Arc;

use jiff::Timestamp;
use lodge_domain::accounts::{AccountStore, NewAccount, Username};
use lodge_sql::SqlAccounts;
use rusqlite::Connection;

use super::private_folder;
use crate::{Options, engine::Engine, migrations};

/// The last schema version without the skeletons of usernames.
const FORMER: u32 = 22;

/// The names of accounts, of which the second looks like the first.
const NAMES: [&str; 3] = ["alice", "al1ce", "bob"];

#[tokio::test]
async fn upgraded_accounts_keep_working_and_their_look_alikes_are_taken() {
    let folder = private_folder();
    let mut file = Connection::open(folder.path().join("lodge.db")).unwrap();
    migrations::run_to(&mut file, FORMER).unwrap();
    for name in NAMES {
        let add = "INSERT INTO accounts (username, role, epoch, created_at) VALUES (?, 0, 1, 1)";
        file.execute(add, [name]).unwrap();
    }
    drop(file);
    let engine = Arc::new(Engine::open(folder.path(), &Options::default()).unwrap());
    let accounts = SqlAccounts(engine);
    for name in NAMES {
        let name = Username::parse(name).unwrap();
        assert!(accounts.find(&name).await.unwrap().is_some(), "{name}");
    }
    let add = async |name: &str| {
        let new = NewAccount::new(Username::parse(name).unwrap(), None, Timestamp::UNIX_EPOCH);
        accounts.add(new, None).await.unwrap().outcome.is_some()
    };
    for name in ["alice", "al1ce", "allce", "аӏісе", "b0b"] {
        assert!(!add(name).await, "{name}");
    }
    assert!(add("carol").await);
}
