//! The scaled-out engines: the ports of the embedded engine on Redis, Cassandra, RabbitMQ and MariaDB, and objects in
//! S3.
//! A driver is used only in the folder of its engine.
//!
//! Futures that leave this crate are boxed: the code of an `async fn` is compiled again in each crate that awaits it, with
//! the driver that it calls.

pub mod cassandra;
pub mod mariadb;
pub mod rabbitmq;
pub mod redis;
pub mod s3;
mod tls;
pub mod write_behind;

pub use tls::Tls;
