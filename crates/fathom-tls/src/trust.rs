//! Which certificate a client accepts.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::verify_tls13_signature;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, OtherError, PeerIncompatible,
    RootCertStore, SignatureScheme,
};

use crate::identity::{VERSIONS, certificates_of, fingerprint};
use crate::provider::{SIGNATURES, provider};
use crate::{FINGERPRINT, TlsError, fingerprint_text, reason};

/// Which certificate a client accepts: one, whatever its names and dates are, or those that an authority signed.
#[derive(Clone, Debug)]
pub struct Trust {
    pub(crate) config: Arc<ClientConfig>,
    /// The name that the certificate must have; `None` where names play no part.
    pub(crate) name: Option<ServerName<'static>>,
}

impl Trust {
    /// Trust in the certificate with this SHA-256 fingerprint.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    pub fn new(expected: [u8; FINGERPRINT]) -> Result<Trust, TlsError> {
        let config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&VERSIONS)
            .map_err(|error| TlsError::Refused(reason(&error)))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Pinned { expected }))
            .with_no_client_auth();
        Ok(Trust {
            config: Arc::new(config),
            name: None,
        })
    }

    /// Whether names and dates of the certificate count.
    #[must_use]
    pub fn has_name(&self) -> bool {
        self.name.is_some()
    }

    /// Trust in the certificates for `host` (a name or an address) that one of the authorities in the PEM text `authorities` signed,
    /// as long as they are valid. All keys are of Ed25519. A certificate without an authority is its own.
    ///
    /// # Errors
    /// When there is no certificate in the text, or `host` cannot be in a certificate.
    pub fn authority(authorities: &[u8], host: &str) -> Result<Trust, TlsError> {
        let refused = |reason: String| TlsError::Refused(reason);
        let name = ServerName::try_from(host.to_owned()).map_err(|_| {
            refused(format!(
                "'{}' cannot be the name in a certificate",
                host.escape_debug()
            ))
        })?;
        let mut roots = RootCertStore::empty();
        for certificate in certificates_of(authorities)? {
            roots
                .add(certificate)
                .map_err(|error| refused(format!("a certificate is not valid: {error}")))?;
        }
        let config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&VERSIONS)
            .map_err(|error| refused(reason(&error)))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Trust {
            config: Arc::new(config),
            name: Some(name),
        })
    }
}

/// Accepts one certificate.
#[derive(Debug)]
struct Pinned {
    expected: [u8; FINGERPRINT],
}

/// The certificate is another one.
#[derive(Debug)]
struct WrongFingerprint {
    found: [u8; FINGERPRINT],
}

impl std::fmt::Display for WrongFingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "wrong fingerprint: the other side has a certificate with the SHA-256 fingerprint {}",
            fingerprint_text(&self.found)
        )
    }
}

impl std::error::Error for WrongFingerprint {}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let found = fingerprint(end_entity);
        if found == self.expected {
            Ok(ServerCertVerified::assertion())
        } else {
            let wrong = OtherError(Arc::new(WrongFingerprint { found }));
            Err(CertificateError::Other(wrong).into())
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        // TLS 1.2 is not offered.
        Err(PeerIncompatible::Tls12NotOffered.into())
    }

    /// The other side has the key of the certificate.
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &SIGNATURES)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        SIGNATURES.supported_schemes()
    }
}
