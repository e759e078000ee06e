//! Ctrl-C: the first stops the sending, the second the process.

use anyhow::Result;
use tokio_util::sync::CancellationToken;

use super::control::Control;

/// What a shell expects of a process that Ctrl-C ended.
const EXIT_INTERRUPTED: i32 = 130;

/// Does `work`, which Ctrl-C tells to stop.
pub(crate) fn interruptible<T>(work: impl FnOnce(&Control) -> Result<T>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (control, over) = (Control::default(), CancellationToken::new());
    let (stopping, until) = (control.clone(), over.clone());
    let watch = async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            stopping.stop();
            if tokio::signal::ctrl_c().await.is_ok() {
                std::process::exit(EXIT_INTERRUPTED);
            }
        }
        std::future::pending::<()>().await;
    };
    let thread = std::thread::Builder::new()
        .name("load-interrupt".to_owned())
        .spawn(move || runtime.block_on(until.run_until_cancelled(watch)))?;
    let done = work(&control);
    over.cancel();
    // The thread only waits; it has nothing to report.
    drop(thread.join());
    done
}
