//! Connects hyper with tokio: sockets, timers and bodies.

use std::convert::Infallible;
use std::future::Future;
use std::io::{self, Read as _, Write as _};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use fathom_tls::ServerConnection;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::rt::{ReadBufCursor, Sleep, Timer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::mpsc::Receiver;

/// A client that takes nothing for this long is gone.
const WRITE_PATIENCE: Duration = Duration::from_secs(20);

/// A connection of a client, with or without TLS.
pub(crate) struct Socket {
    tcp: TcpStream,
    tls: Option<Box<ServerConnection>>,
    /// When a write that waits fails.
    deadline: Option<Pin<Box<tokio::time::Sleep>>>,
}

/// The socket for TLS, which reads and writes what is possible at once.
struct Now<'a>(&'a TcpStream);

impl io::Read for Now<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buffer)
    }
}

impl io::Write for Now<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Socket {
    pub fn new(tcp: TcpStream, tls: Option<ServerConnection>) -> Socket {
        Socket {
            tcp,
            tls: tls.map(Box::new),
            deadline: None,
        }
    }

    /// Agrees on the keys of TLS, if the connection has it.
    pub async fn handshake(&mut self) -> io::Result<()> {
        std::future::poll_fn(|context| {
            loop {
                ready!(self.send(context))?;
                match &self.tls {
                    Some(tls) if tls.is_handshaking() => {}
                    _ => return Poll::Ready(Ok(())),
                }
                if ready!(self.receive(context))? == 0 {
                    return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
                }
            }
        })
        .await
    }

    /// Sends the encrypted bytes that wait.
    fn send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(tls) = &mut self.tls else {
            return Poll::Ready(Ok(()));
        };
        while tls.wants_write() {
            ready!(self.tcp.poll_write_ready(context))?;
            match tls.write_tls(&mut Now(&self.tcp)) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                    return Poll::Ready(Err(error));
                }
                // The next iteration waits.
                Ok(_) | Err(_) => {}
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Receives encrypted bytes and decrypts them; 0 at the end of the connection.
    fn receive(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Some(tls) = &mut self.tls else {
            return Poll::Ready(Ok(0));
        };
        loop {
            ready!(self.tcp.poll_read_ready(context))?;
            match tls.read_tls(&mut Now(&self.tcp)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
                Ok(received) => {
                    if let Err(error) = tls.process_new_packets() {
                        // The client gets the reason if it takes it.
                        let _ = self.send(context);
                        return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, error)));
                    }
                    return Poll::Ready(Ok(received));
                }
            }
        }
    }

    /// Decrypted bytes, into the buffer; 0 at the end.
    fn read_decrypted(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            match self.tls.as_mut().map(|tls| tls.reader().read(buffer)) {
                Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Without the last message of TLS: HTTP knows whether the request is whole.
                Some(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Poll::Ready(Ok(0));
                }
                Some(done) => return Poll::Ready(done),
                None => return Poll::Ready(Ok(0)),
            }
            // TLS can have messages of its own to send; whether they are sent now does not matter here.
            if let Poll::Ready(Err(error)) = self.send(context) {
                return Poll::Ready(Err(error));
            }
            ready!(self.receive(context))?;
        }
    }

    fn limit<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.deadline = None;
            return written;
        }
        let deadline = self
            .deadline
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(WRITE_PATIENCE)));
        match deadline.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl hyper::rt::Read for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        // A copy of at most this much, in place of `unsafe` code.
        let mut buffer = [0; 4096];
        let most = into.remaining().min(buffer.len());
        if self.tls.is_some() {
            let read = ready!(self.read_decrypted(context, &mut buffer[..most]))?;
            into.put_slice(&buffer[..read]);
            return Poll::Ready(Ok(()));
        }
        let mut read = ReadBuf::new(&mut buffer[..most]);
        match Pin::new(&mut self.tcp).poll_read(context, &mut read) {
            Poll::Ready(Ok(())) => {
                into.put_slice(read.filled());
                Poll::Ready(Ok(()))
            }
            other => other,
        }
    }
}

impl hyper::rt::Write for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = if self.tls.is_some() {
            // What was encrypted before goes first, so that no more than one buffer waits.
            match self.send(context) {
                Poll::Ready(Ok(())) => {
                    let written = self.tls.as_mut().map(|tls| tls.writer().write(bytes));
                    let begun = self.send(context);
                    match (written, begun) {
                        (Some(Ok(written)), Poll::Ready(Ok(())) | Poll::Pending) => {
                            Poll::Ready(Ok(written))
                        }
                        (Some(Err(error)), _) | (_, Poll::Ready(Err(error))) => {
                            Poll::Ready(Err(error))
                        }
                        (None, _) => Poll::Ready(Ok(0)),
                    }
                }
                Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                Poll::Pending => Poll::Pending,
            }
        } else {
            Pin::new(&mut self.tcp).poll_write(context, bytes)
        };
        self.limit(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = match self.send(context) {
            Poll::Ready(Ok(())) => Pin::new(&mut self.tcp).poll_flush(context),
            other => other,
        };
        self.limit(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(tls) = &mut self.tls {
            // Once only: TLS ignores further ones.
            tls.send_close_notify();
            let sent = self.send(context);
            ready!(self.limit(context, sent))?;
        }
        Pin::new(&mut self.tcp).poll_shutdown(context)
    }
}

/// The timers of hyper.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokioTimer;

struct TokioSleep(Pin<Box<tokio::time::Sleep>>);

impl Future for TokioSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(context)
    }
}

impl Sleep for TokioSleep {}

impl Timer for TokioTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(TokioSleep(Box::pin(tokio::time::sleep(duration))))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(TokioSleep(Box::pin(tokio::time::sleep_until(
            deadline.into(),
        ))))
    }
}

/// The body of an answer.
pub(crate) enum Sent {
    /// All of it.
    Whole(Option<Bytes>),
    /// Events until the sender ends.
    Events(Receiver<Bytes>),
}

impl Body for Sent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Sent::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Sent::Events(events) => events
                .poll_recv(context)
                .map(|event| event.map(|event| Ok(Frame::data(event)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Sent::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Sent::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Sent::Events(_) => SizeHint::default(),
        }
    }
}
