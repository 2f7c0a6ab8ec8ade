//! From settings to a store. What the connection does not say comes from the environment, then from the cloud's own chain: roles of
//! machines and containers, identities of workloads.

use std::time::Duration;

use object_store::BackoffConfig;
use object_store::ClientConfigKey;
use object_store::Result;
use object_store::RetryConfig;
use object_store::aws::AmazonS3Builder;
use object_store::aws::AmazonS3ConfigKey;
use object_store::azure::AzureConfigKey;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::gcp::GoogleConfigKey;

use super::guard::Guarded;
use crate::flow::Sensitive;
use crate::flow::StoreKind;
use crate::flow::StoreLocation;
use crate::flow::StoreOption;
use crate::flow::StoreSettings;

pub(super) fn store(location: &StoreLocation) -> Result<Guarded> {
    let StoreLocation { kind, bucket, settings, key: _ } = location;
    let secrets: Vec<Sensitive> = settings.options.values().cloned().collect();
    let redacted = |error: object_store::Error| {
        let said = secrets.iter().fold(error.to_string(), |said, secret| secret.redact(&said));
        object_store::Error::Generic { store: "object store", source: said.into() }
    };
    let built = match kind {
        StoreKind::S3 => s3(bucket, settings).map(|store| Guarded::new(store, secrets.clone())),
        StoreKind::Gcs => gcs(bucket, settings).map(|store| Guarded::new(store, secrets.clone())),
        StoreKind::Azure => {
            azure(bucket, settings).map(|store| Guarded::new(store, secrets.clone()))
        }
    };
    built.map_err(redacted)
}

fn s3(bucket: &str, settings: &StoreSettings) -> Result<object_store::aws::AmazonS3> {
    let has_keys = settings.options.contains_key(&StoreOption::AccessKeyId);
    let of_environment = std::env::vars().filter_map(|(name, value)| {
        let key = name.starts_with("AWS_").then(|| name.to_ascii_lowercase().parse().ok())??;
        // Those of the connection and of the environment are never mixed.
        let is_credential = matches!(
            key,
            AmazonS3ConfigKey::AccessKeyId
                | AmazonS3ConfigKey::SecretAccessKey
                | AmazonS3ConfigKey::Token
        );
        (!has_keys || !is_credential).then_some((key, value))
    });
    let mut builder = of_environment
        .fold(AmazonS3Builder::new(), |builder, (key, value)| builder.with_config(key, value))
        .with_bucket_name(bucket);
    for (option, value) in &settings.options {
        let key = match option {
            StoreOption::Endpoint => AmazonS3ConfigKey::Endpoint,
            StoreOption::Region => AmazonS3ConfigKey::Region,
            StoreOption::AccessKeyId => AmazonS3ConfigKey::AccessKeyId,
            StoreOption::SecretAccessKey => AmazonS3ConfigKey::SecretAccessKey,
            StoreOption::SessionToken => AmazonS3ConfigKey::Token,
            // The flow's reader lets no other option of this kind pass.
            _ => continue,
        };
        builder = builder.with_config(key, value.reveal());
    }
    if let Some(virtual_hosted) = settings.virtual_hosted {
        builder = builder.with_virtual_hosted_style_request(virtual_hosted);
    }
    client(settings)
        .fold(builder, |builder, (key, value)| {
            builder.with_config(AmazonS3ConfigKey::Client(key), value)
        })
        .with_retry(retries(settings))
        .build()
}

fn gcs(bucket: &str, settings: &StoreSettings) -> Result<object_store::gcp::GoogleCloudStorage> {
    let mut builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket);
    for (option, value) in &settings.options {
        let key = match option {
            StoreOption::Endpoint => GoogleConfigKey::BaseUrl,
            StoreOption::ServiceAccountPath => GoogleConfigKey::ServiceAccount,
            StoreOption::ServiceAccountKey => GoogleConfigKey::ServiceAccountKey,
            _ => continue,
        };
        builder = builder.with_config(key, value.reveal());
    }
    client(settings)
        .fold(builder, |builder, (key, value)| {
            builder.with_config(GoogleConfigKey::Client(key), value)
        })
        .with_retry(retries(settings))
        .build()
}

fn azure(container: &str, settings: &StoreSettings) -> Result<object_store::azure::MicrosoftAzure> {
    let mut builder = MicrosoftAzureBuilder::from_env().with_container_name(container);
    for (option, value) in &settings.options {
        let key = match option {
            StoreOption::Endpoint => AzureConfigKey::Endpoint,
            StoreOption::AccountName => AzureConfigKey::AccountName,
            StoreOption::AccountKey => AzureConfigKey::AccessKey,
            StoreOption::SasToken => AzureConfigKey::SasKey,
            StoreOption::ClientId => AzureConfigKey::ClientId,
            StoreOption::ClientSecret => AzureConfigKey::ClientSecret,
            StoreOption::TenantId => AzureConfigKey::AuthorityId,
            _ => continue,
        };
        builder = builder.with_config(key, value.reveal());
    }
    client(settings)
        .fold(builder, |builder, (key, value)| {
            builder.with_config(AzureConfigKey::Client(key), value)
        })
        .with_retry(retries(settings))
        .build()
}

/// What holds for any of them. What is not asked for stays as the environment has it.
fn client(settings: &StoreSettings) -> impl Iterator<Item = (ClientConfigKey, String)> {
    let seconds = |time: Duration| format!("{} seconds", time.as_secs().max(1));
    let allow_http = settings.allow_http.then(|| (ClientConfigKey::AllowHttp, true.to_string()));
    let times = [
        (ClientConfigKey::Timeout, seconds(settings.timeout)),
        (ClientConfigKey::ConnectTimeout, seconds(settings.connect_timeout)),
    ];
    times.into_iter().chain(allow_http)
}

fn retries(settings: &StoreSettings) -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig::default(),
        max_retries: settings.retries,
        // Credentials of a request hold for five minutes.
        retry_timeout: Duration::from_secs(180),
    }
}
