//! Profiles of the AWS tools: what `~/.aws/credentials` and `~/.aws/config` say in plain keys. How they are read is told in
//! <https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html>.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::path::PathBuf;

use super::build::Unusable;
use super::build::variable;
use crate::flow::is_endpoint;
use crate::flow::is_region;

/// The name of the one that nobody has to name.
const DEFAULT: &str = "default";

/// What static credentials are made of.
const KEYS: [&str; 3] = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"];

/// What the AWS tools take instead of static keys, and before them.
const ASSUMED: &[&str] =
    &["role_arn", "source_profile", "credential_source", "web_identity_token_file"];

/// What they take where there are no static keys.
const FETCHED: &[&str] = &["credential_process", "login_session"];

/// What changes whom requests go to, and is not done.
const UNMET: &[&str] = &["use_dualstack_endpoint", "use_fips_endpoint"];

/// One profile, of both files.
#[derive(Debug)]
pub(super) struct Profile {
    name: String,
    /// What it says, by lower-case names.
    said: BTreeMap<String, Said>,
    /// The services' own settings that it refers to, where it does.
    services: BTreeMap<String, Said>,
}

/// A value, and where it stands: `file:line`. Further lines of it follow line breaks.
#[derive(Clone)]
struct Said {
    value: String,
    at: String,
}

/// Values are secrets.
impl std::fmt::Debug for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.at)
    }
}

/// Static credentials.
pub(super) struct Credentials {
    pub(super) key_id: String,
    pub(super) key: String,
    pub(super) token: Option<String>,
}

/// A part of a file: `[title]` and what is below.
struct Section {
    title: String,
    said: BTreeMap<String, Said>,
}

/// The profile that the connection names, or else `AWS_PROFILE`, or else `default`: the only one that need not be there.
///
/// # Errors
/// Where a file cannot be read, or there is no profile of that name.
pub(super) fn profile(named: Option<&str>) -> Result<Option<Profile>, Unusable> {
    let home = std::env::home_dir();
    let file = |name: &str, usual: &str| {
        let given = variable(name).map(PathBuf::from);
        let path = given.unwrap_or_else(|| Path::new("~/.aws").join(usual));
        match (path.strip_prefix("~"), &home) {
            (Ok(below), Some(home)) => home.join(below),
            _ => path,
        }
    };
    let credentials = file("AWS_SHARED_CREDENTIALS_FILE", "credentials");
    let config = file("AWS_CONFIG_FILE", "config");
    let environments = variable("AWS_PROFILE");
    let name = named.or(environments.as_deref());
    let found = merged(name.unwrap_or(DEFAULT), sections(&config)?, sections(&credentials)?)?;
    match (found, name) {
        (None, Some(name)) => {
            let by = if named.is_some() { "`profile` of the connection" } else { "`AWS_PROFILE`" };
            let (credentials, config) = (credentials.display(), config.display());
            Err(Unusable {
                what: format!("there is no profile `{name}`, which {by} names"),
                hint: format!(
                    "it is `[{name}]` in {credentials}, or `[profile {name}]` in {config}"
                ),
            })
        }
        (found, _) => Ok(found),
    }
}

/// What both files say of a profile. What the credentials' file has wins, and keys of the two are never mixed.
fn merged(
    name: &str,
    config: Vec<Section>,
    credentials: Vec<Section>,
) -> Result<Option<Profile>, Unusable> {
    let mut services: BTreeMap<String, BTreeMap<String, Said>> = BTreeMap::new();
    let mut is_there = false;
    let mut said = BTreeMap::new();
    for Section { title, said: more } in config {
        if let Some(name) = titled(&title, "services") {
            services.entry(name.to_owned()).or_default().extend(more);
        } else if (title == DEFAULT && name == DEFAULT) || titled(&title, "profile") == Some(name) {
            is_there = true;
            said.extend(more);
        }
    }
    for Section { title, said: more } in credentials {
        if title == name {
            is_there = true;
            if KEYS.iter().any(|key| more.contains_key(*key)) {
                said.retain(|name, _| !KEYS.contains(&name.as_str()));
            }
            said.extend(more);
        }
    }
    if !is_there {
        return Ok(None);
    }
    for unmet in UNMET {
        if let Some(Said { at, .. }) =
            said.get(*unmet).filter(|said| said.value.eq_ignore_ascii_case("true"))
        {
            return Err(Unusable {
                what: format!("{at}: the profile `{name}` says `{unmet}`, which is not done"),
                hint: "name the service by `endpoint` of the connection's `storage`".to_owned(),
            });
        }
    }
    let services = match said.get("services") {
        None => BTreeMap::new(),
        Some(Said { value, at }) => services.remove(value).ok_or_else(|| Unusable {
            what: format!("{at}: the profile `{name}` names `services` that are not there"),
            hint: "they are `[services NAME]` in the same file".to_owned(),
        })?,
    };
    Ok(Some(Profile { name: name.to_owned(), said, services }))
}

