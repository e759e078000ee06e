//! Ctrl-C: the first stops the sending, the second the process.

use std::thread::JoinHandle;

use anyhow::Result;
use tokio_util::sync::CancellationToken;

use super::control::Control;

/// What a shell expects of a process that Ctrl-C ended.
const EXIT_INTERRUPTED: i32 = 130;

/// A thread that waits for the signal.
#[derive(Debug)]
pub(crate) struct Interrupt {
    over: CancellationToken,
    thread: JoinHandle<()>,
}

impl Interrupt {
    pub(crate) fn watch(control: &Control) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let over = CancellationToken::new();
        let (control, until) = (control.clone(), over.clone());
        let watch = async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                control.stop();
                if tokio::signal::ctrl_c().await.is_ok() {
                    std::process::exit(EXIT_INTERRUPTED);
                }
            }
            std::future::pending::<()>().await;
        };
        let body = move || {
            runtime.block_on(until.run_until_cancelled(watch));
        };
        let thread = std::thread::Builder::new().name("load-interrupt".to_owned()).spawn(body)?;
        Ok(Self { over, thread })
    }

    /// Stops watching.
    pub(crate) fn end(self) {
        self.over.cancel();
        // The thread only waits; it has nothing to report.
        drop(self.thread.join());
    }
}
