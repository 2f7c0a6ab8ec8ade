//! Object stores: what a connection's `storage` says of one. What it does not say comes from the environment, as each cloud has it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::blocks::STORAGE;
use super::endpoint::is_endpoint;
use super::endpoint::is_region;
use super::endpoint::is_tenant;
use super::open::Fields;
use super::open::Found;
use super::report::Report;
use super::sensitive::Sensitive;
use crate::problem::Code;

/// Whose protocol a store speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    /// Amazon S3, and what speaks like it.
    S3,
    /// Google Cloud Storage.
    Gcs,
    /// Azure Blob Storage and Data Lake Storage.
    Azure,
}

/// A setting of a store that is text, secret or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StoreOption {
    /// Where the service is, where that is not the cloud's own.
    Endpoint,
    /// S3: the profile of the AWS tools' files that says what is not said here.
    Profile,
    /// S3: the region.
    Region,
    /// S3: the access key's name.
    AccessKeyId,
    /// S3: the access key.
    SecretAccessKey,
    /// S3: the token of temporary credentials.
    SessionToken,
    /// Google: a file with a service account's key.
    ServiceAccountPath,
    /// Google: a service account's key itself, as JSON.
    ServiceAccountKey,
    /// Azure: the storage account.
    AccountName,
    /// Azure: the account's key.
    AccountKey,
    /// Azure: a shared access signature.
    SasToken,
    /// Azure: the application that asks.
    ClientId,
    /// Azure: its password.
    ClientSecret,
    /// Azure: its tenant.
    TenantId,
}

/// What a connection says of its store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreSettings {
    /// What is set.
    pub options: BTreeMap<StoreOption, Sensitive>,
    /// Whether requests go without credentials; those of the environment are left alone then. Where `None` and there are no credentials
    /// here either, the environment decides.
    pub anonymous: Option<bool>,
    /// Whether the service may be spoken to without TLS; the environment decides where `None`.
    pub allow_http: Option<bool>,
    /// S3: whether the bucket is a part of the host's name, not of the path; the service decides where `None`.
    pub virtual_hosted: Option<bool>,
    /// How long one request may take.
    pub timeout: Duration,
    /// How long a connection may take to come about.
    pub connect_timeout: Duration,
    /// How often a request that failed is tried again.
    pub retries: usize,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self {
            options: BTreeMap::new(),
            anonymous: None,
            allow_http: None,
            virtual_hosted: None,
            timeout: Duration::from_secs(60),
            connect_timeout: Duration::from_secs(10),
            retries: 8,
        }
    }
}

/// Those that may hold secrets.
const SENSITIVE: &[(&str, StoreOption)] = &[
    ("endpoint", StoreOption::Endpoint),
    ("access_key_id", StoreOption::AccessKeyId),
    ("secret_access_key", StoreOption::SecretAccessKey),
    ("session_token", StoreOption::SessionToken),
    ("service_account_key", StoreOption::ServiceAccountKey),
    ("account_key", StoreOption::AccountKey),
    ("sas_token", StoreOption::SasToken),
    ("client_secret", StoreOption::ClientSecret),
];

/// Those that may be seen.
const OPEN: &[(&str, StoreOption)] = &[
    ("profile", StoreOption::Profile),
    ("region", StoreOption::Region),
    ("service_account_path", StoreOption::ServiceAccountPath),
    ("account_name", StoreOption::AccountName),
    ("client_id", StoreOption::ClientId),
    ("tenant_id", StoreOption::TenantId),
];

/// Those that say whose credentials are used.
const CREDENTIALS: &[&str] = &[
    "profile",
    "access_key_id",
    "secret_access_key",
    "session_token",
    "service_account_path",
    "service_account_key",
    "account_key",
    "sas_token",
    "client_secret",
];

impl StoreKind {
    /// The kind that a URL's scheme means.
    #[must_use]
    pub(super) fn of(scheme: &str) -> Option<Self> {
        Some(match scheme.to_ascii_lowercase().as_str() {
            "s3" | "s3a" | "s3n" => Self::S3,
            "gs" | "gcs" => Self::Gcs,
            "az" | "azure" | "abfs" | "abfss" => Self::Azure,
            _ => return None,
        })
    }

    /// The scheme that its URLs are shown with.
    #[must_use]
    pub fn scheme(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Gcs => "gs",
            Self::Azure => "az",
        }
    }
}

