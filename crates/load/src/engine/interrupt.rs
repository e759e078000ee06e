//! Ctrl-C: the first stops sending, the second ends the process.

use anyhow::Result;

use super::control::Control;

/// The exit code of a process that SIGINT ended, as shells report it.
const EXIT_INTERRUPTED: i32 = 130;

/// Runs `work` with a stop signal that Ctrl-C triggers.
pub(crate) fn interruptible<T>(work: impl FnOnce(&Control) -> Result<T>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("load-interrupt")
        .enable_all()
        .build()?;
    let control = Control::default();
    let stopping = control.clone();
    runtime.spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            stopping.stop();
            if tokio::signal::ctrl_c().await.is_ok() {
                std::process::exit(EXIT_INTERRUPTED);
            }
        }
    });
    work(&control)
}
