//! Whose credentials a store is asked with: the connection's, the environment's, a profile's, the machine's; by what arrives there.

use std::io::BufRead as _;
use std::io::BufReader;
use std::io::Write as _;
use std::net::TcpListener;
use std::net::TcpStream;
use std::thread;

use super::FIRST;
use super::flow;
use super::proxy::Proxy;
use super::server;
use super::server::bucket;
use crate::run::Ran;
use crate::run::Stage;

/// No output may have this: all values of profiles have it in them.
const LEAK: &str = "geheim";

const CREDENTIALS: &str = "[default]\naws_access_key_id = geheimDEFAULT\naws_secret_access_key = geheim/+1\n\n\
     [work]\naws_access_key_id = geheimWORK\naws_secret_access_key = geheim/+2\naws_session_token = geheim/+3\n";

const CONFIG: &str = "[default]\nregion = eu-west-1\ns3 =\n  region = nested\n[profile work]\nregion = eu-west-2\n\
     [profile assumed]\nrole_arn = geheim\nsource_profile = work\n[profile sso]\nsso_session = geheim\nregion = eu-west-3\n\
     [profile cut]\naws_access_key_id = geheimCUT\n[profile bare]\nregion = eu-west-4\n\
     [profile here]\nservices = here\naws_access_key_id = geheimHERE\naws_secret_access_key = geheim\n\
     [services here]\ns3 =\n  endpoint_url = ENDPOINT\n\
     [profile quoted]\nregion = \"geheim-west-1\"\naws_access_key_id = geheimQ\naws_secret_access_key = geheim\n\
     [profile nowhere]\nendpoint_url = geheim\naws_access_key_id = geheimN\naws_secret_access_key = geheim\n\
     [profile lost]\nservices = lost\nregion = eu-west-5\naws_access_key_id = geheimL\naws_secret_access_key = geheim\n\
     [profile fips]\nuse_fips_endpoint = true\naws_access_key_id = geheimF\naws_secret_access_key = geheim\n\
     [profile cloud]\nignore_configured_endpoint_urls = true\nendpoint_url = geheim\naws_access_key_id = geheimC\n\
     aws_secret_access_key = geheim\nregion = eu west\n";

const ENV_KEYS: &[(&str, &str)] =
    &[("AWS_ACCESS_KEY_ID", "geheimENV"), ("AWS_SECRET_ACCESS_KEY", "geheim-env")];

const WEB_IDENTITY: &[(&str, &str)] =
    &[("AWS_WEB_IDENTITY_TOKEN_FILE", "no-such-token"), ("AWS_ROLE_ARN", "arn:aws:iam::1:role/r")];

/// A flow into a bucket, by a proxy that sees who signs, in a home with profiles.
struct Home {
    stage: Stage,
    proxy: Proxy,
    bucket: String,
}

/// `storage` beside what every case has; `ENDPOINT` stands for the server there and in the environment's values, `HOME` for the folder.
fn home(storage: &str, env: &[(&str, &str)]) -> Home {
    let (proxy, bucket) = (Proxy::start(), bucket());
    let endpoint = format!("http://127.0.0.1:{}", proxy.port);
    let connection = format!(
        "{{ format: delta, base_path: 's3://{bucket}/lake', storage: {{ {}timeout: 10 seconds, retries: 0 }} }}",
        storage.replace("ENDPOINT", &endpoint)
    );
    let mut stage = Stage::new(&[
        ("f.yaml", &flow(&connection, "path: t")),
        ("in.csv", FIRST),
        (".aws/credentials", CREDENTIALS),
        (".aws/config", &CONFIG.replace("ENDPOINT", &endpoint)),
        ("elsewhere", "[work]\naws_access_key_id = geheimELSE\naws_secret_access_key = geheim\n"),
        ("broken", "[profile work]\nregion = r\ngeheim\n[default]\nregion = r\n"),
        ("none-of-these", "[profile work\n"),
        ("token", "geheim-token"),
    ]);
    let folder = stage.path("").display().to_string();
    // Nobody's real profiles, and no service of a real machine.
    stage.env.push(("HOME".to_owned(), folder.clone()));
    stage.env.push(("AWS_METADATA_ENDPOINT".to_owned(), "http://127.0.0.1:9".to_owned()));
    for (name, value) in env {
        let value = value.replace("ENDPOINT", &endpoint).replace("HOME/", &folder);
        stage.env.push(((*name).to_owned(), value));
    }
    Home { stage, proxy, bucket }
}

const SERVER: &str = "endpoint: 'ENDPOINT', allow_http: true, ";

