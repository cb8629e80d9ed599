//! Connections over loopback, with certificates of OpenSSL and with those that the crate makes.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread::JoinHandle;
use std::time::Duration;

use fathom_testkit::{Scratch, skip};
use fathom_tls::{FINGERPRINT, Identity, Stream, TlsError, Trust, fingerprint_text, self_signed};

const CERTIFICATE: &[u8] = include_bytes!("../fixtures/server.pem");
const KEY: &[u8] = include_bytes!("../fixtures/server.key");
/// `openssl x509 -in server.pem -noout -fingerprint -sha256`
const PRINT: &str = "86:98:E6:BB:0C:01:04:C0:3D:A3:89:4F:55:7C:0D:AB:58:D8:D0:59:3B:F4:C1:C4:F9:89:91:48:3A:23:C1:F2";
const LONG: Duration = Duration::from_secs(30);

fn identity() -> Identity {
    Identity::new(CERTIFICATE, KEY).expect("an identity")
}

fn fingerprint(text: &str) -> [u8; FINGERPRINT] {
    let bytes: Vec<u8> = text
        .split(':')
        .map(|byte| u8::from_str_radix(byte, 16).expect("hex"))
        .collect();
    bytes.try_into().expect("32 bytes")
}

/// Connects to a server that returns every byte, and says how its connection ended.
fn connect(
    identity: Identity,
    trust: &Trust,
) -> (Result<Stream, TlsError>, JoinHandle<Result<(), String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = std::thread::spawn(move || {
        let (tcp, _) = listener.accept().expect("a connection");
        tcp.set_read_timeout(Some(LONG)).expect("a timeout");
        let mut stream = Stream::server(tcp, &identity).map_err(|error| error.to_string())?;
        let mut bytes = vec![0; 100_000];
        loop {
            match stream.read(&mut bytes) {
                Ok(0) => return Ok(()),
                Ok(count) => stream
                    .write_all(&bytes[..count])
                    .map_err(|error| error.to_string())?,
                Err(error) => return Err(error.to_string()),
            }
        }
    });
    let tcp = TcpStream::connect(address).expect("connected");
    tcp.set_read_timeout(Some(LONG)).expect("a timeout");
    (Stream::client(tcp, trust), server)
}

/// Sends from one thread and reads in another one; every byte comes back.
fn assert_echo(stream: Stream) {
    let mut reader = stream.try_clone().expect("a copy");
    let mut writer = stream;
    let sent: Vec<u8> = (0..1_000_000_u32).map(|i| (i % 251) as u8).collect();
    let expected = sent.clone();
    let sending = std::thread::spawn(move || {
        for part in sent.chunks(70_000) {
            writer.write_all(part).expect("sent");
        }
        writer.finish().expect("finished");
    });
    let mut received = vec![0; expected.len()];
    reader.read_exact(&mut received).expect("received");
    assert!(received == expected, "other bytes");
    sending.join().expect("sent");
}

#[test]
fn only_the_certificate_with_the_fingerprint_is_accepted() {
    assert_eq!(fingerprint_text(&identity().fingerprint()), PRINT);
    let trust = Trust::new(fingerprint(PRINT)).expect("a fingerprint");
    let (stream, server) = connect(identity(), &trust);
    assert_echo(stream.expect("accepted"));
    server.join().expect("no panic").expect("an orderly end");

    let mut wrong = fingerprint(PRINT);
    wrong[31] ^= 1;
    let trust = Trust::new(wrong).expect("a fingerprint");
    let (refused, server) = connect(identity(), &trust);
    let refused = refused.expect_err("refused").to_string();
    assert!(
        refused.contains("wrong fingerprint") && refused.contains(PRINT),
        "{refused}"
    );
    let reason = server.join().expect("no panic").expect_err("refused");
    assert!(
        reason.contains("did not accept the certificate"),
        "{reason}"
    );
}

/// A certificate with its key from one file of the fixtures.
fn signed(text: &[u8]) -> Identity {
    Identity::new(text, text).expect("an identity")
}

