//! Acknowledgements over TCP.
//!
//! Both sides prove with HMAC-SHA-256 (RFC 2104) that they have the token; the token itself is never sent. Every frame has a
//! number and a code of the session, so that it cannot be changed, repeated or left out. Frames are not encrypted unless the
//! connection has TLS: they contain numbers of commits, the names of files that fathom chose, and results.
//!
//! ```text
//! recorder: "FDUR", version, nonce          writer: nonce, proof          recorder: status, proof
//! then frames: length (u32), content, code (16 bytes)
//! ```

use std::io::{self, Read};

use sha2::{Digest, Sha256};

use crate::log::{Entry, MAX_ENTRY};

/// Version of the protocol.
const VERSION: u8 = 1;
/// In place of the version: the recorder waits for TLS.
const NEEDS_TLS: u8 = 0xff;
const MAGIC: &[u8; 4] = b"FDUR";
/// Bytes of a nonce.
pub const NONCE: usize = 32;
const PROOF: usize = 32;
/// Bytes of the code of a frame.
const CODE: usize = 16;
/// The largest content of a frame.
const MAX_CONTENT: usize = MAX_ENTRY + 64;
/// Bytes of a log in one frame.
pub const LOG_PIECE: usize = 64 << 10;
/// The shortest token.
const MIN_TOKEN: usize = 16;
/// The longest token.
const MAX_TOKEN: usize = 1024;

/// A secret that the recorder and the writer share.
#[derive(Clone)]
pub struct Token(Vec<u8>);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// A token from the content of a file; spaces and line ends around it are ignored.
    ///
    /// # Errors
    /// When it is too short or too long.
    pub fn new(text: &[u8]) -> Result<Token, String> {
        let token = text.trim_ascii();
        match token.len() {
            length if length < MIN_TOKEN => Err(format!(
                "the token has {length} characters; at least {MIN_TOKEN} are required"
            )),
            length if length > MAX_TOKEN => Err(format!(
                "the token has {length} characters; at most {MAX_TOKEN} are allowed"
            )),
            _ => Ok(Token(token.to_vec())),
        }
    }
}

/// Why a connection ends.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The connection failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The other side is another program.
    #[error("the other side is not a recorder of this version of fathom")]
    OtherProtocol,
    /// The recorder waits for TLS.
    #[error(
        "the recorder uses TLS: give --tls-fingerprint with the fingerprint that it printed at its start"
    )]
    NeedsTls,
    /// The tokens differ.
    #[error("wrong token: the recorder and the writer need the same token file")]
    WrongToken,
    /// A frame has a wrong code.
    #[error("a message was changed on the way")]
    Changed,
    /// A frame that no version sends.
    #[error("invalid message: {0}")]
    Invalid(String),
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// To the recorder: an entry of the log.
    Entry(Entry),
    /// To the recorder: send the log.
    Fetch,
    /// To the recorder: the writer still runs.
    Ping,
    /// From the recorder: this many acknowledgements of this connection are stored, and every entry before them.
    Stored(u64),
    /// From the recorder: a piece of the log; an empty piece ends it.
    Log(Vec<u8>),
    /// From the recorder: why it does not do what was requested.
    Refused(String),
}

impl Message {
    fn encode(&self) -> Vec<u8> {
        match self {
            Message::Entry(entry) => [b"E", &entry.encode()[..]].concat(),
            Message::Fetch => b"F".to_vec(),
            Message::Ping => b"P".to_vec(),
            Message::Stored(count) => [b"S", &count.to_le_bytes()[..]].concat(),
            Message::Log(piece) => [b"L", &piece[..]].concat(),
            Message::Refused(text) => [b"R", text.as_bytes()].concat(),
        }
    }