/// Reads a connection's `storage`. Which of its options a store uses is asked where the store is known.
pub(super) fn settings(
    report: &Report,
    storage: &Fields<'_>,
    kind: StoreKind,
) -> Option<StoreSettings> {
    let mut fields = storage.clone();
    fields.keep_used_by(kind.scheme());
    let default = StoreSettings::default();
    let sensitive = SENSITIVE
        .iter()
        .filter_map(|(name, option)| Some((*option, fields.sensitive(name)?.value)));
    let open = OPEN
        .iter()
        .filter_map(|(name, option)| Some((*option, Sensitive::open(&fields.text(name)?.value))));
    let mut options: BTreeMap<_, _> = sensitive.chain(open).collect();
    if let Some(region) = options.get(&StoreOption::Region)
        && !is_region(region.reveal())
    {
        let what = format!("`{region}` is no name of a region");
        let hint = "write it as the service does: `eu-west-1`";
        report.add_hint(Code::WrongValue, &fields.key_of("region"), what, hint);
    }
    if let Some(tenant) = options.get(&StoreOption::TenantId)
        && !is_tenant(tenant.reveal())
    {
        let what = format!("`{tenant}` is no tenant");
        let hint = "write its identifier, or its domain";
        report.add_hint(Code::WrongValue, &fields.key_of("tenant_id"), what, hint);
    }
    let flag = |name| fields.flag(name).map(|flag| flag.value);
    let plain = flag("use_ssl") == Some(false);
    let allow_http = flag("allow_http").or(plain.then_some(true));
    if let Some(endpoint) = options.get_mut(&StoreOption::Endpoint) {
        let key = fields.key_of("endpoint");
        match endpoint.reveal().split_once("://") {
            // As Hadoop has it: the host alone.
            None => {
                let scheme = if plain { "http" } else { "https" };
                *endpoint = endpoint.prefixed(&format!("{scheme}://"));
            }
            Some(("https", _)) => {}
            Some(("http", _)) if allow_http == Some(true) => {}
            Some(("http", _)) => {
                let what = format!("the endpoint `{endpoint}` is spoken to without TLS");
                report.add_hint(
                    Code::NotAllowed,
                    &key,
                    what,
                    "if that is meant, set `allow_http: true`",
                );
                return None;
            }
            Some(_) => {
                let what =
                    format!("the endpoint `{endpoint}` is no `https://` or `http://` address");
                report.add(Code::WrongValue, &key, what);
                return None;
            }
        }
    }
    for (name, option) in SENSITIVE {
        let Some(value) = options.get(option) else { continue };
        // A key of a service account is a document of many lines.
        let may_have_lines = *option == StoreOption::ServiceAccountKey;
        if !may_have_lines && value.reveal().contains(char::is_control) {
            let what = format!("`{name}` has a line break or another control character in it");
            report.add(Code::WrongValue, &fields.key_of(name), what);
            return None;
        }
    }
    if let Some(endpoint) = options.get(&StoreOption::Endpoint)
        && !is_endpoint(endpoint.reveal())
    {
        let what = format!("the endpoint `{endpoint}` is no address");
        let hint = "write `https://host:port`";
        report.add_hint(Code::WrongValue, &fields.key_of("endpoint"), what, hint);
        return None;
    }
    let halves = [
        ("access_key_id", "secret_access_key"),
        ("secret_access_key", "access_key_id"),
        ("session_token", "access_key_id"),
    ];
    for (set, other) in halves {
        if fields.get(set).is_some() && !fields.is_attempted(other) {
            let hint = "give both, or none: the environment has them then";
            let what = format!("`{set}` without `{other}`");
            report.add_hint(Code::MissingKey, &fields.key_of(set), what, hint);
        }
    }
    if fields.get("profile").is_some() && fields.is_attempted("access_key_id") {
        let what = "`profile` beside `access_key_id`: both say whose credentials are used";
        let hint = "keep one of them";
        report.add_hint(Code::Contradiction, &fields.key_of("profile"), what, hint);
    }
    let anonymous = flag("anonymous");
    let said = CREDENTIALS.iter().find(|name| fields.get(name).is_some());
    if let Some(said) = said.filter(|_| anonymous == Some(true)) {
        let what = format!("`anonymous` beside `{said}`: it goes without credentials");
        let hint = "keep one of them";
        report.add_hint(Code::Contradiction, &fields.key_of("anonymous"), what, hint);
    }
    let time = |name, default| fields.age(name).map_or(default, |age| age.value);
    Some(StoreSettings {
        options,
        anonymous,
        allow_http,
        virtual_hosted: flag("path_style").map(|path_style| !path_style),
        timeout: time("timeout", default.timeout),
        connect_timeout: time("connect_timeout", default.connect_timeout),
        retries: fields.whole("retries").map_or(default.retries, |retries| {
            usize::try_from(retries.value).unwrap_or(usize::MAX)
        }),
    })
}

/// The fields of a connection's `storage`.
pub(super) fn storage<'a>(report: &'a Report, found: &Found<'a>) -> Option<Fields<'a>> {
    let fields = Fields::open(report, &STORAGE, found.node, &found.spot)?;
    fields.verify();
    Some(fields)
}