/// The name in `[kind name]`, which may be quoted.
fn titled<'a>(title: &'a str, kind: &str) -> Option<&'a str> {
    let name = title.strip_prefix(kind)?;
    name.starts_with(char::is_whitespace).then(|| name.trim().trim_matches(['"', '\'']))
}

impl Profile {
    /// Its static credentials; `None` where it has no credentials at all.
    ///
    /// # Errors
    /// Where it has half of them, or wants them fetched in a way that is not offered.
    pub(super) fn credentials(&self) -> Result<Option<Credentials>, Unusable> {
        let [key_id, key, token] = KEYS.map(|name| self.said.get(name));
        let has_keys = key_id.or(key).or(token).is_some();
        let is_other = |name: &str| {
            ASSUMED.contains(&name)
                || name.starts_with("sso_")
                || (FETCHED.contains(&name) && !has_keys)
        };
        let others = self.said.iter().filter(|(name, _)| is_other(name));
        let others: Vec<String> =
            others.map(|(name, Said { at, .. })| format!("`{name}` ({at})")).collect();
        let name = &self.name;
        if !others.is_empty() {
            let others = others.join(", ");
            return Err(Unusable {
                what: format!(
                    "the profile `{name}` gets its credentials by {others}, which is not offered"
                ),
                hint: format!(
                    "put them into the environment: eval \"$(aws configure export-credentials --profile '{name}' --format env)\", \
                     without `profile` in the connection"
                ),
            });
        }
        let half = |has: &str, at: &str, lacks: &str| Unusable {
            what: format!("{at}: the profile `{name}` has `{has}` without `{lacks}`"),
            hint: "give both, or none".to_owned(),
        };
        match (key_id, key) {
            (Some(key_id), Some(key)) => Ok(Some(Credentials {
                key_id: self.word(KEYS[0], key_id)?,
                key: self.word(KEYS[1], key)?,
                token: token.map(|token| self.word(KEYS[2], token)).transpose()?,
            })),
            (Some(said), None) => Err(half(KEYS[0], &said.at, KEYS[1])),
            (None, Some(said)) => Err(half(KEYS[1], &said.at, KEYS[0])),
            (None, None) => token.map_or(Ok(None), |said| Err(half(KEYS[2], &said.at, KEYS[0]))),
        }
    }

    /// Its region.
    ///
    /// # Errors
    /// Where what it says cannot be one.
    pub(super) fn region(&self) -> Result<Option<String>, Unusable> {
        let hint = "write it as the service does: `eu-west-1`, without quotes";
        let word = |said| self.word_that("region", said, is_region, ("no name of a region", hint));
        self.said.get("region").map(word).transpose()
    }

    /// Where S3 is: of its services' settings, or else of its own.
    ///
    /// # Errors
    /// Where what it says cannot be an address.
    pub(super) fn endpoint(&self) -> Result<Option<String>, Unusable> {
        const NAME: &str = "endpoint_url";
        let of_s3 = self.services.get("s3").and_then(|Said { value, at }| {
            let mut pairs = value.lines().filter_map(|line| line.split_once('='));
            let value = pairs.rfind(|(name, _)| name.trim() == NAME)?.1.trim().to_owned();
            Some(Said { value, at: at.clone() })
        });
        let said = of_s3.as_ref().or_else(|| self.said.get(NAME));
        let hint = "write `https://host:port`";
        let word = |said| self.word_that(NAME, said, is_endpoint, ("no address", hint));
        said.map(word).transpose()
    }

