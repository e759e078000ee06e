//! The sandbox of the decoder process: no files, no network, no other processes or threads, no new privileges.
//!
//! Two mechanisms of Linux: a seccomp filter refuses every system call that decoding does not need. Landlock takes the
//! rights to files and, from Linux 6.7 on, to TCP ports, and stands where the filter has a hole or cannot be set.

use std::fmt;

/// What the kernel enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sandbox {
    landlock: bool,
    seccomp: bool,
}

impl Sandbox {
    /// Returns whether the kernel enforces both.
    pub fn is_complete(self) -> bool {
        self.landlock && self.seccomp
    }
}

/// Names what is enforced and what the kernel does not have.
impl fmt::Display for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.landlock, self.seccomp) {
            (true, true) => "Landlock and seccomp",
            (true, false) => "Landlock only; no filter of system calls (seccomp) could be set",
            (false, true) => {
                "seccomp only; this system has no Landlock, or one of before Linux 6.12"
            }
            (false, false) => "none; neither Landlock nor seccomp could be set",
        })
    }
}

/// Tries the sandbox of a decoder process on a thread that ends.
pub fn probe_sandbox() -> Sandbox {
    std::thread::spawn(enter).join().unwrap_or(Sandbox { landlock: false, seccomp: false })
}

/// Restricts the calling thread, and its later threads and processes. It cannot be undone.
pub(crate) fn enter() -> Sandbox {
    let landlock = restrictions::restrict_access();
    Sandbox { landlock, seccomp: restrictions::filter_calls() }
}

#[cfg(target_os = "linux")]
mod restrictions {
    use std::env::consts::ARCH;

    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, Ruleset, RulesetAttr as _, RulesetError,
        RulesetStatus, Scope,
    };
    use seccompiler::{BackendError, BpfProgram, SeccompAction, SeccompFilter, apply_filter};

    /// The newest version of Landlock (Linux 6.12) whose rights are taken; an older kernel takes fewer.
    const LANDLOCK: ABI = ABI::V6;

    /// The system calls of decoding: input and output by open files, memory, the end of the process.
    const CALLS: [libc::c_long; 19] = [
        libc::SYS_brk,
        libc::SYS_clock_gettime,
        libc::SYS_close,
        libc::SYS_exit,
        libc::SYS_exit_group,
        libc::SYS_futex,
        libc::SYS_getrandom,
        libc::SYS_madvise,
        libc::SYS_mmap,
        libc::SYS_mprotect,
        libc::SYS_mremap,
        libc::SYS_munmap,
        libc::SYS_read,
        libc::SYS_restart_syscall,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sched_yield,
        libc::SYS_sigaltstack,
        libc::SYS_write,
    ];

    /// Takes all rights to files and TCP ports; open files stay usable. Returns whether the kernel enforces
    /// all of it.
    pub(super) fn restrict_access() -> bool {
        let restricted = || {
            Ruleset::default()
                .handle_access(AccessFs::from_all(LANDLOCK))?
                .handle_access(AccessNet::from_all(LANDLOCK))?
                .scope(Scope::from_all(LANDLOCK))?
                .create()?
                .restrict_self()
        };
        let restricted: Result<_, RulesetError> = restricted();
        restricted.is_ok_and(|status| status.ruleset == RulesetStatus::FullyEnforced)
    }

    /// Refuses all other system calls (EPERM). Returns whether the kernel enforces it.
    pub(super) fn filter_calls() -> bool {
        filter().is_ok_and(|filter| apply_filter(&filter).is_ok())
    }

    fn filter() -> Result<BpfProgram, BackendError> {
        let calls = CALLS.into_iter().map(|call| (call, Vec::new())).collect();
        let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
        SeccompFilter::new(calls, refused, SeccompAction::Allow, ARCH.try_into()?)?.try_into()
    }
}

#[cfg(not(target_os = "linux"))]
mod restrictions {
    pub(super) fn restrict_access() -> bool {
        false
    }

    pub(super) fn filter_calls() -> bool {
        false
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::{
        fs::File,
        io::{self, Read as _},
        net::{TcpListener, TcpStream, UdpSocket},
        process::Command,
        thread,
    };

    use super::*;

    /// Runs an attempt on a new thread after it was restricted; the result is the reason of a failure.
    fn outcome<T>(
        restrict: impl FnOnce() -> bool + Send + 'static,
        attempt: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Result<(), io::ErrorKind> {
        let restricted = move || {
            assert!(restrict(), "the kernel does not have it");
            attempt().map(drop).map_err(|error| error.kind())
        };
        thread::spawn(restricted).join().unwrap()
    }

    const DENIED: Result<(), io::ErrorKind> = Err(io::ErrorKind::PermissionDenied);

    #[test]
    fn landlock_alone_denies_files_and_tcp() {
        let restrict = restrictions::restrict_access;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let program = std::env::current_exe().unwrap();
        let created = program.with_extension("created");
        assert_eq!(outcome(restrict, || File::open("/etc/passwd")), DENIED);
        assert_eq!(outcome(restrict, move || File::create(created)), DENIED);
        assert_eq!(outcome(restrict, move || TcpStream::connect(address)), DENIED);
        assert_eq!(outcome(restrict, || TcpListener::bind("127.0.0.1:0")), DENIED);
        assert_eq!(outcome(restrict, move || Command::new(program).arg("--list").spawn()), DENIED);
    }

    #[test]
    fn seccomp_alone_denies_files_the_network_and_processes() {
        let restrict = restrictions::filter_calls;
        assert_eq!(outcome(restrict, || File::open("/etc/passwd")), DENIED);
        assert_eq!(outcome(restrict, || TcpListener::bind("127.0.0.1:0")), DENIED);
        assert_eq!(outcome(restrict, || UdpSocket::bind("127.0.0.1:0")), DENIED);
        assert_eq!(outcome(restrict, || Command::new("true").spawn()), DENIED);
        assert_eq!(outcome(restrict, || thread::Builder::new().spawn(|| ())), DENIED);
    }

    #[test]
    fn open_files_and_memory_stay_usable() {
        let mut file = File::open("/dev/zero").unwrap();
        let read = move || {
            let mut bytes = vec![1; 64 << 20];
            file.read_exact(&mut bytes)?;
            Ok(bytes)
        };
        assert_eq!(outcome(|| enter().is_complete(), read), Ok(()));
    }

    #[test]
    fn the_kernel_of_the_tests_enforces_both() {
        assert_eq!(probe_sandbox(), Sandbox { landlock: true, seccomp: true });
        assert_eq!(probe_sandbox().to_string(), "Landlock and seccomp");
    }
}
