//! A proxy before the S3 server that loses what it is told to lose: a request before the store acted, or the answer after it did.

use std::collections::BTreeSet;
use std::io::BufRead as _;
use std::io::BufReader;
use std::io::Read as _;
use std::io::Write as _;
use std::net::TcpListener;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::Mutex;
use std::thread;

use super::server;

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The store never sees it, and says 503.
    Refused,
    /// The store never sees it, and says 403.
    Forbidden,
    /// The store never sees it; the connection ends without an answer.
    Swallowed,
    /// The store acts; the answer is a 500.
    AnsweredWrong,
    /// The store acts; the connection ends without an answer.
    Dropped,
    /// The store acts; its answer ends in the middle of its body.
    Cut,
    /// The connection ends without an answer; the store sees the request when the next one for the same object comes, before that.
    Late,
}

/// A request that is lost: the `nth` of a method, any where it is empty, whose path has this in it, from 1; all of them from there on
/// where it is lasting.
#[derive(Debug, Clone)]
pub(super) struct Loss {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) nth: usize,
    pub(super) lasts: bool,
    /// What is refused for good once this was lost: requests whose path has this in it.
    pub(super) then: Option<&'static str>,
    pub(super) fault: Fault,
}

/// A proxy that runs until the process ends.
pub(super) struct Proxy {
    pub(super) port: u16,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    loss: Option<Loss>,
    seen: usize,
    lost: usize,
    /// Who signed requests, `key id/region`.
    signers: BTreeSet<String>,
    /// The tokens of temporary credentials that came along.
    tokens: BTreeSet<String>,
    /// What the store has not seen yet: the object, and the request.
    late: Option<(String, Vec<u8>)>,
}

impl Proxy {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                thread::spawn(move || {
                    // A client that goes away is no failure of the test.
                    let _ = serve(stream, &state);
                });
            }
        });
        Self { port, state }
    }

    /// Loses this from now on; how often it did so before.
    pub(super) fn lose(&self, loss: Option<Loss>) -> usize {
        let mut state = self.state.lock().unwrap();
        let lost = state.lost;
        *state = State { loss, late: state.late.take(), ..State::default() };
        lost
    }

    /// Who has signed requests, `key id/region`, since this was asked last.
    pub(super) fn signers(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.state.lock().unwrap().signers)
    }

    /// The tokens that requests have had.
    pub(super) fn tokens(&self) -> Vec<String> {
        self.state.lock().unwrap().tokens.iter().cloned().collect()
    }
}

/// Who signed, of a header: `AWS4-HMAC-SHA256 Credential=key id/day/region/s3/aws4_request, …`.
fn signer(header: &str) -> Option<String> {
    let mut scope = header.split_once("Credential=")?.1.split('/');
    let (key_id, region) = (scope.next()?, scope.nth(1)?);
    Some(format!("{key_id}/{region}"))
}

/// One request a connection.
fn serve(mut client: TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let header = |name: &str| {
        head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let length = header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    if header("expect").is_some() {
        client.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let (method, path) = {
        let mut words = head.split(' ');
        // Queries of listings have their slashes encoded.
        let mut word = || words.next().unwrap_or_default().replace("%2F", "/");
        (word(), word())
    };
    let fault = {
        let mut state = state.lock().unwrap();
        state.signers.extend(header("authorization").as_deref().and_then(signer));
        state.tokens.extend(header("x-amz-security-token"));
        let loss = state.loss.clone();
        let then = loss.as_ref().filter(|_| state.lost > 0).and_then(|loss| loss.then);
        let refused = then.filter(|part| path.contains(part)).map(|_| Fault::Refused);
        let is_hit = |loss: &Loss| {
            (loss.method == method || loss.method.is_empty()) && path.contains(loss.path)
        };
        let hit = loss.filter(is_hit);
        let lost = hit.and_then(|loss| {
            state.seen += 1;
            let is_lost = state.seen == loss.nth || loss.lasts && state.seen > loss.nth;
            is_lost.then_some(loss.fault)
        });
        let fault = refused.or(lost);
        state.lost += usize::from(fault.is_some());
        fault
    };
    const NOTHING: &str = "Content-Length: 0\r\nConnection: close\r\n\r\n";
    if fault == Some(Fault::Refused) {
        return client.write_all(format!("HTTP/1.1 503 Slow Down\r\n{NOTHING}").as_bytes());
    }
    if fault == Some(Fault::Forbidden) {
        return client.write_all(format!("HTTP/1.1 403 Forbidden\r\n{NOTHING}").as_bytes());
    }
    if fault == Some(Fault::Swallowed) {
        return Ok(());
    }
    let kept = head.lines().filter(|line| {
        let name = line.split(':').next().unwrap_or_default();
        !line.is_empty() && !name.eq_ignore_ascii_case("connection")
    });
    let head = kept.fold(String::new(), |head, line| head + line + "\r\n");
    let request = [(head + "Connection: close\r\n\r\n").as_bytes(), &body].concat();
    if fault == Some(Fault::Late) {
        state.lock().unwrap().late = Some((path, request));
        return Ok(());
    }
    let late = state.lock().unwrap().late.take_if(|(late, _)| method == "PUT" && *late == path);
    if let Some((_, request)) = late {
        let _ = answered(&request)?;
    }
    let answer = answered(&request)?;
    match fault {
        Some(Fault::AnsweredWrong) => {
            client.write_all(format!("HTTP/1.1 500 Internal Server Error\r\n{NOTHING}").as_bytes())
        }
        Some(Fault::Dropped) => Ok(()),
        Some(Fault::Cut) => client.write_all(&answer[..answer.len() - answer.len().min(20)]),
        Some(Fault::Refused | Fault::Forbidden | Fault::Swallowed | Fault::Late) | None => {
            client.write_all(&answer)
        }
    }
}

/// What the store answers.
fn answered(request: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut store = TcpStream::connect(("127.0.0.1", server::port()))?;
    store.write_all(request)?;
    let mut answer = Vec::new();
    store.read_to_end(&mut answer)?;
    Ok(answer)
}