    /// A word that can be what it is for.
    fn word_that(
        &self,
        name: &str,
        said: &Said,
        is_right: impl Fn(&str) -> bool,
        (what, hint): (&str, &str),
    ) -> Result<String, Unusable> {
        let word = self.word(name, said)?;
        if !is_right(&word) {
            let (at, profile) = (&said.at, &self.name);
            return Err(Unusable {
                what: format!("{at}: `{name}` of the profile `{profile}` is {what}"),
                hint: hint.to_owned(),
            });
        }
        Ok(word)
    }

    /// A value that is one word. An indented line below it would be a part of it.
    fn word(&self, name: &str, Said { value, at }: &Said) -> Result<String, Unusable> {
        if value.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(Unusable {
                what: format!(
                    "{at}: `{name}` of the profile `{}` is more than one word",
                    self.name
                ),
                hint: "a line that is indented goes on with the value of the line above".to_owned(),
            });
        }
        Ok(value.clone())
    }
}

/// What a file has; nothing where it is not there.
fn sections(path: &Path) -> Result<Vec<Section>, Unusable> {
    match fs::read_to_string(path) {
        Ok(text) => parsed(&path.display().to_string(), &text),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Unusable {
            what: format!("{} cannot be read: {error}", path.display()),
            hint: "it is a text of profiles, as `aws configure` writes it".to_owned(),
        }),
    }
}

/// As the AWS tools read it: a line that is indented deeper than the key before goes on with its value, which is how settings of
/// services are nested.
fn parsed(file: &str, text: &str) -> Result<Vec<Section>, Unusable> {
    let mut sections: Vec<Section> = Vec::new();
    let mut last: Option<(String, usize)> = None;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (at, line) in text.lines().enumerate() {
        let at = format!("{file}:{}", at + 1);
        // Never with the line itself: it may be a secret.
        let wrong = |what: &str| Unusable {
            what: format!("{at}: {what}"),
            hint: "a profile is `[name]`, and lines of `name = value` below it".to_owned(),
        };
        let indent = line.len() - line.trim_start().len();
        let line = line.trim();
        if line.is_empty() || is_comment(line) {
            continue;
        }
        if let Some(title) = line.strip_prefix('[') {
            let (title, rest) = title.split_once(']').ok_or_else(|| wrong("`]` is missing"))?;
            if !(rest.is_empty() || is_comment(rest.trim_start())) {
                return Err(wrong("there is more behind `]`"));
            }
            sections.push(Section { title: title.trim().to_owned(), said: BTreeMap::new() });
            last = None;
            continue;
        }
        let section = sections.last_mut().ok_or_else(|| wrong("this belongs to no profile"))?;
        if let Some((name, of_key)) = &last
            && indent > *of_key
        {
            if let Some(Said { value, .. }) = section.said.get_mut(name) {
                value.push('\n');
                value.push_str(line);
            }
            continue;
        }
        let (name, value) = line.split_once('=').ok_or_else(|| wrong("`=` is missing"))?;
        let name = name.trim().to_ascii_lowercase();
        let comment = [" #", " ;", "\t#", "\t;"].iter().filter_map(|mark| value.find(mark)).min();
        let value = value[..comment.unwrap_or(value.len())].trim().to_owned();
        section.said.insert(name.clone(), Said { value, at });
        last = Some((name, indent));
    }
    // What is empty is not said.
    sections.iter_mut().for_each(|section| section.said.retain(|_, said| !said.value.is_empty()));
    Ok(sections)
}

