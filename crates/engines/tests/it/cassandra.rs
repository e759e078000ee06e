//! The contract on Cassandra.

use lodge_contract::Fixture;
use lodge_engines::cassandra::{Cassandra, Options};
use lodge_testbed::Kind;

use crate::testbed::layout;

async fn stores() -> Fixture {
    let nodes = layout(Kind::Cassandra).addresses(Kind::Cassandra);
    let options = Options {
        nodes: nodes.iter().map(ToString::to_string).collect(),
        keyspace: "lodge_contract".to_owned(),
        copies: 3,
    };
    let engine = Cassandra::connect(&options).await.unwrap();
    let ((links, _), clicks, keys) = (engine.links(), engine.clicks(), engine.keys());
    Fixture { links, clicks, keys, can_search: false, guard: Box::new(engine) }
}

lodge_contract::promises!(stores);
