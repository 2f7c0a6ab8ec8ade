//! Stores that are asked by nobody, or by the machine's identity: what goes out, told by a server that writes down who asks.

use std::collections::BTreeSet;
use std::io::BufRead as _;
use std::io::BufReader;
use std::io::Write as _;
use std::net::TcpListener;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::Mutex;
use std::thread;

use crate::run::Stage;
use crate::run::books::count;

const ROWS: &str = "k,v\n1,a\n2,b\n";

/// A server that has one object under any name, and lets nobody list what is `open`, gives out one token, and knows who asked for the object, until the process ends.
struct Recorder {
    address: String,
    asked: Arc<Mutex<BTreeSet<String>>>,
}

impl Recorder {
    fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<BTreeSet<String>>> = Arc::default();
        let shared = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that goes away is no failure of the test.
                let _ = answer(stream, &shared);
            }
        });
        Self { address, asked }
    }
}

fn answer(mut client: TcpStream, asked: &Mutex<BTreeSet<String>>) -> std::io::Result<()> {
    let mut head = String::new();
    let mut reader = BufReader::new(client.try_clone()?);
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head)? > 0 {}
    let header = |wanted: &str| {
        let mut pairs = head.lines().filter_map(|line| line.split_once(": "));
        pairs.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value)
    };
    let path = head.split(' ').nth(1).unwrap_or_default();
    // Public objects may be read by whoever knows their names, and some stores say then that there is nothing to list.
    let refusal = match path.starts_with("/open?") {
        true if path.contains("list-type=2") => Some("403 Forbidden"),
        true if path.contains("comp=list") => Some("404 Not Found"),
        true | false => None,
    };
    let body = if path.starts_with("/identity") {
        let is_ours = header("x-identity-header") == Some("geheim-header")
            && path.contains("client_id=chosen");
        let token = if is_ours { "geheim-token" } else { "" };
        format!(
            "{{\"access_token\":\"{token}\",\"expires_on\":\"4102444800\",\"resource\":\"x\",\"token_type\":\"Bearer\"}}"
        )
    } else {
        let by_url = path.contains("sig=").then_some("whoever has the URL");
        let who = header("authorization").or(by_url).unwrap_or("nobody");
        asked.lock().unwrap().insert(who.to_owned());
        // Nothing lies below the object.
        if refusal.is_some() {
            "<Error><Message>geheim</Message></Error>".to_owned()
        } else if path.contains("list-type=2") {
            "<ListBucketResult></ListBucketResult>".to_owned()
        } else if path.contains("comp=list") {
            "<EnumerationResults><Blobs></Blobs></EnumerationResults>".to_owned()
        } else {
            ROWS.to_owned()
        }
    };
    // All of it whatever range is asked for, which is all of it.
    let (status, range) = match header("range") {
        Some(_) => {
            let (last, size) = (body.len() - 1, body.len());
            ("206 Partial Content", format!("Content-Range: bytes 0-{last}/{size}\r\n"))
        }
        None => (refusal.unwrap_or("200 OK"), String::new()),
    };
    let shown = if head.starts_with("HEAD") { "" } else { body.as_str() };
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\n{range}ETag: \"e\"\r\nLast-Modified: Sun, 01 Nov 2026 00:00:00 GMT\r\n\
         Connection: close\r\n\r\n{shown}",
        body.len()
    )
}