/// A run signs as this one, `key id/region`, and nothing that is said shows it.
fn signs(storage: &str, env: &[(&str, &str)], signer: &str) {
    let case = format!("{storage} {env:?}");
    let Home { stage, proxy, bucket } = home(storage, env);
    for args in [&["explain", "f.yaml", "--json"][..], &["run", "f.yaml", "--json"]] {
        let ran = stage.command(args);
        assert_eq!(ran.code, 0, "{case}: {}", ran.stderr);
        let signers: Vec<_> = proxy.signers().into_iter().collect();
        assert_eq!(signers, [signer], "{case}");
        shows_nothing(&case, &ran);
    }
    assert_ne!(server::keys(&bucket), [""; 0], "{case}");
}

/// A run ends with this before anything is asked of the store; the flow itself is well.
fn refused(storage: &str, env: &[(&str, &str)], says: &[&str]) {
    let case = format!("{storage} {env:?}");
    let Home { stage, proxy, bucket } = home(storage, env);
    assert_eq!(stage.command(&["check", "f.yaml"]).code, 0, "{case}");
    for args in [&["explain", "f.yaml"][..], &["run", "f.yaml"], &["run", "f.yaml", "--json"]] {
        let ran = stage.command(args);
        assert_eq!(ran.code, 2, "{case} {args:?}: {}", ran.stderr);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(says.iter().all(|says| said.contains(says)), "{case} {args:?}: {said}");
        shows_nothing(&case, &ran);
    }
    assert_eq!(proxy.signers().len(), 0, "{case}");
    assert_eq!(server::keys(&bucket), [""; 0], "{case}");
}

fn shows_nothing(case: &str, ran: &Ran) {
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(!said.contains(LEAK), "{case}: {said}");
}

#[test]
fn a_profile_that_cannot_be_used_is_refused_by_name_and_place() {
    refused(
        &format!("{SERVER}profile: absent, "),
        ENV_KEYS,
        &["there is no profile `absent`, which `profile` of the connection names", ".aws/config"],
    );
    let absent = [ENV_KEYS, &[("AWS_PROFILE", "absent")]].concat();
    refused(
        SERVER,
        &absent,
        &["there is no profile `absent`, which `AWS_PROFILE` names", "`[profile absent]` in"],
    );
    for (profile, says) in [
        ("assumed", "gets its credentials by `role_arn`"),
        ("assumed", "`source_profile` ("),
        ("sso", ".aws/config:11), which is not offered"),
        ("sso", "aws configure export-credentials --profile 'sso' --format env"),
        ("cut", "has `aws_access_key_id` without `aws_secret_access_key`"),
    ] {
        refused(&format!("{SERVER}profile: {profile}, "), &[], &[says]);
        refused(SERVER, &[("AWS_PROFILE", profile)], &[says]);
    }
    refused(
        SERVER,
        &[("AWS_PROFILE", "work"), ("AWS_CONFIG_FILE", "HOME/broken")],
        &["broken:3: `=` is missing"],
    );
    let whole = [ENV_KEYS, &[("AWS_CONFIG_FILE", "HOME/none-of-these")]].concat();
    refused(SERVER, &whole, &["none-of-these:1: `]` is missing"]);
    let unreadable = [".aws cannot be read", "name another file by `AWS_CONFIG_FILE`"];
    refused(SERVER, &[("AWS_CONFIG_FILE", "HOME/.aws")], &unreadable);
    // Not there for whoever does not need it; somebody waits for it here.
    let nowhere = [ENV_KEYS, &[("HOME", "/dev/null"), ("AWS_PROFILE", "work")]].concat();
    refused(SERVER, &nowhere, &["/dev/null/.aws/config cannot be read: Not a directory"]);
    refused(&format!("{SERVER}profile: work, "), &nowhere[..3], &["/dev/null/.aws/config"]);
    let services = ["names `services` that are not there"];
    refused("", &[("AWS_PROFILE", "lost")], &services);
    signs(SERVER, &[("AWS_PROFILE", "lost")], "geheimL/eu-west-5");
    // As the flow's own endpoint would be.
    refused("profile: here, ", &[], &["is spoken to without TLS", "`allow_http: true`"]);
}