    fn decode(content: &[u8]) -> Result<Message, WireError> {
        let invalid = |text: &str| WireError::Invalid(text.to_owned());
        let (kind, rest) = content.split_first().ok_or_else(|| invalid("empty"))?;
        Ok(match kind {
            b'E' => Message::Entry(Entry::decode_framed(rest).map_err(WireError::Invalid)?),
            b'F' if rest.is_empty() => Message::Fetch,
            b'P' if rest.is_empty() => Message::Ping,
            b'S' => {
                let count = rest.try_into().map_err(|_| invalid("count"))?;
                Message::Stored(u64::from_le_bytes(count))
            }
            b'L' => Message::Log(rest.to_vec()),
            b'R' => Message::Refused(String::from_utf8_lossy(rest).into_owned()),
            _ => return Err(invalid("unknown kind")),
        })
    }
}

/// A side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Sends acknowledgements, or asks for the log.
    Writer,
    /// Stores them.
    Recorder,
}

impl Side {
    fn byte(self) -> u8 {
        match self {
            Side::Writer => b'W',
            Side::Recorder => b'R',
        }
    }

    fn other(self) -> Side {
        match self {
            Side::Writer => Side::Recorder,
            Side::Recorder => Side::Writer,
        }
    }
}

/// One direction of an authenticated connection.
#[derive(Clone, Debug)]
pub struct Channel {
    key: [u8; PROOF],
    from: Side,
    count: u64,
}

/// The two directions of an authenticated connection.
#[derive(Clone, Debug)]
pub struct Session {
    /// To the other side.
    pub outgoing: Channel,
    /// From the other side.
    pub incoming: Channel,
}

impl Session {
    fn new(token: &Token, side: Side, recorder: &[u8], writer: &[u8]) -> Session {
        let key = hmac(&token.0, &[b"session", recorder, writer]);
        let channel = |from| Channel {
            key,
            from,
            count: 0,
        };
        Session {
            outgoing: channel(side),
            incoming: channel(side.other()),
        }
    }
}

impl Channel {
    /// The bytes of a message.
    #[must_use]
    pub fn seal(&mut self, message: &Message) -> Vec<u8> {
        let content = message.encode();
        let length = (content.len() as u32).to_le_bytes();
        let code = self.code(&length, &content);
        [&length[..], &content, &code].concat()
    }

    /// Reads a message; blocks until it is complete.
    ///
    /// # Errors
    /// When the connection fails or ends, or the message is not authentic.
    pub fn receive(&mut self, stream: &mut impl Read) -> Result<Message, WireError> {
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let bytes = u32::from_le_bytes(length) as usize;
        if bytes > MAX_CONTENT {
            return Err(WireError::Invalid(format!("{bytes} bytes")));
        }
        let mut content = vec![0; bytes];
        stream.read_exact(&mut content)?;
        let mut code = [0; CODE];
        stream.read_exact(&mut code)?;
        if !equal(&self.code(&length, &content), &code) {
            return Err(WireError::Changed);
        }
        Message::decode(&content)
    }

    fn code(&mut self, length: &[u8], content: &[u8]) -> [u8; CODE] {
        let count = self.count.to_le_bytes();
        self.count += 1;
        let full = hmac(&self.key, &[&[self.from.byte()], &count, length, content]);
        let mut code = [0; CODE];
        code.copy_from_slice(&full[..CODE]);
        code
    }
}

/// The first bytes of the recorder.
#[must_use]
pub fn greeting(nonce: &[u8; NONCE]) -> Vec<u8> {
    [&MAGIC[..], &[VERSION], nonce].concat()
}

/// What a recorder with TLS sends to a writer that does not begin TLS.
#[must_use]
pub fn tls_greeting() -> Vec<u8> {
    [&MAGIC[..], &[NEEDS_TLS], &[0; NONCE]].concat()
}