/// The authority signed it for this name, and it is valid now: each of these is needed.
#[test]
fn certificates_of_an_authority_are_accepted_for_their_names_and_dates() {
    const AUTHORITY: &[u8] = include_bytes!("../fixtures/authority.pem");
    const SIGNED: &[u8] = include_bytes!("../fixtures/signed.pem");
    for name in ["localhost", "recorder.example", "127.0.0.1"] {
        let trust = Trust::authority(AUTHORITY, name).expect("an authority");
        let (stream, server) = connect(signed(SIGNED), &trust);
        assert_echo(stream.expect("accepted"));
        server.join().expect("no panic").expect("an orderly end");
    }
    let refusals: [(&[u8], &str, &str); 6] = [
        (SIGNED, "other.example", "is for another name"),
        (SIGNED, "127.0.0.2", "is for another name"),
        (
            include_bytes!("../fixtures/named.pem"),
            "127.0.0.1",
            "is for another name",
        ),
        (
            include_bytes!("../fixtures/foreign.pem"),
            "localhost",
            "not signed by this authority",
        ),
        (
            include_bytes!("../fixtures/expired.pem"),
            "localhost",
            "has expired",
        ),
        (CERTIFICATE, "localhost", "not signed by this authority"),
    ];
    for (certificate, name, expected) in refusals {
        let trust = Trust::authority(AUTHORITY, name).expect("an authority");
        let identity = if certificate == CERTIFICATE {
            identity()
        } else {
            signed(certificate)
        };
        let (refused, server) = connect(identity, &trust);
        let refused = refused.expect_err("refused").to_string();
        assert!(refused.contains(expected), "{name}: {refused}");
        let _ = server.join().expect("no panic").expect_err("refused");
    }
}

/// A certificate of its own is its own authority: the file that `self_signed` makes can be given in place of a fingerprint.
#[test]
fn a_self_signed_certificate_is_its_own_authority() {
    let made = self_signed("recorder").expect("a certificate");
    let identity = Identity::new(made.certificate.as_bytes(), made.key.as_bytes());
    let identity = identity.expect("an identity");
    let trust = Trust::authority(made.certificate.as_bytes(), "recorder").expect("an authority");
    let (stream, server) = connect(identity, &trust);
    assert_echo(stream.expect("accepted"));
    server.join().expect("no panic").expect("an orderly end");
}

#[test]
fn an_authority_without_certificate_or_name_is_refused() {
    for (text, name) in [
        (&b""[..], "localhost"),
        (KEY, "localhost"),
        (CERTIFICATE, "no name"),
        (CERTIFICATE, ""),
    ] {
        assert!(Trust::authority(text, name).is_err(), "{name}");
    }
}

/// A server that has the certificate without its key cannot pass for the right one.
#[test]
fn a_certificate_needs_its_own_key() {
    let other = self_signed("localhost").expect("a certificate");
    let refused = Identity::new(CERTIFICATE, other.key.as_bytes());
    assert!(refused.is_err(), "{refused:?}");
    for (certificate, key) in [(b"" as &[u8], KEY), (CERTIFICATE, b""), (KEY, CERTIFICATE)] {
        assert!(Identity::new(certificate, key).is_err());
    }
}

#[test]
fn a_self_signed_certificate_is_accepted_by_its_fingerprint() {
    let made = self_signed("recorder").expect("a certificate");
    let identity = Identity::new(made.certificate.as_bytes(), made.key.as_bytes());
    let identity = identity.expect("an identity");
    let trust = Trust::new(identity.fingerprint()).expect("a fingerprint");
    let (stream, server) = connect(identity, &trust);
    assert_echo(stream.expect("accepted"));
    server.join().expect("no panic").expect("an orderly end");
    // Each one is new.
    let again = self_signed("recorder").expect("a certificate");
    assert_ne!(again.key, made.key);
}