#[test]
fn an_endpoint_or_a_region_that_is_none_is_refused_by_name_and_place_whoever_says_it() {
    for endpoint in ["garbage", "localhost:9000", "//h", "ftp://x", "https://h:9000/a b"] {
        let says = ["`AWS_ENDPOINT_URL` of the environment is no address"];
        refused("", &[("AWS_ENDPOINT_URL", endpoint)], &says);
    }
    let nowhere = ["`endpoint_url` of the profile `nowhere` is no address", ".aws/config:29: "];
    refused("", &[("AWS_PROFILE", "nowhere")], &nowhere);
    let quoted = ["`region` of the profile `quoted` is no name of a region", ".aws/config:25: "];
    refused(&format!("{SERVER}profile: quoted, "), &[], &quoted);
    let region = ["`AWS_REGION` of the environment is no name of a region"];
    refused(SERVER, &[("AWS_REGION", "\"eu-west-1\"")], &region);
    // What is not used is not judged.
    let unused = [("AWS_REGION", "eu west"), ("AWS_ENDPOINT_URL", "garbage")];
    signs(&format!("{SERVER}region: eu-south-1, "), &unused, "geheimDEFAULT/eu-south-1");
    for machine in ["AWS_METADATA_ENDPOINT", "AWS_ENDPOINT_URL_STS"] {
        let says = format!("`{machine}` of the environment is no address");
        refused(SERVER, &[("AWS_PROFILE", "bare"), (machine, "http://h/a b")], &[&says]);
        signs(SERVER, &[(machine, "http://h/a b")], "geheimDEFAULT/eu-west-1");
    }
    let token = [ENV_KEYS, &[("AWS_SESSION_TOKEN", "geheim\ngeheim")]].concat();
    refused(SERVER, &token, &["the session token has a character in it"]);
}

