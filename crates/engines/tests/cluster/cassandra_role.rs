//! Lodge's role at a Cassandra that requires logins.

use std::time::Duration;

use lodge_contract::{
    changes, claims, click_limits, clicks, idempotency, key_sessions, keys, lists, replacements,
};
use lodge_engines::cassandra::{Cassandra, Login, Options};
use lodge_testbed::{Cluster, Kind, Layout, Member};
use scylla::{
    client::{session::Session, session_builder::SessionBuilder},
    statement::Statement,
};

use crate::{cassandra::fixture, redis::within, testbed::workspace};

/// How far the block of loopback addresses of the node is from that of the cluster, which is below 100.
const BLOCKS_APART: u8 = 100;

/// As in operating.md, but for the number of copies.
const RIGHTS: [&str; 5] = [
    "CREATE KEYSPACE lodge WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 1}",
    "CREATE ROLE lodge WITH PASSWORD = 'a lantern in the fog' AND LOGIN = true",
    "GRANT CREATE ON KEYSPACE lodge TO lodge",
    "GRANT SELECT ON KEYSPACE lodge TO lodge",
    "GRANT MODIFY ON KEYSPACE lodge TO lodge",
];

/// A node that requires logins, which is stopped on drop.
struct OwnCassandra {
    cluster: Cluster,
    node: String,
}

impl OwnCassandra {
    fn start() -> Self {
        let block = Layout::of(&workspace()).block() + BLOCKS_APART;
        let layout = Layout::in_block(&workspace(), block);
        let member = Member { kind: Kind::Cassandra, number: 1 };
        let node = layout.address(member).to_string();
        let own = Self { cluster: Cluster::new(layout, ""), node };
        // An earlier test may have been killed.
        own.cluster.down().unwrap();
        own.cluster.up_with_logins(member).unwrap();
        own
    }

    /// A session of the superuser, which Cassandra creates some seconds after its first start.
    async fn superuser(&self) -> Session {
        let build = async || {
            let builder = SessionBuilder::new().known_node(&self.node);
            builder.user("cassandra", "cassandra").build().await
        };
        within(Duration::from_mins(1), async || build().await.is_ok()).await;
        build().await.unwrap()
    }
}

impl Drop for OwnCassandra {
    fn drop(&mut self) {
        let _ = self.cluster.down();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_that_may_use_one_keyspace_suffices() {
    let own = OwnCassandra::start();
    let superuser = own.superuser().await;
    for right in RIGHTS {
        let mut statement = Statement::new(right);
        statement.set_request_timeout(Some(Duration::from_mins(1)));
        superuser.query_unpaged(statement, ()).await.unwrap();
    }
    let password = "a lantern in the fog".into();
    let login = Some(Login { username: "lodge".to_owned(), password });
    let (nodes, keyspace) = (vec![own.node.clone()], "lodge".to_owned());
    let options = Options { nodes, keyspace, copies: 1, login, tls: None };
    let engine = Cassandra::connect(&options).await.unwrap();
    let fixture = fixture(&engine, engine.links().0);
    claims::a_claimed_link_is_found_with_all_its_fields(&fixture).await;
    replacements::the_newest_put_wins_in_any_order(&fixture).await;
    changes::a_change_is_stored(&fixture).await;
    idempotency::a_repeated_claim_returns_the_first_outcome(&fixture).await;
    click_limits::a_hundred_concurrent_clicks_use_exactly_the_limit(&fixture).await;
    lists::a_list_follows_changes(&fixture).await;
    clicks::a_batch_counts_once(&fixture).await;
    keys::a_revoked_key_stays_revoked(&fixture).await;
    key_sessions::a_session_of_a_key_ends_alone_and_for_good(&fixture).await;
    let other = Options { keyspace: "another".to_owned(), ..options };
    let refused = Cassandra::connect(&other).await.err().unwrap();
    assert!(format!("{refused:?}").contains("no CREATE permission"), "{refused:?}");
}
