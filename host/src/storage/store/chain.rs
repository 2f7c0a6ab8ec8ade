//! AWS's chain of credentials: what the environment does not say comes from a profile, and else from the machine.

use object_store::ClientConfigKey;
use object_store::aws::AmazonS3ConfigKey;

use super::build::Unusable;
use super::build::variable;
use super::profile::Credentials;
use super::profile::Profile;
use crate::flow::Sensitive;
use crate::flow::StoreOption;
use crate::flow::StoreSettings;

/// What changes whom requests go to, and is not done.
const UNMET: &[&str] = &["use_dualstack_endpoint", "use_fips_endpoint"];

/// What leaves alone every endpoint but the connection's.
const IGNORED: &str = "ignore_configured_endpoint_urls";

/// Adds where the service is, as a profile says and neither the connection nor the environment does.
pub(super) fn place(
    settings: &StoreSettings,
    profile: Option<&Profile>,
    keys: &mut Vec<(AmazonS3ConfigKey, String)>,
) -> Result<(), Unusable> {
    use AmazonS3ConfigKey as Key;
    let is_own = |option| settings.options.contains_key(&option);
    let has =
        |keys: &[(Key, String)], wanted: [Key; 2]| keys.iter().any(|(key, _)| wanted.contains(key));
    if !is_own(StoreOption::Region) && !has(keys, [Key::Region, Key::DefaultRegion]) {
        let region = profile.map(Profile::region).transpose()?.flatten();
        keys.extend(region.map(|region| (Key::Region, region)));
    }
    let is_ignored = says(profile, IGNORED).is_some();
    if is_ignored {
        keys.retain(|(key, _)| !matches!(key, Key::Endpoint | Key::S3Endpoint | Key::StsEndpoint));
    }
    if is_own(StoreOption::Endpoint) {
        return Ok(());
    }
    if let Some(said) = UNMET.iter().find_map(|unmet| says(profile, unmet)) {
        return Err(Unusable {
            what: format!("{said}, which is not done"),
            hint: "name the service by `endpoint` of the connection's `storage`".to_owned(),
        });
    }
    if !is_ignored && !has(keys, [Key::S3Endpoint, Key::Endpoint]) {
        let endpoint = profile.map(Profile::endpoint).transpose()?.flatten();
        keys.extend(endpoint.map(|endpoint| (Key::Endpoint, endpoint)));
    }
    Ok(())
}

/// Who says that something of this name is so: the environment, or else the profile.
fn says(profile: Option<&Profile>, name: &str) -> Option<String> {
    let of_environment = format!("AWS_{}", name.to_ascii_uppercase());
    match variable(&of_environment) {
        Some(value) => is_yes(&value).then(|| format!("the environment says `{of_environment}`")),
        None => profile.and_then(|profile| profile.says(name)),
    }
}

/// Adds a profile's credentials. They come behind those of the environment and before those of the machine:
/// <https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html>.
pub(super) fn credentials(
    profile: Option<&Profile>,
    keys: &mut Vec<(AmazonS3ConfigKey, String)>,
) -> Result<(), Unusable> {
    use AmazonS3ConfigKey as Key;
    let has = |wanted: Key| keys.iter().any(|(key, _)| *key == wanted);
    let is_served = has(Key::AccessKeyId)
        || has(Key::SecretAccessKey)
        || (has(Key::WebIdentityTokenFile) && has(Key::RoleArn));
    if is_served {
        return Ok(());
    }
    let (is_of_task, is_of_container) =
        (has(Key::ContainerCredentialsRelativeUri), has(Key::ContainerCredentialsFullUri));
    let has_container_token = has(Key::ContainerAuthorizationTokenFile);
    // A token without keys is left from others than those that come now.
    keys.retain(|(key, _)| *key != Key::Token);
    if let Some(Credentials { key_id, key, token }) =
        profile.map(Profile::credentials).transpose()?.flatten()
    {
        keys.extend([(Key::AccessKeyId, key_id), (Key::SecretAccessKey, key)]);
        keys.extend(token.map(|token| (Key::Token, token)));
        return Ok(());
    }
    // What the client would pass over, to ask a metadata service for somebody else's credentials.
    if is_of_task {
        return Ok(());
    }
    if is_of_container && !has_container_token {
        return Err(Unusable {
            what: "`AWS_CONTAINER_CREDENTIALS_FULL_URI` without `AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE` is not offered"
                .to_owned(),
            hint: "put the credentials themselves into the environment, or name a `profile`"
                .to_owned(),
        });
    }
    let is_off = variable("AWS_EC2_METADATA_DISABLED").is_some_and(|value| is_yes(&value));
    if is_off && !is_of_container {
        return Err(Unusable {
            what: "there are no credentials: neither of the connection, the environment nor a profile, and \
                   `AWS_EC2_METADATA_DISABLED` forbids to ask the instance"
                .to_owned(),
            hint: "give `access_key_id` and `secret_access_key`, or name a `profile`".to_owned(),
        });
    }
    Ok(())
}

/// Refuses an address of the environment or of a profile that is spoken to without TLS, as the flow's reader does one of the connection.
///
/// # Errors
/// Where that is not allowed.
pub(super) fn verify_endpoint(
    settings: &StoreSettings,
    keys: &[(AmazonS3ConfigKey, String)],
) -> Result<(), Unusable> {
    use AmazonS3ConfigKey as Key;
    let endpoint = last(keys, [Key::S3Endpoint, Key::Endpoint]);
    let Some((_, endpoint)) = endpoint.filter(|(_, endpoint)| endpoint.starts_with("http://"))
    else {
        return Ok(());
    };
    let of_environment = last(keys, [Key::Client(ClientConfigKey::AllowHttp)]);
    let is_allowed = settings
        .allow_http
        .unwrap_or_else(|| of_environment.is_some_and(|(_, value)| is_yes(value)));
    if is_allowed {
        return Ok(());
    }
    Err(Unusable {
        what: format!("the endpoint `{}` is spoken to without TLS", Sensitive::url(endpoint)),
        hint: "if that is meant, set `allow_http: true`".to_owned(),
    })
}

/// What the client takes of settings: the first of `wanted` that there is, and of several of one key the last.
pub(super) fn last<const N: usize>(
    keys: &[(AmazonS3ConfigKey, String)],
    wanted: [AmazonS3ConfigKey; N],
) -> Option<&(AmazonS3ConfigKey, String)> {
    wanted.iter().find_map(|wanted| keys.iter().rev().find(|(key, _)| key == wanted))
}

/// A flag, as the client reads it.
pub(super) fn is_yes(value: &str) -> bool {
    ["1", "true", "on", "yes", "y"].iter().any(|yes| value.eq_ignore_ascii_case(yes))
}
