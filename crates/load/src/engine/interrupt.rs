//! Ctrl-C: the first stops the sending, the second the process.

use anyhow::Result;

use super::control::Control;

/// What a shell expects of a process that Ctrl-C ended.
const EXIT_INTERRUPTED: i32 = 130;

/// Does `work`, which Ctrl-C tells to stop.
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
