//! A real S3 server, one for all tests: moto, from PyPI, in an environment that `cargo xtask setup` makes.

use std::fs::File;
use std::io::BufRead as _;
use std::io::BufReader;
use std::io::Read as _;
use std::io::Write as _;
use std::net::TcpStream;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

/// The server's port on loopback.
pub(super) fn port() -> u16 {
    static SERVER: OnceLock<(Child, u16)> = OnceLock::new();
    let start = || {
        let python = std::env::var_os("WASMHOST_TEST_PYTHON").expect(
            "WASMHOST_TEST_PYTHON names a Python with moto; `cargo xtask test` makes one and sets it",
        );
        // It complains of clients that go away; what it says is kept for whoever looks for it.
        let log = File::create(concat!(env!("CARGO_TARGET_TMPDIR"), "/s3.log")).unwrap();
        // It ends when this process does: its input is a pipe that nobody else holds.
        let mut server = Command::new(python)
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/servers/s3.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let lines = BufReader::new(server.stdout.take().unwrap()).lines();
        // The library says that it starts.
        let port = lines.map_while(Result::ok).find_map(|line| line.trim().parse().ok());
        (server, port.expect("the S3 server says its port"))
    };
    SERVER.get_or_init(start).1
}

/// A new bucket.
pub(super) fn bucket() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!("bucket-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let (status, body) = request("PUT", &format!("/{name}"), b"");
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
    name
}

/// Puts an object.
pub(super) fn put(bucket: &str, key: &str, bytes: &[u8]) {
    let (status, body) = request("PUT", &format!("/{bucket}/{}", encoded(key)), bytes);
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
}

/// Deletes an object.
pub(super) fn delete(bucket: &str, key: &str) {
    let (status, body) = request("DELETE", &format!("/{bucket}/{}", encoded(key)), b"");
    assert_eq!(status, 204, "{}", String::from_utf8_lossy(&body));
}

/// An object's bytes.
pub(super) fn get(bucket: &str, key: &str) -> Vec<u8> {
    let (status, body) = request("GET", &format!("/{bucket}/{}", encoded(key)), b"");
    assert_eq!(status, 200, "{key}: {}", String::from_utf8_lossy(&body));
    body
}

/// A key in a URL's path.
fn encoded(key: &str) -> String {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"/-_.~=".contains(b);
    key.bytes()
        .map(|b| if plain(&b) { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect()
}

/// The keys of a bucket.
pub(super) fn keys(bucket: &str) -> Vec<String> {
    let (_, body) = request("GET", &format!("/{bucket}?list-type=2&max-keys=1000"), b"");
    let text = String::from_utf8(body).unwrap();
    let keys = text.split("<Key>").skip(1).filter_map(|rest| rest.split("</Key>").next());
    keys.map(|key| key.replace("&amp;", "&")).collect()
}

fn request(method: &str, path: &str, body: &[u8]) -> (u16, Vec<u8>) {
    let mut stream = TcpStream::connect(("127.0.0.1", port())).unwrap();
    // The server looks at the form of a signature only.
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Length: {}\r\nAuthorization: AWS4-HMAC-SHA256 \
         Credential=test/20260801/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0\r\nConnection: close\r\n\r\n",
        port(),
        body.len()
    )
    .unwrap();
    stream.write_all(body).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let status = std::str::from_utf8(&answer[..head]).unwrap().split(' ').nth(1).unwrap();
    (status.parse().unwrap(), answer[head + 4..].to_vec())
}
