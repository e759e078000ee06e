//! A small HTTP/1 client that sends exactly the bytes that a test specifies, valid or not.

use std::{
    borrow::Borrow,
    fmt::Write as _,
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::{IpAddr, Shutdown, SocketAddr, TcpStream},
    sync::Barrier,
    thread,
    time::Duration,
};

use serde_json::Value;
use socket2::{Domain, Socket, Type};

/// The timeout of connects, reads and writes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Bytes of the request that a failed assertion shows.
const ASKED_SHOWN: usize = 1_000;

/// A request under construction.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    address: SocketAddr,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// A complete response.
#[derive(Debug, Clone)]
pub(crate) struct Response {
    /// The beginning of the request.
    asked: String,
    /// Status code.
    pub(crate) status: u16,
    /// Headers, names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// Body, without transfer encoding.
    pub(crate) body: Vec<u8>,
}

/// A connection.
pub(crate) struct HttpConnection {
    reader: BufReader<TcpStream>,
}

impl Request {
    /// A request with only a `Host` header, and without a body.
    pub(crate) fn new(address: SocketAddr, method: &str, path: &str) -> Self {
        Self {
            address,
            method: method.to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a bearer token: a session token, an API key or a manage key.
    pub(crate) fn bearer(self, key: &str) -> Self {
        self.header("Authorization", &format!("Bearer {key}"))
    }

    /// Adds a bearer token, if there is one.
    pub(crate) fn bearer_if(self, key: Option<&str>) -> Self {
        if let Some(key) = key { self.bearer(key) } else { self }
    }

    /// Adds an `Idempotency-Key`.
    pub(crate) fn idempotency_key(self, key: &str) -> Self {
        self.header("Idempotency-Key", key)
    }

    /// Adds the `Accept` header of a browser.
    pub(crate) fn browser(self) -> Self {
        self.header("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
    }

    /// Adds the session cookie.
    pub(crate) fn session(self, token: &str) -> Self {
        self.header("Cookie", &format!("lodge_session={token}"))
    }

    /// Adds the header with which a proxy on this machine forwards a request from `address`.
    pub(crate) fn from(self, address: &str) -> Self {
        self.header("X-Forwarded-For", address)
    }

    /// Sets a JSON body.
    pub(crate) fn json(self, body: impl Borrow<Value>) -> Self {
        self.header("Content-Type", "application/json").body(body.borrow().to_string())
    }

    /// Sets a URL-encoded form as the body.
    pub(crate) fn form(self, body: &str) -> Self {
        self.header("Content-Type", "application/x-www-form-urlencoded").body(body)
    }

    /// Sets a multipart form as the body: name, file name if it is a file, and content of each part.
    pub(crate) fn parts(self, parts: &[(&str, Option<&str>, &[u8])]) -> Self {
        let mut body = Vec::new();
        for (name, file, content) in parts {
            let file = file.map_or_else(String::new, |file| format!("; filename=\"{file}\""));
            let head =
                format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n");
            body.extend([head.as_bytes(), content, b"\r\n"].concat());
        }
        body.extend(b"--x--\r\n");
        self.header("Content-Type", "multipart/form-data; boundary=x").body(body)
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Serialises the request.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        let has =
            |wanted: &str| self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
        if !has("host") {
            let _ = write!(head, "Host: {}\r\n", self.address);
        }
        if !self.body.is_empty() && !has("content-length") && !has("transfer-encoding") {
            let _ = write!(head, "Content-Length: {}\r\n", self.body.len());
        }
        for (name, value) in &self.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        head.push_str("\r\n");
        [head.into_bytes(), self.body.clone()].concat()
    }

    /// Sends the request on a new connection.
    pub(crate) fn send(&self) -> Response {
        self.try_send().unwrap_or_else(|error| panic!("{} {}: {error}", self.method, self.path))
    }

    /// Like [`Self::send`], for a server that may be down.
    pub(crate) fn try_send(&self) -> io::Result<Response> {
        self.on(&mut HttpConnection::connect(self.address)?)
    }

    /// Sends the request from a local address.
    pub(crate) fn send_from(&self, source: &str) -> Response {
        self.on(&mut HttpConnection::connect_from(source, self.address)).unwrap()
    }

    /// Sends the request and asserts the status of the response.
    #[track_caller]
    pub(crate) fn expect(&self, status: u16) -> Response {
        self.send().expect(status)
    }

    /// Sends the request on a new connection. Returns the connection and the head of the response.
    pub(crate) fn begin(&self) -> (HttpConnection, Response) {
        self.begin_on(HttpConnection::connect(self.address).unwrap())
    }

    /// The same from a local address.
    pub(crate) fn begin_from(&self, source: &str) -> (HttpConnection, Response) {
        self.begin_on(HttpConnection::connect_from(source, self.address))
    }

    fn begin_on(&self, mut wire: HttpConnection) -> (HttpConnection, Response) {
        wire.write(&self.bytes()).unwrap();
        let head = wire.read_head().unwrap();
        (wire, head)
    }

    /// Sends the request on `count` connections at the same time, after all of them are open.
    pub(crate) fn at_once(&self, count: usize) -> Vec<Response> {
        let start = Barrier::new(count);
        let send = || {
            let mut wire = HttpConnection::connect(self.address).unwrap();
            start.wait();
            self.on(&mut wire).unwrap()
        };
        thread::scope(|scope| {
            let all: Vec<_> = (0..count).map(|_| scope.spawn(send)).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        })
    }

    /// Sends the request on an open connection.
    pub(crate) fn on(&self, wire: &mut HttpConnection) -> io::Result<Response> {
        let bytes = self.bytes();
        wire.write(&bytes)?;
        let answer = if self.method == "HEAD" { wire.read_head() } else { wire.read() }?;
        let asked = String::from_utf8_lossy(&bytes[..bytes.len().min(ASKED_SHOWN)]).into_owned();
        Ok(Response { asked, ..answer })
    }
}

impl Response {
    /// Asserts the status.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{:?} {}\nto {}", self.headers, self.text(), self.asked);
        self
    }

    /// Asserts that the body contains a text.
    #[track_caller]
    pub(crate) fn says(&self, text: &str) -> &Self {
        assert!(self.text().contains(text), "no {text:?} in {}\nto {}", self.text(), self.asked);
        self
    }

    /// Asserts the status and a `Retry-After`. Returns its seconds.
    #[track_caller]
    pub(crate) fn expect_retry_after(&self, status: u16) -> u64 {
        let seconds = self.header("retry-after").and_then(|seconds| seconds.parse().ok());
        assert_eq!((self.status, seconds.is_some()), (status, true), "{self:?}");
        seconds.unwrap()
    }

    /// Asserts the status and the invalid field of the problem details.
    #[track_caller]
    pub(crate) fn expect_field_error(&self, status: u16, field: &str) {
        let named = self.json()["field"].clone();
        assert_eq!((self.status, named.as_str()), (status, Some(field)), "{self:?}");
    }

    /// Asserts the status and the `Location`.
    #[track_caller]
    pub(crate) fn leads_to(&self, status: u16, location: &str) {
        assert_eq!(self.leads(), (status, Some(location)), "{}\nto {}", self.text(), self.asked);
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the `Location`.
    pub(crate) fn location(&self) -> Option<&str> {
        self.header("location")
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error} in {}", self.text()))
    }

    /// Returns status and `Location`, to compare.
    pub(crate) fn leads(&self) -> (u16, Option<&str>) {
        (self.status, self.location())
    }
}

/// Returns the text between the first `before` and the next `after`.
pub(crate) fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split_once(before)?.1.split_once(after).map(|(found, _)| found)
}

/// Returns the field `name` of each item of a JSON list.
pub(crate) fn each(list: &Value, name: &str) -> Vec<Value> {
    list.as_array().unwrap().iter().map(|item| item[name].clone()).collect()
}

/// Asserts that a JSON object has these fields; it may have more.
#[track_caller]
pub(crate) fn assert_fields(found: &Value, wanted: impl Borrow<Value>) {
    for (name, value) in wanted.borrow().as_object().unwrap() {
        assert_eq!(&found[name], value, "{name} of {found}");
    }
}

impl HttpConnection {
    /// Connects, with timeouts set.
    pub(crate) fn connect(address: SocketAddr) -> io::Result<Self> {
        Self::over(TcpStream::connect_timeout(&address, PATIENCE)?)
    }

