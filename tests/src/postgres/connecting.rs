//! Who is connected to, and how that is kept from others: TLS by libpq's words, refusals, and servers that say nothing.

use std::io::Read as _;
use std::io::Write as _;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use wasmhost::flow::Host;
use wasmhost::flow::Roots;
use wasmhost::flow::Sensitive;
use wasmhost::flow::Server;
use wasmhost::flow::Tls;

use super::address;
use super::query;
use super::server::fixture;
use super::server::server;
use super::shown;
use super::source_at;

const IS_ENCRYPTED: &str = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";

fn check(change: impl FnOnce(&mut Server), right: &str) {
    let mut server = address();
    change(&mut server);
    let told = shown(&source_at(server.clone(), query(IS_ENCRYPTED)), 9);
    assert_eq!(told, right, "{server:?}");
}

fn authority(name: &str) -> Roots {
    Roots::File(fixture(name))
}

fn by_name(server: &mut Server) {
    server.host = Host::Name("localhost".to_owned());
}

/// A server that answers each connection with these bytes, then waits for the end of it.
fn answering(bytes: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        while let Ok((mut connection, _)) = listener.accept() {
            thread::spawn(move || {
                let mut asked = [0; 64];
                let _ = connection.read(&mut asked);
                let _ = connection.write_all(bytes);
                while connection.read(&mut asked).is_ok_and(|bytes| bytes > 0) {}
            });
        }
    });
    port
}

#[test]
fn servers_that_cannot_be_trusted_are_refused_with_the_way_out() {
    let untrusted = "the server's certificate is not trusted: ";
    let way = "[wrong-value]\n  hint: `sslrootcert=FILE` names the certificates of who signs the server's; `sslmode=require` encrypts without asking who answers";
    let stranger = format!(
        "flow.yaml: source: `DIR`: {untrusted}invalid peer certificate: UnknownIssuer {way}"
    );
    check(|server| server.tls = Tls::VerifyFull(authority("stranger.crt")), &stranger);
    check(|server| server.tls = Tls::VerifyCa(authority("stranger.crt")), &stranger);
    // Nobody whom the system trusts has signed it either.
    let told = {
        let mut server = address();
        (server.tls, server.host) =
            (Tls::VerifyFull(Roots::System {}), Host::Name("localhost".to_owned()));
        shown(&source_at(server, query(IS_ENCRYPTED)), 9)
    };
    assert!(told.contains("[wrong-value]\n  hint: "), "{told}");
    let mut other_name = address();
    other_name.tls = Tls::VerifyFull(authority("authority.crt"));
    let told = shown(&source_at(other_name, query(IS_ENCRYPTED)), 9);
    assert!(
        told.contains(untrusted) && told.contains("`sslmode=verify-ca` asks only who signed it"),
        "{told}"
    );
    for (file, what) in [
        ("nowhere.crt", "which `sslrootcert` names, cannot be read: "),
        ("server.key", "has no certificates [wrong-value]\n  hint: it holds certificates as PEM"),
    ] {
        let mut server = address();
        server.tls = Tls::VerifyFull(authority(file));
        let told = shown(&source_at(server, query(IS_ENCRYPTED)), 9);
        assert!(told.contains(file) && told.contains(what), "{told}");
    }
    let port = answering(b"N");
    check(
        |server| (server.port, server.tls) = (port, Tls::Require {}),
        "flow.yaml: source: `DIR`: the server does not offer TLS [wrong-value]\n  hint: have TLS switched on there; `sslmode=disable` sends everything readable for all on the way",
    );
}

#[test]
fn who_is_not_let_in_is_the_flows_fault_and_who_does_not_answer_is_not() {
    check(
        |server| server.password = Some(Sensitive::plain("open sesame")),
        "flow.yaml: source: `DIR`: the server refuses the connection: password authentication failed for user (the user) [wrong-value]\n  hint: `user` and `password` have to be those of the server",
    );
    check(
        |server| server.password = None,
        "flow.yaml: source: `DIR`: the server asks for what the flow does not give: invalid configuration: password missing [wrong-value]\n  hint: give the connection a `password`, best as a secret",
    );
    check(
        |server| server.database = "shopp".to_owned(),
        "flow.yaml: source: `DIR`: the server refuses the connection: database \"shopp\" does not exist [wrong-value]\n  hint: the part of `url` after the last `/` names the database",
    );
    // Nobody listens there any more.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    check(
        |server| server.port = port,
        "DIR: cannot connect: error connecting to server: Connection refused (os error 111)",
    );
    let told = {
        let mut server = address();
        server.host = Host::Name("no-such-host.invalid".to_owned());
        shown(&source_at(server, query(IS_ENCRYPTED)), 9)
    };
    assert!(told.starts_with("DIR: cannot connect: "), "{told}");
    let (port, begun) = (answering(b""), Instant::now());
    check(
        |server| (server.port, server.connect_time_max) = (port, Duration::from_secs(1)),
        "DIR: cannot connect: there is no answer within 1 s",
    );
    assert!(begun.elapsed() < Duration::from_secs(10));
    let port = answering(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    let mut server = address();
    server.port = port;
    let told = shown(&source_at(server, query(IS_ENCRYPTED)), 9);
    assert!(told.starts_with("DIR: cannot connect: "), "{told}");
}

#[test]
fn each_mode_encrypts_and_asks_what_it_says() {
    let (yes, no) = ("ssl Boolean\nquery#1: true", "ssl Boolean\nquery#1: false");
    check(|_| {}, no);
    check(|server| server.tls = Tls::Prefer {}, yes);
    check(|server| server.tls = Tls::Require {}, yes);
    check(|server| server.tls = Tls::VerifyCa(authority("authority.crt")), yes);
    check(
        |server| {
            by_name(server);
            server.tls = Tls::VerifyFull(authority("authority.crt"));
        },
        yes,
    );
    // On a socket nobody is on the way.
    check(
        |server| {
            server.host = Host::Socket(self::server().folder.clone());
            server.tls = Tls::VerifyFull(authority("authority.crt"));
            server.password = None;
        },
        no,
    );
}
