//! A timer finer than the runtime's millisecond.
//!
//! On Linux a timerfd: it wakes within some tens of microseconds of its time on an idle machine,
//! later when all cores are busy. Elsewhere the runtime's timer, up to 1 ms late. In either case
//! latency counts from the intended time, and the report shows the lateness as pacing lag.

#[cfg(target_os = "linux")]
pub(crate) use linux::Timer;
#[cfg(not(target_os = "linux"))]
pub(crate) use portable::Timer;

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::time::Instant;

    use rustix::io::Errno;
    use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    #[derive(Debug)]
    pub(crate) struct Timer(AsyncFd<OwnedFd>);

    impl Timer {
        pub(crate) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)?;
            #[expect(
                deprecated,
                reason = "its successor is unsafe; this descriptor is owned and never replaced, as it requires"
            )]
            let timer = AsyncFd::with_interest(timer, Interest::READABLE)?;
            Ok(Self(timer))
        }

        /// Waits until `when`; returns at once if it has passed.
        pub(crate) async fn sleep_until(&self, when: Instant) -> io::Result<()> {
            let delay = when.saturating_duration_since(Instant::now());
            if delay.is_zero() {
                return Ok(());
            }
            let value = Itimerspec {
                it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
                it_value: Timespec {
                    tv_sec: delay.as_secs().try_into().unwrap_or(i64::MAX),
                    tv_nsec: delay.subsec_nanos().into(),
                },
            };
            rustix::time::timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &value)?;
            loop {
                let mut guard = self.0.readable().await?;
                match rustix::io::read(self.0.get_ref(), &mut [0; 8]) {
                    Ok(_) => {
                        guard.clear_ready();
                        return Ok(());
                    }
                    Err(Errno::AGAIN) => guard.clear_ready(),
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod portable {
    use std::io;
    use std::time::Instant;

    #[derive(Debug)]
    pub(crate) struct Timer;

    impl Timer {
        pub(crate) fn new() -> io::Result<Self> {
            Ok(Self)
        }

        /// Waits until `when`; returns at once if it has passed.
        pub(crate) async fn sleep_until(&self, when: Instant) -> io::Result<()> {
            tokio::time::sleep_until(when.into()).await;
            Ok(())
        }
    }
}