/// The answer of the writer to the greeting, and the session if the recorder accepts it.
///
/// # Errors
/// When the connection fails or the other side is not a recorder.
pub fn answer(
    token: &Token,
    nonce: &[u8; NONCE],
    stream: &mut impl Read,
) -> Result<(Vec<u8>, PendingSession), WireError> {
    let mut greeting = [0; MAGIC.len() + 1 + NONCE];
    stream.read_exact(&mut greeting)?;
    if &greeting[..4] == MAGIC && greeting[4] == NEEDS_TLS {
        return Err(WireError::NeedsTls);
    }
    if &greeting[..4] != MAGIC || greeting[4] != VERSION {
        return Err(WireError::OtherProtocol);
    }
    let recorder = &greeting[5..];
    let proof = hmac(&token.0, &[b"writer", recorder, nonce]);
    let pending = PendingSession {
        expected: hmac(&token.0, &[b"recorder", nonce, recorder]),
        session: Session::new(token, Side::Writer, recorder, nonce),
    };
    Ok(([&nonce[..], &proof].concat(), pending))
}

/// The session of a writer before the recorder has proved that it has the token.
pub struct PendingSession {
    expected: [u8; PROOF],
    session: Session,
}

impl PendingSession {
    /// Reads the decision of the recorder.
    ///
    /// # Errors
    /// When the tokens differ.
    pub fn accept(self, stream: &mut impl Read) -> Result<Session, WireError> {
        let mut decision = [0; 1 + PROOF];
        stream.read_exact(&mut decision)?;
        if decision[0] != 0 || !equal(&decision[1..], &self.expected) {
            return Err(WireError::WrongToken);
        }
        Ok(self.session)
    }
}

/// The decision of the recorder on the answer of a writer, and the session if the token is right.
///
/// # Errors
/// When the connection fails.
pub fn decide(
    token: &Token,
    nonce: &[u8; NONCE],
    stream: &mut impl Read,
) -> Result<(Vec<u8>, Option<Session>), WireError> {
    let mut answer = [0; NONCE + PROOF];
    stream.read_exact(&mut answer)?;
    let (writer, proof) = answer.split_at(NONCE);
    if !equal(proof, &hmac(&token.0, &[b"writer", nonce, writer])) {
        return Ok((vec![1; 1 + PROOF], None));
    }
    let own = hmac(&token.0, &[b"recorder", writer, nonce]);
    let session = Session::new(token, Side::Recorder, nonce, writer);
    Ok(([&[0][..], &own].concat(), Some(session)))
}

/// HMAC-SHA-256 (RFC 2104) of the parts, each preceded by its length.
fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; PROOF] {
    let mut message = Vec::new();
    for part in parts {
        message.extend((part.len() as u64).to_le_bytes());
        message.extend(*part);
    }
    hmac_sha256(key, &message)
}

