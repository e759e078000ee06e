//! Removal of expired rows.

use lodge_contract::samples::at;
use lodge_engines::mariadb::MariaDb;
use mysql::prelude::Queryable as _;

use super::{admin, empty_database};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counters_of_wrong_passwords_are_removed_when_their_window_is_over() {
    let options = empty_database("lodge_cleanup");
    let database = MariaDb::connect(options.clone()).await.unwrap();
    database.failures().count("ada", None, at(0)).await.unwrap();
    let counters = || -> Option<u32> {
        admin(&options, &options.database).query_first("SELECT COUNT(*) FROM failures").unwrap()
    };
    for (seconds, left) in [(899, Some(1)), (900, Some(0))] {
        assert!(!database.remove_expired(at(seconds)).await.unwrap());
        assert_eq!(counters(), left, "after {seconds} s");
    }
}
