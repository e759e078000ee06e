//! Which user of this machine has opened a connection.

use std::net::SocketAddr;

/// Whether the process that has opened the connection from `peer`, an address of this machine, runs as the user of this
/// process. A proxy usually runs as a user of its own, even if it leaves no trace in the requests that it forwards. False
/// where the system does not tell.
#[cfg(target_os = "linux")]
pub(crate) async fn is_own(peer: SocketAddr) -> bool {
    let user = rustix::process::geteuid().as_raw();
    if user == OVERFLOW_USER {
        return false;
    }
    let held = tokio::task::spawn_blocking(move || linux::is_held_by(peer, user)).await;
    matches!(held, Ok(Ok(true)))
}

#[cfg(not(target_os = "linux"))]
pub(crate) async fn is_own(_: SocketAddr) -> bool {
    false
}

/// The user that stands for all users whom a user namespace does not know.
#[cfg(target_os = "linux")]
const OVERFLOW_USER: u32 = 65_534;

#[cfg(target_os = "linux")]
mod linux {
    use std::net::SocketAddr;

    use procfs::{
        ProcError, ProcResult,
        net::{TcpNetEntry, TcpState, tcp, tcp6},
    };

    /// Whether all open connections from this address, of which there is at least one, belong to `user`.
    pub(super) fn is_held_by(peer: SocketAddr, user: u32) -> ProcResult<bool> {
        let is_peers = |socket: &TcpNetEntry| {
            canonical(socket.local_address) == canonical(peer) && is_open(socket)
        };
        let sockets = tcp()?.into_iter().chain(or_none(tcp6())?);
        let mut users = sockets.filter(is_peers).map(|socket| socket.uid).peekable();
        Ok(users.peek().is_some() && users.all(|of| of == user))
    }

    /// Of a socket that its process has closed, the kernel does not keep the user.
    fn is_open(socket: &TcpNetEntry) -> bool {
        socket.state == TcpState::Established && socket.inode != 0
    }

    /// A machine without IPv6 has no list of its sockets.
    fn or_none(sockets: ProcResult<Vec<TcpNetEntry>>) -> ProcResult<Vec<TcpNetEntry>> {
        match sockets {
            Err(ProcError::NotFound(_)) => Ok(Vec::new()),
            sockets => sockets,
        }
    }

    fn canonical(address: SocketAddr) -> SocketAddr {
        SocketAddr::new(address.ip().to_canonical(), address.port())
    }

    #[cfg(test)]
    mod tests {
        use std::net::{Ipv6Addr, TcpListener, TcpStream};

        use super::*;

        #[test]
        fn a_connection_belongs_to_the_user_that_holds_it_open() {
            let own = rustix::process::geteuid().as_raw();
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (accepted, peer) = listener.accept().unwrap();
            let mapped = std::net::Ipv4Addr::LOCALHOST.to_ipv6_mapped();
            for peer in [peer, SocketAddr::new(mapped.into(), peer.port())] {
                assert!(is_held_by(peer, own).unwrap(), "{peer}");
                assert!(!is_held_by(peer, own + 1).unwrap(), "{peer}");
            }
            drop((client, accepted));
            assert!(!is_held_by(peer, own).unwrap(), "closed");
            assert!(!is_held_by((Ipv6Addr::LOCALHOST, 1).into(), own).unwrap());
        }

        #[test]
        fn a_machine_without_ipv6_has_no_sockets_of_it() {
            assert!(or_none(Err(ProcError::NotFound(None))).unwrap().is_empty());
            assert!(or_none(Err(ProcError::Other("damaged".to_owned()))).is_err());
        }
    }
}
