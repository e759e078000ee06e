//! Transparent huge pages, which a server does without.

/// Gives the process and its children base pages only, also where mimalloc asks for huge ones.
///
/// The kernel clears a page of 2 MiB on the thread that first writes to it. Under 48 request bodies of 2 MiB at a time,
/// connection threads served nothing for tens of milliseconds.
pub(crate) fn disable() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::info!(%error, "cannot disable transparent huge pages");
    }
}
