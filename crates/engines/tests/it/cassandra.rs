//! The contract on Cassandra.

use lodge_contract::Fixture;
use lodge_engines::cassandra::{Cassandra, Options};
use lodge_testbed::Kind;

use crate::testbed::layout;

/// A connection to a keyspace of the tests' own.
pub(crate) async fn connect(keyspace: &str) -> Cassandra {
    let nodes = layout(&[Kind::Cassandra]).addresses(Kind::Cassandra);
    let nodes = nodes.iter().map(ToString::to_string).collect();
    let options = Options { nodes, keyspace: keyspace.to_owned(), copies: 3 };
    Cassandra::connect(&options).await.unwrap()
}

async fn stores() -> Fixture {
    let engine = connect("lodge_contract").await;
    let ((links, _), clicks, keys) = (engine.links(), engine.clicks(), engine.keys());
    Fixture { links, clicks, keys, can_search: false, stores_later: false, guard: Box::new(engine) }
}

lodge_contract::promises!(stores);
