//! The certificate of a server and its key.

use std::sync::Arc;

use ring::digest::{SHA256, digest};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, SupportedProtocolVersion};

use crate::provider::provider;
use crate::{FINGERPRINT, TlsError, reason};

/// The only version.
pub(crate) const VERSIONS: [&SupportedProtocolVersion; 1] = [&rustls::version::TLS13];

/// What a server proves.
#[derive(Clone)]
pub struct Identity {
    pub(crate) config: Arc<ServerConfig>,
    fingerprint: [u8; FINGERPRINT],
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Identity")
            .field(&fingerprint_text(&self.fingerprint))
            .finish()
    }
}

impl Identity {
    /// An identity from PEM texts: the certificate, and its private key (PKCS #8), of Ed25519.
    ///
    /// # Errors
    /// When one of them is not valid, or they do not belong together.
    pub fn new(certificates: &[u8], key: &[u8]) -> Result<Identity, TlsError> {
        let refused = |reason: String| TlsError::Refused(reason);
        let chain = certificates_of(certificates)?;
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|_| refused("no private key as PEM in the file of the key".to_owned()))?;
        let fingerprint = fingerprint(&chain[0]);
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&VERSIONS)
            .map_err(|error| refused(reason(&error)))?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| refused(format!("certificate and key: {error}")))?;
        // A connection lasts as long as a test: none is resumed.
        config.send_tls13_tickets = 0;
        Ok(Identity {
            config: Arc::new(config),
            fingerprint,
        })
    }

    /// SHA-256 of the certificate.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; FINGERPRINT] {
        self.fingerprint
    }
}

/// The certificates of a PEM text; at least one.
pub(crate) fn certificates_of(text: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        _ => Err(TlsError::Refused(
            "no certificate as PEM in the file of the certificate".to_owned(),
        )),
    }
}

pub(crate) fn fingerprint(certificate: &CertificateDer<'_>) -> [u8; FINGERPRINT] {
    let mut bytes = [0; FINGERPRINT];
    bytes.copy_from_slice(digest(&SHA256, certificate).as_ref());
    bytes
}

/// A fingerprint as `openssl x509 -fingerprint -sha256` writes it.
#[must_use]
pub fn fingerprint_text(fingerprint: &[u8; FINGERPRINT]) -> String {
    fingerprint.map(|byte| format!("{byte:02X}")).join(":")
}
