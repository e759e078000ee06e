//! The engines of many machines: the same ports as the embedded engine's, on what grows. A driver is
//! named only here, in the folder of its engine.

pub mod behind;
pub mod cassandra;
pub mod mariadb;
pub mod rabbitmq;
pub mod redis;
mod tls;

pub use tls::Tls;