/// A source in such a store is read, and this is who asked.
fn asks(url: &str, storage: &str, env: &[(&str, &str)], who: &str) {
    let recorder = Recorder::start();
    let flow = format!(
        "name: f\nconnections:\n  there: {{ storage: {{ endpoint: '{}', allow_http: true, {storage}retries: 0 }} }}\n\
         source: {{ connection: there, format: csv, path: '{url}' }}\n\
         destination: {{ name: t, format: csv, path: out }}\n",
        recorder.address
    );
    let mut stage = Stage::new(&[("f.yaml", &flow)]);
    stage.env.push(("HOME".to_owned(), stage.path("").display().to_string()));
    for (name, value) in env {
        stage.env.push(((*name).to_owned(), value.replace("ADDRESS", &recorder.address)));
    }
    let (code, evidence, said) = stage.run("f.yaml", &[]);
    assert_eq!(code, 0, "{url}: {said}");
    assert_eq!(count(&evidence, "/destinations/0/rows_written"), 2, "{url}: {evidence}");
    let asked: Vec<_> = recorder.asked.lock().unwrap().iter().cloned().collect();
    assert_eq!(asked, [who], "{url}");
    assert!(!format!("{said}{evidence}").contains("geheim"), "{said}{evidence}");
}

#[test]
fn anonymous_stores_are_asked_by_nobody_whatever_the_environment_has() {
    for (url, env) in [
        ("s3://open/in.csv", ["AWS_ACCESS_KEY_ID=geheim", "AWS_SECRET_ACCESS_KEY=geheim"]),
        ("s3://open/in.csv", ["AWS_WEB_IDENTITY_TOKEN_FILE=none", "AWS_ROLE_ARN=geheim"]),
        ("s3://open/in.csv", ["AWS_EC2_METADATA_DISABLED=true", "AWS_ACCESS_KEY_ID=geheim"]),
        ("gs://open/in.csv", ["GOOGLE_SERVICE_ACCOUNT=none", "GOOGLE_SERVICE_ACCOUNT_KEY=geheim"]),
        ("gs://open/in.csv", ["GOOGLE_APPLICATION_CREDENTIALS=none", "GOOGLE_SERVICE_ACCOUNT="]),
        (
            "az://open/in.csv",
            ["AZURE_STORAGE_ACCOUNT_NAME=a", "AZURE_STORAGE_ACCOUNT_KEY=Z2VoZWlt"],
        ),
        (
            "az://open/in.csv",
            ["AZURE_STORAGE_ACCOUNT_NAME=a", "AZURE_STORAGE_SAS_TOKEN=sig=geheim"],
        ),
    ] {
        asks(url, "anonymous: true, ", &env.map(|pair| pair.split_once('=').unwrap()), "nobody");
    }
    // Files of profiles are not even looked at.
    for config in ["/dev/null/config", "/"] {
        asks("s3://open/in.csv", "anonymous: true, ", &[("AWS_CONFIG_FILE", config)], "nobody");
    }
}

#[test]
fn an_environment_that_skips_signatures_does_so_for_connections_without_credentials_alone() {
    for (url, storage, env, who) in [
        ("s3://open/in.csv", "", ["AWS_SKIP_SIGNATURE=true", "AWS_ACCESS_KEY_ID=geheim"], "nobody"),
        (
            "az://open/in.csv",
            "",
            ["AZURE_SKIP_SIGNATURE=1", "AZURE_STORAGE_ACCOUNT_NAME=a"],
            "nobody",
        ),
        (
            "gs://open/in.csv",
            "",
            ["GOOGLE_SKIP_SIGNATURE=yes", "GOOGLE_APPLICATION_CREDENTIALS=none"],
            "nobody",
        ),
        (
            "az://closed/in.csv",
            "sas_token: 'sig=geheim', ",
            ["AZURE_SKIP_SIGNATURE=true", "AZURE_STORAGE_ACCOUNT_NAME=a"],
            "whoever has the URL",
        ),
    ] {
        asks(url, storage, &env.map(|pair| pair.split_once('=').unwrap()), who);
    }
}

#[test]
fn azure_is_asked_by_the_managed_identity_of_an_app() {
    let env = [
        ("AZURE_STORAGE_ACCOUNT_NAME", "a"),
        ("AZURE_CLIENT_ID", "chosen"),
        ("IDENTITY_ENDPOINT", "ADDRESS/identity"),
        ("IDENTITY_HEADER", "geheim-header"),
    ];
    asks("az://closed/in.csv", "", &env, "Bearer geheim-token");
}
