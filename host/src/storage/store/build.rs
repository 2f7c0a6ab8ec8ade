//! From settings to a store. What the connection does not say comes from the environment, then from the cloud's own chain: roles of
//! machines and containers, identities of workloads.

use std::ffi::OsString;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use object_store::BackoffConfig;
use object_store::ClientConfigKey;
use object_store::Error;
use object_store::ObjectStore;
use object_store::RetryConfig;
use object_store::StaticCredentialProvider;
use object_store::aws::AmazonS3Builder;
use object_store::aws::AmazonS3ConfigKey;
use object_store::azure::AzureConfigKey;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GcpCredential;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::gcp::GoogleConfigKey;
use url::Url;

use super::chain;
use super::guard::Guarded;
use super::profile;
use crate::flow::Sensitive;
use crate::flow::StoreKind;
use crate::flow::StoreLocation;
use crate::flow::StoreOption;
use crate::flow::StoreSettings;
use crate::flow::is_endpoint;
use crate::flow::is_region;
use crate::flow::is_tenant;

/// Why a store cannot be opened, and the way out.
#[derive(Debug, Clone)]
pub(super) struct Unusable {
    pub(super) what: String,
    pub(super) hint: String,
}

impl From<Error> for Unusable {
    fn from(error: Error) -> Self {
        let hint = "see `storage` of the connection, and the environment".to_owned();
        Self { what: error.to_string(), hint }
    }
}

pub(super) fn store(location: &StoreLocation) -> Result<Guarded, Unusable> {
    let StoreLocation { kind, bucket, settings, key: _ } = location;
    let mut secrets: Vec<Sensitive> = settings.options.values().cloned().collect();
    let built = match kind {
        StoreKind::S3 => s3(bucket, settings, &mut secrets).map(Arc::from),
        StoreKind::Gcs => gcs(bucket, settings, &mut secrets).map(Arc::from),
        StoreKind::Azure => azure(bucket, settings, &mut secrets).map(Arc::from),
    };
    match built {
        Ok(store) => Ok(Guarded::new(store, secrets)),
        Err(Unusable { what, hint }) => {
            Err(Unusable { what: Sensitive::redact_all(&secrets, &what), hint })
        }
    }
}

/// An environment variable. One that is empty is not set, for the clouds' own tools neither.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The settings of a kind that the environment has.
fn of_environment<K: FromStr>(prefix: &str) -> Vec<(K, String)> {
    variables(prefix).map(|(_, key, value)| (key, value)).collect()
}

/// The same with the names of their variables. Values that are no UTF-8 are nobody's.
fn variables<K: FromStr>(prefix: &str) -> impl Iterator<Item = (String, K, String)> {
    let setting = move |(name, value): (OsString, OsString)| {
        let name = name.to_str().filter(|name| name.starts_with(prefix))?.to_owned();
        let value = value.to_str().filter(|value| !value.is_empty())?;
        Some((name.clone(), name.to_ascii_lowercase().parse().ok()?, value.to_owned()))
    };
    std::env::vars_os().filter_map(setting)
}

/// Refuses a setting that cannot be what it is for. Those of the connection and of profiles were judged where they were read, so that it
/// is one of the environment, and is told by the name of its variable.
fn verify<K: FromStr + PartialEq>(
    prefix: &str,
    (key, value): &(K, String),
    is_right: impl Fn(&str) -> bool,
    (what, hint): (&str, &str),
) -> Result<(), Unusable> {
    if is_right(value) {
        return Ok(());
    }
    let name = variables::<K>(prefix).find(|(_, its, said)| its == key && said == value);
    let name = name.map_or_else(|| prefix.to_owned(), |(name, ..)| name);
    Err(Unusable {
        what: format!("`{name}` of the environment is {what}: `{}`", Sensitive::url(value)),
        hint: hint.to_owned(),
    })
}

/// Refuses what has to go out in a header as it is, and cannot: the client panics about it.
fn goes_out(what: &str, value: &str) -> Result<(), Unusable> {
    if value.chars().all(|c| c == ' ' || c.is_ascii_graphic()) {
        return Ok(());
    }
    Err(Unusable {
        what: format!("{what} has a character in it that no request can carry"),
        hint: "see `storage` of the connection, the environment and the profile".to_owned(),
    })
}

