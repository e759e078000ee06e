//! A small HTTP/1.1 server on loopback whose responses and failures a test determines.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A client's request.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    /// The headers, their names in lower case.
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
    /// The number of requests before this one.
    pub(crate) number: u64,
}

impl Request {
    pub(crate) fn is_put(&self) -> bool {
        self.method == "PUT"
    }

    /// Returns the value of `name` in the query, or an empty string.
    pub(crate) fn query(&self, name: &str) -> String {
        let query = self.path.split_once('?').map_or("", |parts| parts.1);
        query
            .split('&')
            .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
            .unwrap_or_default()
            .to_owned()
    }
}

/// How the server reacts to a request.
pub(crate) enum Reply {
    /// Sends a status and a `Location`, which may be empty.
    Answer(u16, String),
    /// Closes the connection without a response.
    Close,
    /// Sends nothing until the client gives up.
    Hang,
    /// Sends a status, complete header lines, and a body.
    Body(u16, &'static str, Vec<u8>),
    /// Sends these raw bytes.
    Bytes(&'static [u8]),
    /// Sends these raw bytes and closes the connection.
    Last(&'static [u8]),
}

type Handler = dyn Fn(&Request) -> Reply + Send + Sync;

/// Starts a server that runs until the test process ends.
pub(crate) fn serve(
    address: &str,
    handler: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind(address).unwrap();
    let address = listener.local_addr().unwrap();
    let handler: Arc<Handler> = Arc::new(handler);
    let count = Arc::new(AtomicU64::new(0));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (handler, count) = (Arc::clone(&handler), Arc::clone(&count));
            std::thread::spawn(move || converse(&stream.unwrap(), &*handler, &count));
        }
    });
    address
}

/// Serves a connection until either side closes it.
fn converse(stream: &TcpStream, handler: &Handler, count: &AtomicU64) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader, count) {
        let mut out = stream;
        let written = match handler(&request) {
            Reply::Answer(status, location) => write!(
                out,
                "HTTP/1.1 {status} X\r\nLocation: {location}\r\nContent-Length: 2\r\n\r\nok"
            ),
            Reply::Body(status, headers, body) => {
                let length = body.len();
                write!(out, "HTTP/1.1 {status} X\r\n{headers}Content-Length: {length}\r\n\r\n")
                    .and_then(|()| out.write_all(&body))
            }
            Reply::Bytes(bytes) => out.write_all(bytes),
            Reply::Last(bytes) => {
                let _ = out.write_all(bytes);
                return;
            }
            Reply::Close => return,
            Reply::Hang => reader.read(&mut [0; 1]).map(|_| ()),
        };
        if written.is_err() {
            return;
        }
    }
}

pub(crate) fn read_request(
    reader: &mut BufReader<&TcpStream>,
    count: &AtomicU64,
) -> Option<Request> {
    let mut first = String::new();
    if reader.read_line(&mut first).ok()? == 0 {
        return None;
    }
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let Some((name, value)) = line.split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    Some(Request { method, path, headers, body, number: count.fetch_add(1, Ordering::SeqCst) })
}

/// The links of a correct server.
#[derive(Default)]
pub(crate) struct Links(Mutex<HashMap<String, String>>);

impl Links {
    pub(crate) fn put(&self, request: &Request) -> Reply {
        self.store(request);
        Reply::Answer(201, String::new())
    }

    pub(crate) fn store(&self, request: &Request) {
        self.0.lock().unwrap().insert(request.query("short"), request.query("long"));
    }

    pub(crate) fn get(&self, request: &Request) -> Reply {
        match self.0.lock().unwrap().get(request.path.trim_start_matches('/')) {
            Some(target) => Reply::Answer(307, target.clone()),
            None => Reply::Answer(404, String::new()),
        }
    }

    /// Handles a request as a correct server does.
    pub(crate) fn serve(&self, request: &Request) -> Reply {
        if request.is_put() { self.put(request) } else { self.get(request) }
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}