/// OpenSSL reads a self-signed certificate, computes the same fingerprint, and finds the signature valid.
#[test]
fn openssl_reads_a_self_signed_certificate() {
    let openssl = |arguments: &[&str]| Command::new("openssl").args(arguments).output();
    if openssl(&["version"]).is_err() {
        return skip("openssl is not installed");
    }
    let scratch = Scratch::new().expect("scratch");
    let file = scratch.join("certificate.pem");
    let made = self_signed("recorder").expect("a certificate");
    std::fs::write(&file, &made.certificate).expect("written");
    let name = file.to_str().expect("UTF-8");
    let identity = Identity::new(made.certificate.as_bytes(), made.key.as_bytes());
    let expected = fingerprint_text(&identity.expect("an identity").fingerprint());
    let shown = openssl(&[
        "x509",
        "-in",
        name,
        "-noout",
        "-fingerprint",
        "-sha256",
        "-subject",
        "-enddate",
    ]);
    let shown = String::from_utf8(shown.expect("it ran").stdout).expect("UTF-8");
    assert!(shown.contains(&expected), "{shown}");
    assert!(
        shown.contains("recorder") && shown.contains("9999"),
        "{shown}"
    );
    let verified = openssl(&["verify", "-check_ss_sig", "-CAfile", name, name]).expect("it ran");
    assert!(verified.status.success(), "{verified:?}");
}

/// Without TLS on the other side there is an error at once, in both directions.
#[test]
fn the_other_side_without_tls_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let client = std::thread::spawn(move || {
        let mut tcp = TcpStream::connect(address).expect("connected");
        tcp.write_all(b"GET / HTTP/1.0\r\n\r\n").expect("sent");
        tcp
    });
    let (tcp, _) = listener.accept().expect("a connection");
    tcp.set_read_timeout(Some(LONG)).expect("a timeout");
    let refused = Stream::server(tcp, &identity())
        .expect_err("refused")
        .to_string();
    assert!(refused.contains("does not use TLS"), "{refused}");
    drop(client.join().expect("connected"));

    let server = std::thread::spawn(move || {
        let (mut tcp, _) = listener.accept().expect("a connection");
        tcp.write_all(b"220 mail.example.org ESMTP\r\n")
            .expect("sent");
        tcp
    });
    let trust = Trust::new([0; FINGERPRINT]).expect("a fingerprint");
    let tcp = TcpStream::connect(address).expect("connected");
    tcp.set_read_timeout(Some(LONG)).expect("a timeout");
    let refused = Stream::client(tcp, &trust)
        .expect_err("refused")
        .to_string();
    assert!(refused.contains("does not use TLS"), "{refused}");
    drop(server.join().expect("connected"));
}

/// A changed byte on the way ends the connection: a relay changes one after the handshake.
#[test]
fn a_changed_record_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = std::thread::spawn(move || {
        let (tcp, _) = listener.accept().expect("a connection");
        tcp.set_read_timeout(Some(LONG)).expect("a timeout");
        let mut raw = tcp.try_clone().expect("a copy");
        let mut stream = Stream::server(tcp, &identity()).expect("a handshake");
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("one byte");
        // A record of application data (RFC 8446, 5.2) that no key of the session encrypted.
        let mut forged = vec![23, 3, 3, 0, 32];
        forged.extend([0x55; 32]);
        raw.write_all(&forged).expect("sent");
        let _ = stream.read(&mut byte);
    });
    let trust = Trust::new(fingerprint(PRINT)).expect("a fingerprint");
    let tcp = TcpStream::connect(address).expect("connected");
    tcp.set_read_timeout(Some(LONG)).expect("a timeout");
    let mut stream = Stream::client(tcp, &trust).expect("accepted");
    stream.write_all(b"x").expect("sent");
    let refused = stream.read(&mut [0; 16]).expect_err("not authentic");
    assert_eq!(refused.kind(), std::io::ErrorKind::InvalidData, "{refused}");
    drop(stream);
    server.join().expect("no panic");
}
