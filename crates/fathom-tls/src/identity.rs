//! The certificate of a server and its key.

use std::sync::Arc;

use ring::digest::{SHA256, digest};
/// A connection of a server as a state without a socket.
pub use rustls::ServerConnection;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{Error, InconsistentKeys, ServerConfig, SupportedProtocolVersion};

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
        // A connection lasts as long as a test: none is resumed.
        Identity::of(provider(), certificates, key, |config| {
            config.send_tls13_tickets = 0;
        })
    }

    /// An identity for clients that use HTTP, such as browsers, from PEM texts: the certificate with those between it and its
    /// authority, and its private key, both of RSA, ECDSA or Ed25519.
    ///
    /// # Errors
    /// When one of them is not valid, or they do not belong together.
    pub fn for_browsers(certificates: &[u8], key: &[u8]) -> Result<Identity, TlsError> {
        // Browsers accept no certificate of Ed25519. The other algorithms are in the program for the connections of the store.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        Identity::of(provider, certificates, key, |config| {
            config.alpn_protocols = vec![b"http/1.1".to_vec()];
        })
    }

    fn of(
        provider: Arc<CryptoProvider>,
        certificates: &[u8],
        key: &[u8],
        adapt: impl FnOnce(&mut ServerConfig),
    ) -> Result<Identity, TlsError> {
        let refused = |reason: String| TlsError::Refused(reason);
        let chain = certificates_of(certificates)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| {
            let is_encrypted = key.windows(9).any(|part| part == b"ENCRYPTED");
            refused(if is_encrypted {
                "the private key is encrypted: write it without a passphrase by `openssl pkey`"
                    .to_owned()
            } else {
                "no private key as PEM in the file of the key".to_owned()
            })
        })?;
        let fingerprint = fingerprint(&chain[0]);
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&VERSIONS)
            .map_err(|error| refused(reason(&error)))?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| {
                refused(match error {
                    Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                        "the private key is not that of the first certificate".to_owned()
                    }
                    other => format!("certificate and key: {other}"),
                })
            })?;
        adapt(&mut config);
        Ok(Identity {
            config: Arc::new(config),
            fingerprint,
        })
    }

    /// The server's side of a connection that has not begun.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    pub fn connection(&self) -> Result<ServerConnection, TlsError> {
        ServerConnection::new(self.config.clone())
            .map_err(|error| TlsError::Refused(reason(&error)))
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