#[test]
fn machines_without_credentials_of_their_own_are_told_apart_from_those_that_have_them() {
    let bare = ("AWS_PROFILE", "bare");
    refused(
        SERVER,
        &[bare, ("AWS_EC2_METADATA_DISABLED", "true")],
        &["there are no credentials", "`AWS_EC2_METADATA_DISABLED`"],
    );
    refused(
        SERVER,
        &[bare, ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:9/x")],
        &["`AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE`"],
    );
    let machine = machine();
    let uri = format!("{machine}/container");
    let container = [
        bare,
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", uri.as_str()),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "HOME/token"),
    ];
    signs(SERVER, &container, "geheimCONTAINER/eu-west-4");
    // A profile with keys comes before both.
    signs(&format!("{SERVER}profile: work, "), &container, "geheimWORK/eu-west-2");
    signs(SERVER, &[bare, ("AWS_METADATA_ENDPOINT", &machine)], "geheimINSTANCE/eu-west-4");
}

#[test]
fn keys_come_from_the_connection_then_the_environment_then_a_profile() {
    let own = format!("{SERVER}access_key_id: geheimOWN, secret_access_key: geheim, ");
    // Then files of profiles are not even opened.
    let broken = [ENV_KEYS, &[("AWS_CONFIG_FILE", "HOME/none-of-these")]].concat();
    signs(&own, &broken, "geheimOWN/us-east-1");
    signs(SERVER, ENV_KEYS, "geheimENV/eu-west-1");
    let work = ("AWS_PROFILE", "work");
    signs(SERVER, &[ENV_KEYS, &[work]].concat(), "geheimENV/eu-west-2");
    // What needs a role is not asked for where keys are there.
    signs(SERVER, &[ENV_KEYS, &[("AWS_PROFILE", "sso")]].concat(), "geheimENV/eu-west-3");
    signs(SERVER, &[work, ("AWS_ACCESS_KEY_ID", "")], "geheimWORK/eu-west-2");
    signs(SERVER, &[("AWS_EC2_METADATA_DISABLED", "true")], "geheimDEFAULT/eu-west-1");
    signs(SERVER, &[work, ("AWS_REGION", "eu-north-1")], "geheimWORK/eu-north-1");
    // A home that cannot be reached has no profiles, and other sections' mistakes are not ours.
    signs(SERVER, &[ENV_KEYS, &[("HOME", "/dev/null")]].concat(), "geheimENV/us-east-1");
    signs(SERVER, &[ENV_KEYS, &[("AWS_CONFIG_FILE", "HOME/broken")]].concat(), "geheimENV/r");
    // The environment's word against those that the connection has or names.
    let unsigned = ("AWS_SKIP_SIGNATURE", "true");
    signs(&own, &[unsigned], "geheimOWN/us-east-1");
    signs(&format!("{SERVER}profile: work, "), &[unsigned], "geheimWORK/eu-west-2");
    signs(&format!("{SERVER}anonymous: false, "), &[unsigned], "geheimDEFAULT/eu-west-1");
    let named = format!("{SERVER}profile: work, region: eu-south-1, ");
    signs(&named, &[ENV_KEYS, WEB_IDENTITY].concat(), "geheimWORK/eu-south-1");
    signs(
        SERVER,
        &[work, ("AWS_SHARED_CREDENTIALS_FILE", "~/elsewhere"), ("AWS_CONFIG_FILE", "HOME/none")],
        "geheimELSE/us-east-1",
    );
}

#[test]
fn endpoints_come_from_the_connection_then_the_environment_then_a_profile() {
    let nowhere = "http://127.0.0.1:9";
    let here = [("AWS_PROFILE", "here")];
    signs("allow_http: true, ", &here, "geheimHERE/us-east-1");
    let environment = [
        ("AWS_ENDPOINT_URL_S3", "ENDPOINT"),
        ("AWS_ENDPOINT_URL", nowhere),
        ("AWS_ALLOW_HTTP", "true"),
    ];
    signs("", &environment, "geheimDEFAULT/eu-west-1");
    signs(
        "",
        &[("AWS_ENDPOINT_URL", "ENDPOINT"), ("AWS_ALLOW_HTTP", "1")],
        "geheimDEFAULT/eu-west-1",
    );
    signs(SERVER, &[("AWS_ENDPOINT_URL_S3", nowhere)], "geheimDEFAULT/eu-west-1");
    refused("", &[("AWS_ENDPOINT_URL", "ENDPOINT")], &["is spoken to without TLS"]);
}

#[test]
fn other_services_than_the_named_one_are_refused_and_configured_endpoints_ignored_as_told() {
    let unmet = "name the service by `endpoint`";
    refused(
        "",
        &[("AWS_PROFILE", "fips")],
        &["the profile `fips` says `use_fips_endpoint`, which is not done", unmet],
    );
    for name in ["AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT"] {
        let says = format!("the environment says `{name}`, which is not done");
        refused("", &[(name, "true"), ("AWS_ENDPOINT_URL", "ENDPOINT")], &[&says, unmet]);
        signs(SERVER, &[(name, "true")], "geheimDEFAULT/eu-west-1");
    }
    signs(SERVER, &[("AWS_PROFILE", "fips")], "geheimF/us-east-1");
    let off = [("AWS_PROFILE", "fips"), ("AWS_USE_FIPS_ENDPOINT", "false")];
    refused("", &[off[0], off[1], ("AWS_ENDPOINT_URL", "ENDPOINT")], &["without TLS"]);
    // What is ignored is not even judged: what is left is the region.
    let ignored = ("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true");
    let garbage = [ignored, ("AWS_ENDPOINT_URL", "garbage"), ("AWS_ENDPOINT_URL_S3", "garbage")];
    signs(SERVER, &garbage, "geheimDEFAULT/eu-west-1");
    let region = "is no name of a region";
    refused("", &[garbage[0], garbage[1], garbage[2], ("AWS_REGION", "eu west")], &[region]);
    let told = [("AWS_PROFILE", "cloud"), garbage[1], ("AWS_REGION", "eu west")];
    refused("", &told, &[region]);
    let unheard = ("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "false");
    refused("", &[unheard, told[0], told[1], told[2]], &["`AWS_ENDPOINT_URL` of the environment"]);
}

#[test]
fn a_token_of_the_environment_without_its_keys_goes_out_with_nobody_elses() {
    let Home { stage, proxy, .. } = home(SERVER, &[("AWS_SESSION_TOKEN", "geheim-stale")]);
    let ran = stage.command(&["run", "f.yaml"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(proxy.tokens(), [""; 0]);
    // Its own goes out.
    let Home { stage, proxy, .. } = home(SERVER, &[("AWS_PROFILE", "work")]);
    assert_eq!(stage.command(&["run", "f.yaml"]).code, 0);
    assert_eq!(proxy.tokens(), ["geheim/+3"]);
}

#[test]
fn a_web_identity_comes_before_a_profile() {
    let Home { stage, proxy, .. } = home(SERVER, WEB_IDENTITY);
    let ran = stage.command(&["run", "f.yaml"]);
    assert!(ran.code == 3 && ran.stderr.contains("no-such-token"), "{} {}", ran.code, ran.stderr);
    assert_eq!(proxy.signers().len(), 0);
}

/// A machine's services that give out credentials, of containers and of the instance; until the process ends.
fn machine() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that goes away is no failure of the test.
            let _ = give(stream);
        }
    });
    address
}

fn give(mut client: TcpStream) -> std::io::Result<()> {
    let mut head = String::new();
    let mut reader = BufReader::new(client.try_clone()?);
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head)? > 0 {}
    let credentials = |key_id: &str| {
        format!(
            "{{\"AccessKeyId\":\"{key_id}\",\"SecretAccessKey\":\"geheim\",\"Token\":\"geheim\",\"Expiration\":\"2099-01-01T00:00:00Z\"}}"
        )
    };
    let body = match head.split(' ').nth(1).unwrap_or_default() {
        "/container" if head.contains("geheim-token") => credentials("geheimCONTAINER"),
        "/latest/api/token" => "geheim-session".to_owned(),
        "/latest/meta-data/iam/security-credentials/" => "role".to_owned(),
        path if path.ends_with("/role") && head.contains("geheim-session") => {
            credentials("geheimINSTANCE")
        }
        _ => String::new(),
    };
    write!(
        client,
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}
