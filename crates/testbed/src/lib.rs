//! A local cluster on loopback addresses: Redis under Sentinel, Cassandra, RabbitMQ, MariaDB, S3, HAProxy and Lodge's
//! accounts and web processes, from packages, without containers. All of its state is in one folder. Every process is
//! recorded by its id and start time, so that a later command or another program finds it.

mod accounts;
mod authority;
mod cassandra;
mod cluster;
mod cut;
mod depth;
mod files;
mod galera;
mod haproxy;
mod layout;
pub mod mariadb;
mod member;
mod own_mariadb;
mod process;
mod rabbitmq;
mod redis;
mod s3;
mod web;

pub use authority::Authority;
pub use cluster::{Cluster, Deployment};
pub use depth::{DEPTH, NIGHTLY, by_depth, is_nightly};
pub use layout::Layout;
pub use mariadb::Mariadb;
pub use member::{Kind, Member};
pub use own_mariadb::OwnMariadb;
pub use process::wait_until;
pub use web::UncachedLodge;

/// Returns the commands that give Lodge's user its rights at Redis, RabbitMQ and MariaDB. Its user on this cluster has the
/// same commands, permissions and privileges, but for all keys, queues and databases that begin with `lodge`, as tests
/// have many.
pub fn rights() -> [String; 3] {
    let (configure, both) = (rabbitmq::CONFIGURE, rabbitmq::READ_AND_WRITE);
    [
        format!("ACL SETUSER lodge on >… ~lodge:* &lodge:* {}", redis::COMMANDS),
        format!("rabbitmqctl set_permissions lodge '{configure}' '{both}' '{both}'"),
        format!("GRANT {} ON lodge.* TO lodge;", mariadb::PRIVILEGES),
    ]
}