/// HMAC-SHA-256 of a message (RFC 2104).
#[must_use]
pub fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; PROOF] {
    const BLOCK: usize = 64;
    let mut block = [0; BLOCK];
    if key.len() > BLOCK {
        block[..PROOF].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let inner = Sha256::new()
        .chain_update(block.map(|byte| byte ^ 0x36))
        .chain_update(message)
        .finalize();
    Sha256::new()
        .chain_update(block.map(|byte| byte ^ 0x5c))
        .chain_update(inner)
        .finalize()
        .into()
}

/// Compares in a time that does not depend on the content.
fn equal(a: &[u8], b: &[u8]) -> bool {
    let differences = a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && std::hint::black_box(differences) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(text: &str) -> Token {
        Token::new(text.as_bytes()).expect("a token")
    }

    /// Test cases 1, 2 and 6 of RFC 4231.
    #[test]
    fn codes_are_those_of_rfc_4231() {
        let hex = |bytes: [u8; 32]| bytes.map(|byte| format!("{byte:02x}")).concat();
        assert_eq!(
            hex(hmac_sha256(&[0x0b; 20], b"Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
        assert_eq!(
            hex(hmac_sha256(b"Jefe", b"what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            hex(hmac_sha256(
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First"
            )),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }

    fn connect(writer: &Token, recorder: &Token) -> Result<(Session, Session), WireError> {
        let (recorder_nonce, writer_nonce) = ([1; NONCE], [2; NONCE]);
        let hello = greeting(&recorder_nonce);
        let (reply, pending) = answer(writer, &writer_nonce, &mut &hello[..])?;
        let (decision, session) = decide(recorder, &recorder_nonce, &mut &reply[..])?;
        let own = pending.accept(&mut &decision[..])?;
        Ok((own, session.expect("accepted by the writer too")))
    }

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let (mut writer, mut recorder) =
            connect(&token("a token of 16 b."), &token("a token of 16 b.\n")).expect("a session");
        for message in [
            Message::Entry(Entry::Acknowledged(vec![(3, 9), (0, u64::MAX)])),
            Message::Fetch,
            Message::Ping,
        ] {
            let bytes = writer.outgoing.seal(&message);
            assert_eq!(
                recorder.incoming.receive(&mut &bytes[..]).expect("ok"),
                message
            );
        }
        for message in [
            Message::Stored(7),
            Message::Log(vec![1, 2]),
            Message::Refused("busy".to_owned()),
        ] {
            let bytes = recorder.outgoing.seal(&message);
            assert_eq!(
                writer.incoming.receive(&mut &bytes[..]).expect("ok"),
                message
            );
        }
    }

    #[test]
    fn a_recorder_with_tls_says_so() {
        let needs = tls_greeting();
        let refused = answer(&token("a token of 16 b."), &[2; NONCE], &mut &needs[..]);
        assert!(matches!(refused, Err(WireError::NeedsTls)));
    }

    #[test]
    fn a_wrong_token_is_refused() {
        let refused = connect(&token("a token of 16 b."), &token("another of 16 b."));
        assert!(matches!(refused, Err(WireError::WrongToken)));
        assert!(Token::new(b"short\n").is_err() && Token::new(&[b'x'; 2000]).is_err());
        assert_eq!(format!("{:?}", token("a token of 16 b.")), "Token");
    }

    #[test]
    fn changed_repeated_and_missing_messages_are_refused() {
        let session =
            || connect(&token("a token of 16 b."), &token("a token of 16 b.")).expect("ok");
        let ack = Message::Entry(Entry::Acknowledged(vec![(0, 1)]));
        let (mut writer, _) = session();
        let (first, second) = (writer.outgoing.seal(&ack), writer.outgoing.seal(&ack));
        for at in 4..first.len() {
            let (_, mut recorder) = session();
            let mut changed = first.clone();
            changed[at] ^= 1;
            assert!(
                recorder.incoming.receive(&mut &changed[..]).is_err(),
                "byte {at}"
            );
        }
        let (_, mut recorder) = session();
        recorder.incoming.receive(&mut &first[..]).expect("intact");
        let repeated = recorder.incoming.receive(&mut &first[..]);
        assert!(matches!(repeated, Err(WireError::Changed)));
        let (_, mut recorder) = session();
        let skipped = recorder.incoming.receive(&mut &second[..]);
        assert!(matches!(skipped, Err(WireError::Changed)));
    }

    /// The length of a frame is bounded before memory is allocated.
    #[test]
    fn any_bytes_are_refused_without_a_panic() {
        let own = token("a token of 16 b.");
        proptest::proptest!(|(bytes: Vec<u8>)| {
            let (_, mut recorder) = connect(&own, &own).expect("ok");
            assert!(recorder.incoming.receive(&mut &bytes[..]).is_err());
            assert!(answer(&own, &[0; NONCE], &mut &bytes[..]).is_err());
        });
        let (_, mut recorder) = connect(&own, &own).expect("ok");
        let huge = recorder.incoming.receive(&mut &[0xff; 64][..]);
        assert!(matches!(huge, Err(WireError::Invalid(_))));
    }
}