fn is_comment(text: &str) -> bool {
    text.starts_with(['#', ';'])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a profile says to us, or why not.
    fn read(name: &str, config: &str, credentials: &str) -> String {
        let read = || {
            let (config, credentials) = (parsed("cf", config)?, parsed("cr", credentials)?);
            let Some(profile) = merged(name, config, credentials)? else {
                return Ok("none".to_owned());
            };
            let keys = profile.credentials()?.map(|Credentials { key_id, key, token }| {
                [key_id, key, token.unwrap_or_default()].join(" ")
            });
            let said = [keys, profile.region()?, profile.endpoint()?];
            Ok(said.map(Option::unwrap_or_default).join(", "))
        };
        read().unwrap_or_else(|Unusable { what, .. }| what)
    }

    #[test]
    fn a_profile_is_what_both_files_say_of_it() {
        for (name, config, credentials, said) in [
            ("x", "", "", "none"),
            ("x", "[x]\nregion = r\n", "[profile x]\nregion = r\n", "none"),
            ("x", "[profile x]\nregion = r\n[default]\nregion = d", "", ", r, "),
            ("default", "[default]\nregion=d\n[profile default]\nregion=e", "", ", e, "),
            ("a b", "[profile \"a b\"]\nregion = r\n", "", ", r, "),
            (
                "x",
                "[profile x]\nregion = r\naws_session_token = old",
                "[x]\nAWS_ACCESS_KEY_ID = id\naws_secret_access_key=a/b+c==\r\n",
                "id a/b+c== , r, ",
            ),
            (
                "x",
                "",
                "\u{feff}# c\n[x] ; c\n  aws_access_key_id = id # c\n  aws_secret_access_key = k\n\n  aws_session_token = t\n",
                "id k t, , ",
            ),
            (
                "x",
                "[profile x]\ns3 =\n  max_concurrent_requests = 20\n  region = nested\n  odd\n\nregion = r\nendpoint_url = https://h",
                "",
                ", r, https://h",
            ),
            (
                "x",
                "[services s]\ndynamodb =\n  endpoint_url = https://d\ns3 =\n  endpoint_url = https://s\n[profile x]\nservices = s\nendpoint_url = https://h",
                "",
                ", , https://s",
            ),
            ("x", "[profile x]\naws_access_key_id =\nregion =", "", ", , "),
            (
                "x",
                "[profile x]\ncredential_process = /bin/p",
                "[x]\naws_access_key_id = i\naws_secret_access_key = k",
                "i k , , ",
            ),
        ] {
            assert_eq!(read(name, config, credentials), said, "{config} {credentials}");
        }
    }

    #[test]
    fn what_a_profile_says_in_vain_is_refused_by_name_and_place_and_never_shown() {
        for (config, says) in [
            ("[profile x\nregion = geheim", "cf:1: `]` is missing"),
            ("[profile x] geheim", "cf:1: there is more behind `]`"),
            ("geheim = geheim\n[profile x]", "cf:1: this belongs to no profile"),
            ("[profile x]\nregion = r\ngeheim\n", "cf:3: `=` is missing"),
            (
                "[profile x]\naws_access_key_id = geheim",
                "cf:2: the profile `x` has `aws_access_key_id` without `aws_secret_access_key`",
            ),
            (
                "[profile x]\n\naws_secret_access_key = geheim",
                "cf:3: the profile `x` has `aws_secret_access_key` without `aws_access_key_id`",
            ),
            (
                "[profile x]\naws_session_token = geheim",
                "cf:2: the profile `x` has `aws_session_token` without `aws_access_key_id`",
            ),
            (
                "[profile x]\naws_access_key_id = i\naws_secret_access_key = geheim\n  geheim",
                "cf:3: `aws_secret_access_key` of the profile `x` is more than one word",
            ),
            (
                "[profile x]\nrole_arn = geheim\nsource_profile = y\naws_access_key_id = i\naws_secret_access_key = geheim",
                "the profile `x` gets its credentials by `role_arn` (cf:2), `source_profile` (cf:3), which is not offered",
            ),
            (
                "[profile x]\nsso_session = geheim",
                "the profile `x` gets its credentials by `sso_session` (cf:2), which is not offered",
            ),
            (
                "[profile x]\ncredential_process = geheim",
                "the profile `x` gets its credentials by `credential_process` (cf:2), which is not offered",
            ),
            (
                "[profile x]\nregion = \"geheim\"",
                "cf:2: `region` of the profile `x` is no name of a region",
            ),
            (
                "[profile x]\nendpoint_url = geheim:9000",
                "cf:2: `endpoint_url` of the profile `x` is no address",
            ),
            (
                "[services s]\ns3 =\n  endpoint_url = //geheim\n[profile x]\nservices = s",
                "cf:2: `endpoint_url` of the profile `x` is no address",
            ),
            (
                "[profile x]\nservices = geheim",
                "cf:2: the profile `x` names `services` that are not there",
            ),
            (
                "[profile x]\nuse_fips_endpoint = true",
                "cf:2: the profile `x` says `use_fips_endpoint`, which is not done",
            ),
        ] {
            assert_eq!(read("x", config, ""), says, "{config}");
        }
    }
}
