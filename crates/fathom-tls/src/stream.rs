//! A connection with or without TLS.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection, ServerConnection};

use crate::{Identity, TlsError, Trust};

/// A TCP connection, with TLS if it was opened so. Copies of it share the connection: one may read while another one writes.
#[derive(Debug)]
pub struct Stream {
    tcp: TcpStream,
    tls: Option<Arc<Tls>>,
}

#[derive(Debug)]
struct Tls {
    connection: Mutex<Connection>,
    /// Held by the one who sends, so that records leave in the order in which they were encrypted; never while one waits for
    /// data of the other side.
    sending: Mutex<()>,
}

impl Tls {
    fn new(connection: Connection) -> Arc<Tls> {
        Arc::new(Tls {
            connection: Mutex::new(connection),
            sending: Mutex::new(()),
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Exchanges keys and certificates.
fn handshake(connection: &mut Connection, tcp: &mut TcpStream) -> Result<(), TlsError> {
    while connection.is_handshaking() {
        connection.complete_io(tcp)?;
    }
    // What the last step of the handshake left to be sent.
    while connection.wants_write() {
        connection.write_tls(tcp)?;
    }
    Ok(())
}

fn set_up(error: &rustls::Error) -> TlsError {
    TlsError::Refused(crate::reason(error))
}

impl Stream {
    /// A connection without TLS.
    #[must_use]
    pub fn plain(tcp: TcpStream) -> Stream {
        Stream { tcp, tls: None }
    }

    /// The side of a server. The timeouts of `tcp` hold for the handshake.
    ///
    /// # Errors
    /// When the connection fails, or the other side does not use TLS or does not accept the certificate.
    pub fn server(mut tcp: TcpStream, identity: &Identity) -> Result<Stream, TlsError> {
        let connection = ServerConnection::new(identity.config.clone());
        let mut connection = Connection::from(connection.map_err(|error| set_up(&error))?);
        handshake(&mut connection, &mut tcp)?;
        Ok(Stream {
            tcp,
            tls: Some(Tls::new(connection)),
        })
    }

    /// The side of a client. The timeouts of `tcp` hold for the handshake.
    ///
    /// # Errors
    /// When the connection fails, the other side does not use TLS, or its certificate is not accepted.
    pub fn client(mut tcp: TcpStream, trust: &Trust) -> Result<Stream, TlsError> {
        // An address is not sent, and a certificate that is known by its fingerprint needs no name.
        let name = match &trust.name {
            Some(name) => name.clone(),
            None => ServerName::from(tcp.peer_addr()?.ip()),
        };
        let connection = ClientConnection::new(trust.config.clone(), name);
        let mut connection = Connection::from(connection.map_err(|error| set_up(&error))?);
        handshake(&mut connection, &mut tcp)?;
        Ok(Stream {
            tcp,
            tls: Some(Tls::new(connection)),
        })
    }

    /// The same connection once more.
    ///
    /// # Errors
    /// When the process has too many open files.
    pub fn try_clone(&self) -> io::Result<Stream> {
        Ok(Stream {
            tcp: self.tcp.try_clone()?,
            tls: self.tls.clone(),
        })
    }

    /// The longest time that a read waits.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn set_read_timeout(&self, time: Option<Duration>) -> io::Result<()> {
        self.tcp.set_read_timeout(time)
    }

    /// Says that nothing more will be sent.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn finish(&mut self) -> io::Result<()> {
        if let Some(tls) = self.tls.clone() {
            self.send(&tls, |connection| {
                connection.send_close_notify();
                Ok(())
            })?;
        }
        self.tcp.shutdown(Shutdown::Write)
    }

    /// Ends the connection for all copies; one that waits for data reads its end.
    ///
    /// # Errors
    /// When the connection is already lost.
    pub fn shut_down(&self) -> io::Result<()> {
        self.tcp.shutdown(Shutdown::Both)
    }

    /// Addresses of this side and of the other one.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn addresses(&self) -> io::Result<(SocketAddr, SocketAddr)> {
        Ok((self.tcp.local_addr()?, self.tcp.peer_addr()?))
    }

    /// Encrypts what `fill` gives to the connection, and sends it.
    fn send<T>(
        &mut self,
        tls: &Tls,
        fill: impl FnOnce(&mut Connection) -> io::Result<T>,
    ) -> io::Result<T> {
        let _order = lock(&tls.sending);
        let mut sealed = Vec::new();
        let filled = {
            let mut connection = lock(&tls.connection);
            let filled = fill(&mut connection)?;
            while connection.wants_write() {
                connection.write_tls(&mut sealed)?;
            }
            filled
        };
        self.tcp.write_all(&sealed)?;
        Ok(filled)
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &self.tls else {
            return self.tcp.read(buffer);
        };
        loop {
            match lock(&tls.connection).reader().read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                done => return done,
            }
            // Waits without the lock, so that another thread can send.
            self.tcp.peek(&mut [0])?;
            let mut connection = lock(&tls.connection);
            connection.read_tls(&mut self.tcp)?;
            if let Err(error) = connection.process_new_packets() {
                return Err(io::Error::new(ErrorKind::InvalidData, error));
            }
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.tls.clone() {
            None => self.tcp.write(bytes),
            Some(tls) => self.send(&tls, |connection| connection.writer().write(bytes)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.tcp.flush()
    }
}
