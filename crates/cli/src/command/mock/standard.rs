//! Standard input and output of the mock server, each on its own thread, started before serving. Tokio's versions start threads
//! lazily, and panic or wait forever if none can be started.

use std::io::{self, BufRead as _, Cursor, ErrorKind, Read as _, Write};
use std::pin::Pin;
use std::sync::mpsc as blocking;
use std::task::{Context, Poll, ready};
use std::thread;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;

/// Most bytes that are moved at a time.
const CHUNK: usize = 64 * 1024;

/// What comes over standard input.
pub(super) struct Input {
    chunks: mpsc::Receiver<io::Result<Vec<u8>>>,
    chunk: Cursor<Vec<u8>>,
}

impl Input {
    pub(super) fn start() -> io::Result<Self> {
        let (send, chunks) = mpsc::channel(1);
        thread::Builder::new().spawn(move || {
            let mut input = io::stdin().lock();
            let mut buffer = vec![0; CHUNK];
            loop {
                let chunk = match input.read(&mut buffer) {
                    Ok(0) => return,
                    Ok(length) => Ok(buffer[..length].to_vec()),
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let is_last = chunk.is_err();
                if send.blocking_send(chunk).is_err() || is_last {
                    return;
                }
            }
        })?;
        Ok(Self { chunks, chunk: Cursor::default() })
    }
}

impl AsyncRead for Input {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.chunk.fill_buf()?.is_empty() {
            let Some(chunk) = ready!(self.chunks.poll_recv(cx)) else { return Poll::Ready(Ok(())) };
            self.chunk = Cursor::new(chunk?);
        }
        let there = self.chunk.fill_buf()?;
        let length = there.len().min(buf.remaining());
        buf.put_slice(&there[..length]);
        self.chunk.consume(length);
        Poll::Ready(Ok(()))
    }
}

/// Standard output. Dropping it closes the output.
pub(super) struct Output {
    chunks: blocking::Sender<Vec<u8>>,
    written: mpsc::Receiver<io::Result<()>>,
    /// A chunk is being written.
    is_busy: bool,
}

impl Output {
    pub(super) fn start(mut output: impl Write + Send + 'static) -> io::Result<Self> {
        let (chunks, receive) = blocking::channel::<Vec<u8>>();
        let (send, written) = mpsc::channel(1);
        thread::Builder::new().spawn(move || {
            for chunk in receive {
                let done = output.write_all(&chunk).and_then(|()| output.flush());
                if send.blocking_send(done).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { chunks, written, is_busy: false })
    }

    /// Waits until nothing is being written.
    fn poll_written(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_busy {
            let done = ready!(self.written.poll_recv(cx));
            self.is_busy = false;
            done.unwrap_or_else(|| Err(ErrorKind::BrokenPipe.into()))?;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Output {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_written(cx))?;
        let length = bytes.len().min(CHUNK);
        self.chunks.send(bytes[..length].to_vec()).map_err(|_| ErrorKind::BrokenPipe)?;
        self.is_busy = true;
        Poll::Ready(Ok(length))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_written(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_written(cx)
    }
}

/// Standard output as a file that can be closed, for the fault `drop`: descriptor 1 is redirected to `/dev/null`, so that dropping
/// the result closes the pipe.
#[cfg(unix)]
pub(super) fn output() -> io::Result<impl Write + Send + 'static> {
    use std::fs::{File, OpenOptions};
    use std::os::fd::AsFd as _;
    let own = io::stdout().as_fd().try_clone_to_owned()?;
    let nowhere = OpenOptions::new().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    Ok(File::from(own))
}

/// Elsewhere standard output stays open until the process ends.
#[cfg(not(unix))]
pub(super) fn output() -> io::Result<impl Write + Send + 'static> {
    Ok(io::stdout())
}

/// Resolves when no process can write to standard input anymore, regardless of unread input. Never resolves for a file.
#[cfg(unix)]
pub(super) fn hung_up() -> io::Result<impl Future<Output = ()>> {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;
    use tokio::sync::oneshot;

    let (send, hung_up) = oneshot::channel();
    thread::Builder::new().spawn(move || {
        let input = io::stdin();
        loop {
            // No event is requested: a hangup is always reported.
            let mut watched = [PollFd::new(&input, PollFlags::empty())];
            match poll(&mut watched, None) {
                Ok(_) if watched[0].revents().contains(PollFlags::HUP) => {
                    // The receiver is dropped if the server has ended.
                    let _ = send.send(());
                    return;
                }
                Err(Errno::INTR) => {}
                Ok(_) | Err(_) => return,
            }
        }
    })?;
    Ok(async {
        if hung_up.await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}

/// Elsewhere standard input ends by being read.
#[cfg(not(unix))]
pub(super) fn hung_up() -> io::Result<impl Future<Output = ()>> {
    Ok(std::future::pending())
}
