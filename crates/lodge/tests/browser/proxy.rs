//! An HTTP proxy that buffers, delays or cuts responses, as some proxies do.

use std::{
    io::{self, BufRead, BufReader, ErrorKind, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::server::DEADLINE;

/// What the proxy does with a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// Forwards it immediately.
    Passes,
    /// Forwards it when it is complete.
    Buffered,
    /// Holds it until the rule changes.
    Held,
    /// Closes the connection.
    Cut,
}

/// Decides about the response to a request by its request line.
type Rule = Box<dyn Fn(&str) -> Treatment + Send>;

/// The interval at which a held response checks the rule.
const LOOK: Duration = Duration::from_millis(20);

/// The buffer limit, larger than any response that ends.
const HELD_BYTES_MAX: usize = 1 << 20;

/// A running proxy, which stops when it is dropped.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    server: SocketAddr,
    rule: Mutex<Rule>,
    asked: Mutex<Vec<String>>,
    stop: AtomicBool,
}

impl Proxy {
    /// Starts a proxy in front of a server. At first it forwards everything.
    pub(crate) fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            server,
            rule: Mutex::new(Box::new(|_| Treatment::Passes)),
            asked: Mutex::default(),
            stop: AtomicBool::new(false),
        });
        let for_all = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if for_all.stop.load(Ordering::Acquire) {
                    return;
                }
                let shared = Arc::clone(&for_all);
                // Errors are ignored: a browser may close a connection at any time.
                thread::spawn(move || drop(shared.serve(&client)));
            }
        });
        Self { address, shared, thread: Some(thread) }
    }

    /// Sets the rule, also for responses in flight: the first entry whose text is in the request line decides. Other
    /// responses pass.
    pub(crate) fn rule(&self, rules: &[(&'static str, Treatment)]) {
        let rules = rules.to_vec();
        *self.shared.rule.lock() = Box::new(move |asked| {
            let found = rules.iter().find(|(text, _)| asked.contains(text));
            found.map_or(Treatment::Passes, |(_, fate)| *fate)
        });
    }

    /// Returns the number of requests with this text in the request line.
    pub(crate) fn requests_with(&self, text: &str) -> usize {
        self.shared.asked.lock().iter().filter(|asked| asked.contains(text)).count()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Serves one request per connection, so that a response ends with the connection.
    fn serve(&self, client: &TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(client.try_clone()?);
        let (mut head, mut first) = (String::new(), String::new());
        while !head.ends_with("\r\n\r\n") {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if first.is_empty() {
                line.trim_end().clone_into(&mut first);
            }
            if !line.to_ascii_lowercase().starts_with("connection:") {
                head += &line;
            }
        }
        head.insert_str(head.len() - 2, "Connection: close\r\n");
        self.asked.lock().push(first.clone());
        if self.fate(&first) == Treatment::Cut {
            return client.shutdown(Shutdown::Both);
        }
        let upstream = TcpStream::connect(self.server)?;
        (&upstream).write_all(head.as_bytes())?;
        let (mut body_to, closed) = (upstream.try_clone()?, client.try_clone()?);
        thread::spawn(move || {
            let _ = io::copy(&mut reader, &mut body_to);
            let _ = (body_to.shutdown(Shutdown::Both), closed.shutdown(Shutdown::Both));
        });
        let answered = self.answer(&first, &upstream, client);
        let _ = (upstream.shutdown(Shutdown::Both), client.shutdown(Shutdown::Both));
        answered
    }

    fn answer(&self, asked: &str, mut from: &TcpStream, mut to: &TcpStream) -> io::Result<()> {
        from.set_read_timeout(Some(LOOK))?;
        let (mut held, mut part, mut has_ended) = (Vec::new(), [0; 16 * 1024], false);
        let deadline = Instant::now() + DEADLINE * 4;
        while Instant::now() < deadline && held.len() < HELD_BYTES_MAX {
            match from.read(&mut part) {
                Ok(0) if has_ended => thread::park_timeout(LOOK),
                Ok(0) => has_ended = true,
                Ok(read) => held.extend_from_slice(&part[..read]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            match self.fate(asked) {
                Treatment::Buffered if !has_ended => {}
                Treatment::Held => {}
                Treatment::Cut => return Ok(()),
                Treatment::Passes | Treatment::Buffered => {
                    to.write_all(&held)?;
                    held.clear();
                    if has_ended {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    fn fate(&self, asked: &str) -> Treatment {
        (self.rule.lock())(asked)
    }
}
