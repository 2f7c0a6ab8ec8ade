//! TLS by libpq's words: what is encrypted, and what of the server's certificate is asked.

use std::path::Path;
use std::sync::Arc;

use rustls::CertificateError;
use rustls::ClientConfig;
use rustls::DigitallySignedStruct;
use rustls::Error;
use rustls::RootCertStore;
use rustls::SignatureScheme;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::client::danger::ServerCertVerified;
use rustls::client::danger::ServerCertVerifier;
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring;
use rustls::crypto::verify_tls12_signature;
use rustls::crypto::verify_tls13_signature;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::ServerName;
use rustls::pki_types::UnixTime;
use rustls::pki_types::pem::PemObject;
use rustls::server::ParsedCertificate;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::failure;
use crate::flow::Host;
use crate::flow::Roots;
use crate::flow::Server;
use crate::flow::Tls;
use crate::storage::StorageError;

/// How a connection begins TLS; `None` where it never does.
///
/// # Errors
/// Where certificates to trust cannot be read.
pub(super) fn connector(server: &Server) -> Result<Option<MakeRustlsConnect>, StorageError> {
    // Nobody listens on a socket of this machine.
    if let Host::Socket(_) = server.host {
        return Ok(None);
    }
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| failure::refused(server, format!("TLS cannot be had: {error}"), None))?;
    let config = match &server.tls {
        Tls::Disable {} => return Ok(None),
        Tls::VerifyFull(from) => config.with_root_certificates(roots(server, from)?),
        Tls::Prefer {} | Tls::Require {} => lenient(config, provider, None),
        Tls::VerifyCa(from) => lenient(config, provider, Some(roots(server, from)?)),
    };
    Ok(Some(MakeRustlsConnect::new(config.with_no_client_auth())))
}

type Builder<State> = rustls::ConfigBuilder<ClientConfig, State>;

fn lenient(
    config: Builder<rustls::WantsVerifier>,
    provider: Arc<CryptoProvider>,
    roots: Option<RootCertStore>,
) -> Builder<rustls::client::WantsClientCert> {
    config.dangerous().with_custom_certificate_verifier(Arc::new(Lenient { provider, roots }))
}

/// The certificates that are trusted to sign a server's.
fn roots(server: &Server, from: &Roots) -> Result<RootCertStore, StorageError> {
    let certificates = match from {
        Roots::System {} => {
            let found = rustls_native_certs::load_native_certs();
            if found.certs.is_empty() {
                let why =
                    found.errors.first().map(|error| format!(": {error}")).unwrap_or_default();
                let what = format!("the system has no certificates to trust{why}");
                let hint =
                    "install them (Debian: ca-certificates), or name a file by `sslrootcert`";
                return Err(failure::refused(server, what, Some(hint)));
            }
            found.certs
        }
        Roots::File(path) => of_file(server, path)?,
    };
    let mut roots = RootCertStore::empty();
    // The system's may be of kinds that are not known here.
    let (added, ignored) = roots.add_parsable_certificates(certificates);
    match (from, added, ignored) {
        (Roots::File(path), 0, _) | (Roots::File(path), _, 1..) => {
            let what =
                format!("`{}` has {ignored} certificates that cannot be read", path.display());
            Err(failure::refused(server, what, Some("it holds certificates as PEM")))
        }
        _ => Ok(roots),
    }
}

fn of_file(server: &Server, path: &Path) -> Result<Vec<CertificateDer<'static>>, StorageError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => {
            let what = format!("`{}` has no certificates", path.display());
            Err(failure::refused(server, what, Some("it holds certificates as PEM")))
        }
        Err(error) => {
            let what =
                format!("`{}`, which `sslrootcert` names, cannot be read: {error}", path.display());
            Err(failure::refused(server, what, None))
        }
    }
}

/// Takes any certificate, or any that one of `roots` has signed: the name in it does not count.
#[derive(Debug)]
struct Lenient {
    provider: Arc<CryptoProvider>,
    roots: Option<RootCertStore>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(roots) = &self.roots {
            let certificate = ParsedCertificate::try_from(end_entity)?;
            let known = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(
                &certificate,
                roots,
                intermediates,
                now,
                known,
            )?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
            .or_else(|error| self.unknown(error))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
            .or_else(|error| self.unknown(error))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl Lenient {
    /// Where nobody asks whose the certificate is, it may be one that cannot be read either: self-made ones often are of a version or
    /// with extensions that are refused.
    fn unknown(&self, error: Error) -> Result<HandshakeSignatureValid, Error> {
        match (&self.roots, &error) {
            (
                None,
                Error::InvalidCertificate(
                    CertificateError::BadEncoding | CertificateError::Other(_),
                ),
            ) => Ok(HandshakeSignatureValid::assertion()),
            _ => Err(error),
        }
    }
}