    /// Connects from a local address; the system has many on loopback, such as 127.0.0.2.
    pub(crate) fn connect_from(source: &str, address: SocketAddr) -> Self {
        let source = SocketAddr::new(source.parse::<IpAddr>().unwrap(), 0);
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).unwrap();
        socket.bind(&source.into()).unwrap();
        socket.connect_timeout(&address.into(), PATIENCE).unwrap();
        Self::over(socket.into()).unwrap()
    }

    /// Whether the server has read, or dropped, everything that was sent.
    pub(crate) fn is_received(&self) -> bool {
        let port = self.reader.get_ref().local_addr().unwrap().port();
        let port = format!(":{port:04X}");
        // A number, the own address, that of the other end, a state, and the lengths of both queues.
        let queue = |socket: &str| -> Option<String> {
            let [own, other, _, queues] =
                socket.split_whitespace().skip(1).take(4).collect::<Vec<_>>().try_into().ok()?;
            let (unsent, unread): (&str, &str) = queues.split_once(':')?;
            let of_server = other.ends_with(&port).then_some(unread);
            own.ends_with(&port).then_some(unsent).or(of_server).map(str::to_owned)
        };
        let sockets = fs::read_to_string("/proc/net/tcp").unwrap();
        sockets.lines().filter_map(queue).all(|length| length == "00000000")
    }

