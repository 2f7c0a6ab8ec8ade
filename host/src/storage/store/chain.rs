//! AWS's chain of credentials: what the environment does not say comes from a profile, and else from the machine.

use object_store::ClientConfigKey;
use object_store::aws::AmazonS3ConfigKey;

use super::build::Unusable;
use super::build::variable;
use super::profile;
use super::profile::Credentials;
use crate::flow::Sensitive;
use crate::flow::StoreOption;
use crate::flow::StoreSettings;

/// Adds what a profile says and neither the connection nor the environment does. Its credentials come behind those of the environment
/// and before those of the machine: <https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html>.
pub(super) fn of_profile(
    settings: &StoreSettings,
    named: Option<&str>,
    keys: &mut Vec<(AmazonS3ConfigKey, String)>,
) -> Result<(), Unusable> {
    use AmazonS3ConfigKey as Key;
    let mut has: Vec<Key> = keys.iter().map(|(key, _)| *key).collect();
    let profile = profile::profile(named)?;
    let is_signed = !keys.iter().any(|(key, value)| *key == Key::SkipSignature && is_yes(value));
    let is_served = |has: &[Key]| {
        has.contains(&Key::AccessKeyId)
            || has.contains(&Key::SecretAccessKey)
            || (has.contains(&Key::WebIdentityTokenFile) && has.contains(&Key::RoleArn))
    };
    if let Some(profile) = profile {
        if is_signed
            && !is_served(&has)
            && let Some(Credentials { key_id, key, token }) = profile.credentials()?
        {
            keys.extend([(Key::AccessKeyId, key_id), (Key::SecretAccessKey, key)]);
            keys.extend(token.map(|token| (Key::Token, token)));
            has.push(Key::AccessKeyId);
        }
        let is_set = |option, of_environment: [Key; 2]| {
            settings.options.contains_key(&option)
                || of_environment.iter().any(|key| has.contains(key))
        };
        if !is_set(StoreOption::Region, [Key::Region, Key::DefaultRegion]) {
            keys.extend(profile.region()?.map(|region| (Key::Region, region)));
        }
        if !is_set(StoreOption::Endpoint, [Key::S3Endpoint, Key::Endpoint]) {
            keys.extend(profile.endpoint()?.map(|endpoint| (Key::Endpoint, endpoint)));
        }
    }
    // What the client would pass over, to ask a metadata service for somebody else's credentials.
    if is_signed && !is_served(&has) && !has.contains(&Key::ContainerCredentialsRelativeUri) {
        let is_half = has.contains(&Key::ContainerCredentialsFullUri)
            && !has.contains(&Key::ContainerAuthorizationTokenFile);
        if is_half {
            return Err(Unusable {
                what: "`AWS_CONTAINER_CREDENTIALS_FULL_URI` without `AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE` is not offered"
                    .to_owned(),
                hint: "put the credentials themselves into the environment, or name a `profile`"
                    .to_owned(),
            });
        }
        let is_off = variable("AWS_EC2_METADATA_DISABLED").is_some_and(|value| is_yes(&value));
        if is_off && !has.contains(&Key::ContainerCredentialsFullUri) {
            return Err(Unusable {
                what: "there are no credentials: neither of the connection, the environment nor a profile, and                        `AWS_EC2_METADATA_DISABLED` forbids to ask the instance"
                    .to_owned(),
                hint: "give `access_key_id` and `secret_access_key`, or name a `profile`".to_owned(),
            });
        }
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
    let last = |wanted: Key| keys.iter().rev().find(|(key, _)| *key == wanted);
    let endpoint = last(Key::S3Endpoint).or_else(|| last(Key::Endpoint));
    let Some((_, endpoint)) = endpoint.filter(|(_, endpoint)| endpoint.starts_with("http://"))
    else {
        return Ok(());
    };
    let of_environment = last(Key::Client(ClientConfigKey::AllowHttp));
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

/// A flag, as the client reads it.
fn is_yes(value: &str) -> bool {
    ["1", "true", "on", "yes", "y"].iter().any(|yes| value.eq_ignore_ascii_case(yes))
}
