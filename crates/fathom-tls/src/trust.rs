//! Which certificate a client accepts.

use std::io::{Read, Write};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientConnection, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::verify_tls13_signature;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, OtherError, PeerIncompatible,
    RootCertStore, SignatureScheme, StreamOwned,
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
        let name = name_of(host)?;
        let authorities = Authorities::of_pem(authorities)?;
        let config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&VERSIONS)
            .map_err(|error| TlsError::Refused(reason(&error)))?
            .with_root_certificates(authorities.roots)
            .with_no_client_auth();
        Ok(Trust {
            config: Arc::new(config),
            name: Some(name),
        })
    }

    /// Trust in the certificates for `host` (a name or an address) of RSA, ECDSA or Ed25519 that one of the authorities signed, or that
    /// are one of them, as long as they are valid: for servers that are not fathom.
    ///
    /// # Errors
    /// When `host` cannot be in a certificate.
    pub fn web(authorities: &Authorities, host: &str) -> Result<Trust, TlsError> {
        let refused = |reason: String| TlsError::Refused(reason);
        let name = name_of(host)?;
        // The algorithms are in the program for the connections of the store.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let usual = WebPkiServerVerifier::builder_with_provider(
            authorities.roots.clone(),
            provider.clone(),
        )
        .build()
        .map_err(|error| refused(format!("TLS: {error}")))?;
        let own = authorities.named.clone();
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&VERSIONS)
            .map_err(|error| refused(reason(&error)))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Web { usual, own }))
            .with_no_client_auth();
        Ok(Trust {
            config: Arc::new(config),
            name: Some(name),
        })
    }

    /// A connection over `io`, whose errors and limits of time are its own. For a trust with a name.
    ///
    /// # Errors
    /// When the connection fails, the other side does not use TLS, or its certificate is not accepted.
    pub fn over<T: Read + Write>(
        &self,
        mut io: T,
    ) -> Result<StreamOwned<ClientConnection, T>, TlsError> {
        let name = self.name.clone().ok_or_else(|| {
            TlsError::Refused("the name of the other side is not known".to_owned())
        })?;
        let mut connection = ClientConnection::new(self.config.clone(), name)
            .map_err(|error| TlsError::Refused(reason(&error)))?;
        while connection.is_handshaking() {
            connection.complete_io(&mut io)?;
        }
        Ok(StreamOwned::new(connection, io))
    }
}

/// The name that a certificate must have.
fn name_of(host: &str) -> Result<ServerName<'static>, TlsError> {
    ServerName::try_from(host.to_owned()).map_err(|_| {
        TlsError::Refused(format!(
            "'{}' cannot be the name in a certificate",
            host.escape_debug()
        ))
    })
}

/// Certificates of authorities.
#[derive(Clone, Debug)]
pub struct Authorities {
    roots: Arc<RootCertStore>,
    /// Those that somebody named.
    named: Vec<CertificateDer<'static>>,
}

impl Authorities {
    /// Those of a PEM text; at least one. A certificate without an authority is its own.
    ///
    /// # Errors
    /// When there is none, or one is not valid.
    pub fn of_pem(text: &[u8]) -> Result<Authorities, TlsError> {
        let mut roots = RootCertStore::empty();
        let named = certificates_of(text)?;
        for certificate in &named {
            roots.add(certificate.clone()).map_err(|error| {
                TlsError::Refused(format!("a certificate is not valid: {error}"))
            })?;
        }
        Ok(Authorities {
            roots: Arc::new(roots),
            named,
        })
    }

    /// Those that can be used of a list in DER, as of a system, which may have old ones.
    ///
    /// # Errors
    /// When there is none.
    pub fn of_der(
        certificates: impl IntoIterator<Item = Vec<u8>>,
    ) -> Result<Authorities, TlsError> {
        let mut roots = RootCertStore::empty();
        let (added, _) =
            roots.add_parsable_certificates(certificates.into_iter().map(CertificateDer::from));
        if added == 0 {
            return Err(TlsError::Refused(
                "this system has no certificates of authorities: install its package `ca-certificates`"
                    .to_owned(),
            ));
        }
        Ok(Authorities {
            roots: Arc::new(roots),
            named: Vec::new(),
        })
    }
}

/// Accepts what is usual on the web, and a certificate that somebody named, for its names and within its dates, also if it may sign others:
/// `openssl req -x509` makes such ones.
#[derive(Debug)]
struct Web {
    usual: Arc<WebPkiServerVerifier>,
    own: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Web {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.usual.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verified {
            // The dates were compared before.
            Err(Error::InvalidCertificate(problem))
                if format!("{problem:?}").contains("CaUsedAsEndEntity")
                    && self.own.iter().any(|own| **own == **end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
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