/// Whether requests go without credentials: as the connection says or its credentials tell, and else as the environment has it, whose word
/// is taken out where it is not asked for.
fn is_anonymous<K: PartialEq>(
    settings: &StoreSettings,
    has_own: bool,
    keys: &mut Vec<(K, String)>,
    skip_signature: &K,
) -> bool {
    if has_own || settings.anonymous.is_some() {
        keys.retain(|(key, _)| key != skip_signature);
    }
    let of_environment =
        || keys.iter().any(|(key, value)| key == skip_signature && chain::is_yes(value));
    settings.anonymous.unwrap_or_else(of_environment)
}

/// What is said of an endpoint that is none.
const NO_ENDPOINT: (&str, &str) = ("no address", "write `https://host:port`");

/// What is wrong with a tenant.
const NO_TENANT: (&str, &str) = ("no tenant", "write its identifier, or its domain");

/// What is said of a region that is none.
const NO_REGION: (&str, &str) =
    ("no name of a region", "write it as the service does: `eu-west-1`, without quotes");

fn s3(
    bucket: &str,
    settings: &StoreSettings,
    secrets: &mut Vec<Sensitive>,
) -> Result<Box<dyn ObjectStore>, Unusable> {
    use AmazonS3ConfigKey as Key;
    let has = |option| settings.options.contains_key(&option);
    let own_keys = has(StoreOption::AccessKeyId) || has(StoreOption::SessionToken);
    let named = settings.options.get(&StoreOption::Profile).map(Sensitive::reveal);
    let mut keys = of_environment::<Key>("AWS_");
    let anonymous =
        is_anonymous(settings, own_keys || named.is_some(), &mut keys, &Key::SkipSignature);
    // Those of the connection, of the profile that it names and of the environment are never mixed.
    keys.retain(|(key, _)| match key {
        Key::AccessKeyId | Key::SecretAccessKey | Key::Token => {
            !own_keys && !anonymous && named.is_none()
        }
        Key::WebIdentityTokenFile | Key::RoleArn => named.is_none(),
        Key::Endpoint | Key::S3Endpoint => !has(StoreOption::Endpoint),
        _ => true,
    });
    if anonymous {
        keys.push((Key::SkipSignature, true.to_string()));
    }
    // A connection with keys of its own, or without any, is not of those whom a profile is for.
    let is_for_profiles = !own_keys && !anonymous;
    let profile = if is_for_profiles { profile::profile(named)? } else { None };
    chain::place(settings, profile.as_ref(), &mut keys)?;
    if is_for_profiles {
        chain::credentials(profile.as_ref(), &mut keys)?;
    }
    for (key, value) in &keys {
        match key {
            Key::AccessKeyId | Key::SecretAccessKey | Key::Token => {
                secrets.push(Sensitive::plain(value));
            }
            Key::Endpoint | Key::S3Endpoint => secrets.push(Sensitive::url(value)),
            _ => {}
        }
    }
    if let Some(endpoint) = chain::last(&keys, [Key::S3Endpoint, Key::Endpoint]) {
        verify("AWS_", endpoint, is_endpoint, NO_ENDPOINT)?;
    }
    if !anonymous
        && !own_keys
        && chain::last(&keys, [Key::AccessKeyId, Key::SecretAccessKey]).is_none()
    {
        let machines = [Key::StsEndpoint, Key::ContainerCredentialsFullUri, Key::MetadataEndpoint];
        for endpoint in keys.iter().filter(|(key, _)| machines.contains(key)) {
            verify("AWS_", endpoint, is_endpoint, NO_ENDPOINT)?;
        }
        // The client puts the container's host before it.
        let is_path = |path: &str| is_endpoint(&format!("http://host{path}"));
        let relative = |(key, _): &&(Key, _)| *key == Key::ContainerCredentialsRelativeUri;
        for path in keys.iter().filter(relative) {
            verify("AWS_", path, is_path, ("no path of an address", "write `/path`"))?;
        }
    }
    if let Some(region) = chain::last(&keys, [Key::Region, Key::DefaultRegion])
        && !has(StoreOption::Region)
    {
        verify("AWS_", region, is_region, NO_REGION)?;
    }
    chain::verify_endpoint(settings, &keys)?;
    let key = |option| match option {
        StoreOption::Endpoint => Some(Key::S3Endpoint),
        StoreOption::Region => Some(Key::Region),
        StoreOption::AccessKeyId => Some(Key::AccessKeyId),
        StoreOption::SecretAccessKey => Some(Key::SecretAccessKey),
        StoreOption::SessionToken => Some(Key::Token),
        // A profile has been read by now, and the flow's reader lets no other option of this kind pass.
        _ => None,
    };
    keys.extend(own(settings, key, Key::Client));
    for (key, value) in &keys {
        match key {
            Key::AccessKeyId => goes_out("the access key's id", value)?,
            Key::Token => goes_out("the session token", value)?,
            _ => {}
        }
    }
    if let Some(virtual_hosted) = settings.virtual_hosted {
        keys.push((Key::VirtualHostedStyleRequest, virtual_hosted.to_string()));
    }
    let builder = keys
        .into_iter()
        .fold(AmazonS3Builder::new(), |builder, (key, value)| builder.with_config(key, value));
    let builder = with_bucket_in_host(builder, bucket);
    let store = builder.with_bucket_name(bucket).with_retry(retries(settings)).build()?;
    Ok(Box::new(store))
}

