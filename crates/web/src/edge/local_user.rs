//! Which user of this machine has opened a connection.

use std::net::SocketAddr;

/// Whether the process that has opened the connection from `peer`, an address of this machine, runs as the user of this
/// process. A proxy usually runs as a user of its own, even if it leaves no trace in the requests that it forwards. False
/// where the system does not tell.
#[cfg(target_os = "linux")]
pub(crate) async fn is_own(peer: SocketAddr) -> bool {
    matches!(tokio::task::spawn_blocking(move || is_held_by_own_user(peer)).await, Ok(Ok(true)))
}

#[cfg(not(target_os = "linux"))]
pub(crate) async fn is_own(_: SocketAddr) -> bool {
    false
}

/// Whether all sockets with this local address, of which there is at least one, belong to the user of this process.
#[cfg(target_os = "linux")]
fn is_held_by_own_user(peer: SocketAddr) -> procfs::ProcResult<bool> {
    let own = rustix::process::geteuid().as_raw();
    let sockets = procfs::net::tcp()?.into_iter().chain(procfs::net::tcp6()?);
    let canonical =
        |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
    let mut users = sockets
        .filter(|socket| canonical(socket.local_address) == canonical(peer))
        .map(|socket| socket.uid)
        .peekable();
    Ok(users.peek().is_some() && users.all(|user| user == own))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[tokio::test]
    async fn a_connection_of_this_user_is_its_own_and_one_that_is_closed_is_not() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (accepted, peer) = listener.accept().unwrap();
            assert!(is_own(peer).await, "{address}");
            drop((client, accepted));
            let unused = SocketAddr::new(peer.ip(), 1);
            assert!(!is_own(unused).await, "{address}");
        }
    }
}