    fn over(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { reader: BufReader::new(stream) })
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        self.reader.get_ref()
    }

    /// Sends raw bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.reader.get_mut().write_all(bytes)
    }

    /// Shuts down the sending side.
    pub(crate) fn finish(&self) {
        let _ = self.stream().shutdown(Shutdown::Write);
    }

    /// Reads a response.
    pub(crate) fn read(&mut self) -> io::Result<Response> {
        let mut answer = self.read_head()?;
        if answer.status < 200 || matches!(answer.status, 204 | 304) {
            return Ok(answer);
        }
        let chunked = answer.header("transfer-encoding") == Some("chunked");
        let length = answer.header("content-length").and_then(|length| length.parse().ok());
        answer.body = match length {
            _ if chunked => self.read_chunks()?,
            Some(length) => self.read_exactly(length)?,
            None => self.read_to_end()?,
        };
        Ok(answer)
    }

    /// Reads the head of a response.
    pub(crate) fn read_head(&mut self) -> io::Result<Response> {
        let first = self.read_line()?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("no status in {first:?}")))?;
        let mut headers = Vec::new();
        loop {
            let line = self.read_line()?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
        Ok(Response { asked: String::new(), status, headers, body: Vec::new() })
    }

    /// Reads until the server closes the connection.
    pub(crate) fn read_to_end(&mut self) -> io::Result<Vec<u8>> {
        let mut rest = Vec::new();
        self.reader.read_to_end(&mut rest)?;
        Ok(rest)
    }

    fn read_line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 || !line.ends_with('\n') {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }

    fn read_exactly(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.reader.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn read_chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut whole = Vec::new();
        loop {
            let chunk = self.read_chunk()?;
            if chunk.is_empty() {
                return Ok(whole);
            }
            whole.extend(chunk);
        }
    }

    /// Reads the next chunk of a chunked body; the last is empty.
    pub(crate) fn read_chunk(&mut self) -> io::Result<Vec<u8>> {
        let length = usize::from_str_radix(&self.read_line()?, 16).map_err(io::Error::other)?;
        let chunk = self.read_exactly(length)?;
        self.read_line()?;
        Ok(chunk)
    }
}
