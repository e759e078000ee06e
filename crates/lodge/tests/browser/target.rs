//! The site that links lead to: another origin than Lodge's, on this machine.

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

/// Answers every request with a page that names the path. It ends when it is dropped.
pub(crate) struct Target {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Target {
    /// Starts it.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if stopped.load(Ordering::Acquire) {
                    return;
                }
                // A browser also opens connections only to have one.
                thread::spawn(|| answer(stream));
            }
        });
        Self { address, stop, thread: Some(thread) }
    }

    /// An address on it.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the page for a path says.
pub(crate) fn arrived(path: &str) -> String {
    format!("You have arrived at {path}")
}

fn answer(mut stream: TcpStream) -> Option<()> {
    let mut head = BufReader::new(stream.try_clone().ok()?).lines().map_while(Result::ok);
    let first = head.next()?;
    let path = first.split(' ').nth(1)?.to_owned();
    head.find(String::is_empty)?;
    let page = format!("<!doctype html><link rel=icon href='data:,'><p>{}</p>", arrived(&path));
    let length = page.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{page}"
    )
    .ok()
}
