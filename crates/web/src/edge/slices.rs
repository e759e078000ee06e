//! The scheduler's slices for threads that serve connections.

/// Asks Linux to run this thread in slices of 0.1 ms. A thread with shorter slices preempts one with longer ones, such
/// as one that searches or hashes a password, as soon as it wakes; otherwise it may wait for the end of a slice, up to
/// 4 ms. Its share of the processor stays the same, threads that it starts have the system's slices, and it needs
/// no privilege. Before Linux 6.12 nothing changes.
///
/// # Errors
///
/// Fails if the system refuses it.
#[cfg(target_os = "linux")]
pub(super) fn shorten() -> std::io::Result<()> {
    linux::set_slice(std::time::Duration::from_micros(100))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn shorten() -> std::io::Result<()> {
    Ok(())
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "no crate wraps these two system calls")]
mod linux {
    use std::{
        io,
        mem::{size_of, zeroed},
        time::Duration,
    };

    use libc::{SYS_sched_getattr, SYS_sched_setattr, c_long, sched_attr, syscall};

    /// The calling thread, in both system calls (`sched_setattr(2)`).
    const THIS_THREAD: c_long = 0;
    const NO_FLAGS: c_long = 0;
    /// Threads that this one starts inherit neither its slice nor a niceness below 0 or a real-time policy
    /// (`SCHED_FLAG_RESET_ON_FORK`).
    const RESET_ON_FORK: u64 = 1;

    /// Sets the slice of this thread, and keeps its policy and niceness.
    pub(super) fn set_slice(slice: Duration) -> io::Result<()> {
        let mut attributes = attributes()?;
        attributes.sched_flags = RESET_ON_FORK;
        attributes.sched_runtime = u64::try_from(slice.as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: the kernel reads `attributes.size` bytes, which `sched_getattr` has set to no more than there are.
        check(unsafe { syscall(SYS_sched_setattr, THIS_THREAD, &raw const attributes, NO_FLAGS) })
    }

    fn attributes() -> io::Result<sched_attr> {
        let size = size_of::<sched_attr>();
        // SAFETY: all fields are integers, for which zero is valid.
        let mut attributes: sched_attr = unsafe { zeroed() };
        // SAFETY: the kernel writes at most `size` bytes to `attributes`, which has this size and outlives the call.
        check(unsafe {
            syscall(SYS_sched_getattr, THIS_THREAD, &raw mut attributes, size, NO_FLAGS)
        })?;
        Ok(attributes)
    }

    fn check(result: c_long) -> io::Result<()> {
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_thread_started_by_a_connection_thread_does_not_have_its_slices() {
            let slice = || attributes().expect("attributes").sched_runtime;
            let before = slice();
            super::super::shorten().expect("the system allows it");
            let of_started = std::thread::spawn(slice).join().expect("a thread");
            assert_eq!(of_started, before);
        }

        #[test]
        fn only_the_slice_of_the_thread_changes() {
            let before = attributes().expect("attributes");
            super::super::shorten().expect("the system allows it");
            let after = attributes().expect("attributes");
            // Before Linux 6.12, the kernel tells no slice.
            assert!([0, 100_000].contains(&after.sched_runtime), "{} ns", after.sched_runtime);
            let rest = |of: &sched_attr| (of.sched_policy, of.sched_nice, of.sched_priority);
            assert_eq!(rest(&after), rest(&before));
        }
    }
}
