//! The rules of the four apps: their types, services, and the ports through which they use stores and the network.
//! Nothing here reads a file, opens a socket or reads the system clock: the engines do, behind the ports, and the
//! binary's wiring chooses them.

pub mod accounts;
pub mod board;
pub mod caller;
pub mod clock;
pub mod error;
pub mod failures;
pub mod idempotency;
pub mod key_sessions;
pub mod keys;
pub mod links;
pub mod look_alikes;
mod names;
pub mod network;
pub mod password_hasher;
pub mod passwords;
pub mod patch;
pub mod pictures;
pub mod random;
pub mod rides;
pub mod secret;
pub mod security;
mod tasks;
mod text;

pub use clock::{Clock, SystemClock};
pub use error::{Error, Result};
pub use idempotency::{IdempotencyKey, Idempotent};
pub use random::{OsRandom, Random};
pub use tasks::{RunToCompletion, Tasks};
