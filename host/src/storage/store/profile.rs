//! Profiles of the AWS tools: what `~/.aws/credentials` and `~/.aws/config` say in plain keys. How they are read is told in
//! <https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html>.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;

use super::build::Unusable;
use super::build::variable;
use super::sections::File;
use super::sections::Said;
use super::sections::Section;
use super::sections::sections;
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

/// One profile, of both files.
#[derive(Debug)]
pub(super) struct Profile {
    name: String,
    /// What it says, by lower-case names.
    said: BTreeMap<String, Said>,
    /// The services' own settings that it refers to, where they are there.
    services: Option<Section>,
}

/// Static credentials.
pub(super) struct Credentials {
    pub(super) key_id: String,
    pub(super) key: String,
    pub(super) token: Option<String>,
}

/// The profile that the connection names, or else `AWS_PROFILE`, or else `default`: the only one that need not be there.
///
/// # Errors
/// Where a file cannot be read, or there is no profile of that name.
pub(super) fn profile(named: Option<&str>) -> Result<Option<Profile>, Unusable> {
    let home = std::env::home_dir();
    let environments = variable("AWS_PROFILE");
    let name = named.or(environments.as_deref());
    let file = |variable_name: &'static str, usual: &str| {
        let given = variable(variable_name).map(PathBuf::from);
        let is_due = given.is_some() || name.is_some();
        let path = given.unwrap_or_else(|| Path::new("~/.aws").join(usual));
        let path = match (path.strip_prefix("~"), &home) {
            (Ok(below), Some(home)) => home.join(below),
            _ => path,
        };
        File { path, variable: variable_name, is_due }
    };
    let credentials = file("AWS_SHARED_CREDENTIALS_FILE", "credentials");
    let config = file("AWS_CONFIG_FILE", "config");
    let found = merged(name.unwrap_or(DEFAULT), sections(&config)?, sections(&credentials)?)?;
    match (found, name) {
        (None, Some(name)) => {
            let by = if named.is_some() { "`profile` of the connection" } else { "`AWS_PROFILE`" };
            let (credentials, config) = (credentials.path.display(), config.path.display());
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
    let mut services: BTreeMap<String, Section> = BTreeMap::new();
    let mut is_there = false;
    let mut said = BTreeMap::new();
    // `[profile default]` before `[default]`, of which nothing counts then, as in AWS's own libraries.
    let has_prefixed = config.iter().any(|section| titled(&section.title, "profile") == Some(name));
    let is_bare = |title: &str| title == DEFAULT && name == DEFAULT && !has_prefixed;
    for Section { title, said: more, wrong } in config {
        if let Some(name) = titled(&title, "services") {
            let of_name = services.entry(name.to_owned()).or_default();
            of_name.said.extend(more);
            of_name.wrong = of_name.wrong.take().or(wrong);
        } else if is_bare(&title) || titled(&title, "profile") == Some(name) {
            is_there = true;
            wrong.map_or(Ok(()), Err)?;
            said.extend(more);
        }
    }
    for Section { title, said: more, wrong } in credentials {
        if title == name {
            is_there = true;
            wrong.map_or(Ok(()), Err)?;
            if KEYS.iter().any(|key| more.contains_key(*key)) {
                said.retain(|name, _| !KEYS.contains(&name.as_str()));
            }
            said.extend(more);
        }
    }
    if !is_there {
        return Ok(None);
    }
    let services = said.get("services").and_then(|Said { value, .. }| services.remove(value));
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

    /// Where it says so, that something is `true` for it.
    pub(super) fn says(&self, name: &str) -> Option<String> {
        let Said { at, .. } =
            self.said.get(name).filter(|said| said.value.eq_ignore_ascii_case("true"))?;
        Some(format!("{at}: the profile `{}` says `{name}`", self.name))
    }

    /// Where S3 is: of its services' settings, or else of its own.
    ///
    /// # Errors
    /// Where what it says cannot be an address, and where its services' settings are not there.
    pub(super) fn endpoint(&self) -> Result<Option<String>, Unusable> {
        const NAME: &str = "endpoint_url";
        let services = match (&self.services, self.said.get("services")) {
            (Some(Section { wrong: Some(wrong), .. }), _) => return Err(wrong.clone()),
            (Some(Section { said, .. }), _) => Some(said),
            (None, None) => None,
            (None, Some(Said { at, .. })) => {
                let name = &self.name;
                return Err(Unusable {
                    what: format!("{at}: the profile `{name}` names `services` that are not there"),
                    hint: "they are `[services NAME]` in the same file".to_owned(),
                });
            }
        };
        let of_s3 = services.and_then(|said| said.get("s3")).and_then(|Said { value, at }| {
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

#[cfg(test)]
mod tests {
    use super::super::sections::parsed;
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
            (
                "default",
                "[profile default]\nregion=e\n[default]\nregion=d\nendpoint_url=https://d\nodd",
                "[default]\naws_access_key_id = i\naws_secret_access_key = k",
                "i k , e, ",
            ),
            ("x", "[y]\nodd\n[services s]\nodd\n[profile x]\nregion = r", "[y]\nodd", ", r, "),
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
            ("[services s]\ngeheim\n[profile x]\nservices = s\ngeheim = y", "cf:2: `=` is missing"),
            ("[profile x]\nregion = r\ngeheim\nodd", "cf:3: `=` is missing"),
        ] {
            assert_eq!(read("x", config, ""), says, "{config}");
        }
    }
}
