//! TLS 1.3 for connections between hosts.
//!
//! * [`Identity`]: the certificate of a server and its key; [`self_signed`] makes one. [`Identity::for_browsers`] is for clients that
//!   are not fathom, and [`Identity::connection`] a connection of it for a server that does its own I/O.
//! * [`Trust`]: which certificate a client accepts: the one with a known fingerprint, or those that an authority signed. [`Trust::web`]
//!   is for servers that are not fathom, and [`Trust::over`] a connection of it over any transport.
//! * [`Stream`]: a connection with or without TLS, which one thread may read while another one writes.
//!
//! The crate opens no file and no connection of its own.

mod certificate;
mod identity;
mod provider;
mod stream;
mod trust;

pub use certificate::{SelfSigned, self_signed};
pub use identity::{Identity, ServerConnection, fingerprint_text};
pub use stream::Stream;
pub use trust::{Authorities, Trust};

/// Bytes of a fingerprint: SHA-256 of the certificate.
pub const FINGERPRINT: usize = 32;

/// Why there is no connection with TLS.
#[derive(Debug)]
pub enum TlsError {
    /// The connection failed.
    Io(std::io::Error),
    /// A certificate, a key or a message of the other side is not valid or not accepted: a sentence.
    Refused(String),
}

impl std::fmt::Display for TlsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TlsError::Io(error) => error.fmt(f),
            TlsError::Refused(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for TlsError {}

impl From<std::io::Error> for TlsError {
    fn from(error: std::io::Error) -> TlsError {
        let reason = error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<rustls::Error>())
            .map(reason);
        reason.map_or(TlsError::Io(error), TlsError::Refused)
    }
}

/// What an error of the protocol means.
fn reason(error: &rustls::Error) -> String {
    use rustls::{AlertDescription, CertificateError, Error};
    match error {
        Error::InvalidMessage(_) => {
            "the other side does not use TLS: it sent something else".to_owned()
        }
        Error::InvalidCertificate(CertificateError::Other(inner)) => inner.to_string(),
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "the certificate of the other side is not signed by this authority".to_owned()
        }
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "the certificate of the other side is for another name".to_owned(),
        Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        ) => "the certificate of the other side has expired".to_owned(),
        Error::InvalidCertificate(problem) => {
            format!("the certificate of the other side is not accepted: {problem}")
        }
        Error::AlertReceived(
            AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::CertificateExpired,
        ) => "the other side did not accept the certificate".to_owned(),
        other => format!("TLS: {other}"),
    }
}
