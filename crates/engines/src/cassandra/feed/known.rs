//! Rows of the feed that this process has heard of.

use std::collections::HashMap;

use parking_lot::Mutex;
use uuid::Uuid;

use super::{AHEAD_MS, BACK_MS};

/// Ids of rows, with the time until which they may come again.
#[derive(Default)]
pub(super) struct Known(Mutex<HashMap<Uuid, i64>>);

impl Known {
    /// Notes a row at `now`, in milliseconds since 1970; whether it is new here.
    pub(super) fn add(&self, id: Uuid, now: i64) -> bool {
        self.0.lock().insert(id, now + BACK_MS + AHEAD_MS).is_none()
    }

    /// Forgets what does not come again.
    pub(super) fn tidy(&self, now: i64) {
        self.0.lock().retain(|_, until| *until > now);
    }
}