/// An endpoint of a service whose buckets are parts of its host's name: the client takes it for that of the bucket itself.
fn with_bucket_in_host(builder: AmazonS3Builder, bucket: &str) -> AmazonS3Builder {
    use AmazonS3ConfigKey as Key;
    let is_virtual = builder.get_config_value(&Key::VirtualHostedStyleRequest);
    let endpoint =
        [Key::S3Endpoint, Key::Endpoint].iter().find_map(|key| builder.get_config_value(key));
    let host = endpoint.and_then(|endpoint| {
        let mut url = Url::parse(&endpoint).ok()?;
        let host = url.host_str()?.to_owned();
        let has_bucket = host.strip_prefix(bucket).is_some_and(|rest| rest.starts_with('.'));
        if !has_bucket {
            url.set_host(Some(&format!("{bucket}.{host}"))).ok()?;
        }
        Some(url.as_str().trim_end_matches('/').to_owned())
    });
    match host.filter(|_| is_virtual.is_some_and(|it| it.eq_ignore_ascii_case("true"))) {
        Some(endpoint) => builder.with_config(Key::S3Endpoint, endpoint),
        None => builder,
    }
}

fn gcs(
    bucket: &str,
    settings: &StoreSettings,
    secrets: &mut Vec<Sensitive>,
) -> Result<Box<dyn ObjectStore>, Unusable> {
    use GoogleConfigKey as Key;
    let has = |option| settings.options.contains_key(&option);
    let own_keys = has(StoreOption::ServiceAccountKey) || has(StoreOption::ServiceAccountPath);
    let mut keys = of_environment::<Key>("GOOGLE_");
    let anonymous = is_anonymous(settings, own_keys, &mut keys, &Key::SkipSignature);
    keys.retain(|(key, _)| match key {
        Key::ServiceAccount | Key::ServiceAccountKey | Key::ApplicationCredentials => {
            !own_keys && !anonymous
        }
        Key::BaseUrl => !has(StoreOption::Endpoint),
        _ => true,
    });
    for endpoint in keys.iter().filter(|(key, _)| *key == Key::BaseUrl) {
        verify("GOOGLE_", endpoint, is_endpoint, NO_ENDPOINT)?;
    }
    let hidden = keys.iter().filter(|(key, _)| matches!(key, Key::ServiceAccountKey));
    secrets.extend(hidden.map(|(_, value)| Sensitive::plain(value)));
    let key = |option| match option {
        StoreOption::Endpoint => Some(Key::BaseUrl),
        StoreOption::ServiceAccountPath => Some(Key::ServiceAccount),
        StoreOption::ServiceAccountKey => Some(Key::ServiceAccountKey),
        _ => None,
    };
    keys.extend(own(settings, key, Key::Client));
    let mut builder =
        keys.into_iter().fold(GoogleCloudStorageBuilder::new(), |builder, (key, value)| {
            builder.with_config(key, value)
        });
    if anonymous {
        // Else the client would read the file of default credentials all the same.
        let nobody = GcpCredential { bearer: String::new() };
        let nobody = Arc::new(StaticCredentialProvider::new(nobody));
        builder = builder.with_skip_signature(true).with_credentials(nobody);
    }
    let store = builder.with_bucket_name(bucket).with_retry(retries(settings)).build()?;
    Ok(Box::new(store))
}

