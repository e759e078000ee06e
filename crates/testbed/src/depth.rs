//! How much tests repeat.

/// The setting of it.
pub const DEPTH: &str = "LODGE_TEST_DEPTH";
/// Its value for tests that have hours.
pub const NIGHTLY: &str = "nightly";

/// Returns `nightly` where `LODGE_TEST_DEPTH` is `nightly`, else `always`: how often a test repeats what it
/// tries.
///
/// # Panics
///
/// Where the setting has another value.
pub fn by_depth<T>(always: T, nightly: T) -> T {
    if is_nightly() { nightly } else { always }
}

/// Whether tests have hours.
///
/// # Panics
///
/// Where the setting has another value.
#[expect(clippy::panic, reason = "a test of unknown depth proves nothing")]
pub fn is_nightly() -> bool {
    match std::env::var(DEPTH).as_deref() {
        Err(_) => false,
        Ok(NIGHTLY) => true,
        Ok(other) => panic!("{DEPTH} must be {NIGHTLY} or unset, not {other}"),
    }
}