fn azure(
    container: &str,
    settings: &StoreSettings,
    secrets: &mut Vec<Sensitive>,
) -> Result<Box<dyn ObjectStore>, Unusable> {
    use AzureConfigKey as Key;
    let has = |option| settings.options.contains_key(&option);
    let own_keys = [StoreOption::AccountKey, StoreOption::SasToken, StoreOption::ClientSecret];
    let own_keys = own_keys.into_iter().any(has);
    let mut keys = of_environment::<Key>("AZURE_");
    let anonymous = is_anonymous(settings, own_keys, &mut keys, &Key::SkipSignature);
    keys.retain(|(key, _)| match key {
        Key::AccessKey
        | Key::SasKey
        | Key::Token
        | Key::ClientId
        | Key::ClientSecret
        | Key::AuthorityId
        | Key::FederatedTokenFile => !own_keys && !anonymous,
        Key::Endpoint => !has(StoreOption::Endpoint),
        Key::AccountName => !has(StoreOption::AccountName),
        _ => true,
    });
    if anonymous {
        keys.push((Key::SkipSignature, true.to_string()));
    }
    // Where App Service and Container Apps have their managed identities; the client sends the header of this name along.
    keys.extend(variable("IDENTITY_ENDPOINT").map(|endpoint| (Key::MsiEndpoint, endpoint)));
    let is_for_identities = !own_keys && !anonymous;
    if let Some(header) = variable("IDENTITY_HEADER") {
        secrets.push(Sensitive::plain(&header));
        if is_for_identities {
            goes_out("`IDENTITY_HEADER`", &header)?;
        }
    }
    for (key, value) in &keys {
        match key {
            Key::AccessKey | Key::SasKey | Key::Token | Key::ClientSecret => {
                secrets.push(Sensitive::plain(value));
            }
            Key::Endpoint => secrets.push(Sensitive::url(value)),
            _ => {}
        }
    }
    for setting in &keys {
        match setting {
            (Key::MsiEndpoint, _) if !is_for_identities => {}
            (Key::Endpoint | Key::AuthorityHost | Key::MsiEndpoint, _) => {
                verify("AZURE_", setting, is_endpoint, NO_ENDPOINT)?;
            }
            (Key::AuthorityId, _) => verify("AZURE_", setting, is_tenant, NO_TENANT)?,
            (Key::Token, value) => goes_out("the token", value)?,
            _ => {}
        }
    }
    let key = |option| match option {
        StoreOption::Endpoint => Some(Key::Endpoint),
        StoreOption::AccountName => Some(Key::AccountName),
        StoreOption::AccountKey => Some(Key::AccessKey),
        StoreOption::SasToken => Some(Key::SasKey),
        StoreOption::ClientId => Some(Key::ClientId),
        StoreOption::ClientSecret => Some(Key::ClientSecret),
        StoreOption::TenantId => Some(Key::AuthorityId),
        _ => None,
    };
    keys.extend(own(settings, key, Key::Client));
    let builder = keys.into_iter().fold(MicrosoftAzureBuilder::new(), |builder, (key, value)| {
        builder.with_config(key, value)
    });
    let store = builder.with_container_name(container).with_retry(retries(settings)).build()?;
    Ok(Box::new(store))
}

/// What the connection says, each by its key of a kind, and what holds for any kind. What is not said stays as the environment has it.
fn own<K>(
    settings: &StoreSettings,
    key: impl Fn(StoreOption) -> Option<K>,
    of_client: impl Fn(ClientConfigKey) -> K,
) -> Vec<(K, String)> {
    let seconds = |time: Duration| format!("{} seconds", time.as_secs().max(1));
    let allow_http = settings.allow_http.map(|it| (ClientConfigKey::AllowHttp, it.to_string()));
    let times = [
        (ClientConfigKey::Timeout, seconds(settings.timeout)),
        (ClientConfigKey::ConnectTimeout, seconds(settings.connect_timeout)),
    ];
    let client = times.into_iter().chain(allow_http).map(|(key, value)| (of_client(key), value));
    let said = settings.options.iter();
    let said = said.filter_map(|(option, value)| Some((key(*option)?, value.reveal().to_owned())));
    said.chain(client).collect()
}

fn retries(settings: &StoreSettings) -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig::default(),
        max_retries: settings.retries,
        // Credentials of a request hold for five minutes.
        retry_timeout: Duration::from_secs(180),
    }
}
