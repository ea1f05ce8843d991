//! Messages as lines over two pipes: a reader with a maximum line length, and a writer that never writes half a line.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::exchange::{End, Exchange};

/// The longest line that is read.
pub const MAX_LINE: usize = 16 * 1024 * 1024;

/// Lines that wait to be written. A server that stops reading blocks only its own callers.
const QUEUE: usize = 64;
/// The buffer that a reader keeps between lines.
const KEPT: usize = 64 * 1024;
/// How long the rest of the pipe may take to arrive after the server exited. A process that left the server's group can keep
/// the pipe open forever.
pub(crate) const DRAIN_GRACE: Duration = Duration::from_millis(250);

/// The tasks that move lines between an exchange and a server. They end when this is dropped.
#[derive(Debug)]
pub(super) struct Lines {
    queue: Queue,
    reader: JoinHandle<()>,
    writer: JoinHandle<()>,
}

/// Lines to be sent to the server. Clones share it; it is empty once closed.
#[derive(Debug, Clone)]
pub(super) struct Queue(Arc<Mutex<Option<mpsc::Sender<Vec<u8>>>>>);

impl Queue {
    fn get(&self) -> MutexGuard<'_, Option<mpsc::Sender<Vec<u8>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a line, waiting for room. A queue that is closed takes nothing: the exchange has ended, which says why.
    pub(super) fn push(&self, line: Vec<u8>) -> impl Future<Output = ()> + Send + 'static {
        let sender = self.get().clone();
        async move {
            if let Some(sender) = sender {
                let _ = sender.send(line).await;
            }
        }
    }

    /// Queues a line if there is room.
    fn offer(&self, line: Vec<u8>) {
        if let Some(sender) = &*self.get() {
            // Full if the server sends requests without reading the answers. Then some are dropped.
            let _ = sender.try_send(line);
        }
    }

    fn close(&self) {
        self.get().take();
    }
}

impl Lines {
    /// Starts reading and writing. `exit` is set when the server exits.
    pub(super) fn start(
        exchange: &Arc<Exchange>,
        stdin: impl AsyncWrite + Unpin + Send + 'static,
        stdout: impl AsyncRead + Unpin + Send + 'static,
        exit: watch::Receiver<Option<String>>,
    ) -> Self {
        let (sender, lines) = mpsc::channel(QUEUE);
        let queue = Queue(Arc::new(Mutex::new(Some(sender))));
        let reader = tokio::spawn(read(Arc::clone(exchange), queue.clone(), BufReader::new(stdout), exit));
        let writer = tokio::spawn(write(Arc::clone(exchange), lines, stdin));
        Self { queue, reader, writer }
    }

    pub(super) fn queue(&self) -> Queue {
        self.queue.clone()
    }

    /// Closes the server's input once what is queued has been written. Its output is still read.
    pub(super) fn close(&self) {
        self.queue.close();
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.reader.abort();
        self.writer.abort();
    }
}

async fn read(
    exchange: Arc<Exchange>,
    queue: Queue,
    stdout: impl AsyncBufRead + Unpin,
    mut exit: watch::Receiver<Option<String>>,
) {
    let mut lines = LineReader::new(stdout, MAX_LINE);
    let end = {
        let gone = async {
            if exit.wait_for(Option::is_some).await.is_ok() {
                sleep(DRAIN_GRACE).await;
            }
        };
        tokio::pin!(gone);
        loop {
            tokio::select! {
                line = lines.next() => match line {
                    Ok(Some(line)) => {
                        if let Some(answer) = exchange.incoming(line) {
                            queue.offer(answer);
                        }
                    }
                    Ok(None) => break End::Closed,
                    Err(end) => break end,
                },
                () = &mut gone => break End::Closed,
            }
        }
    };
    exchange.end(end);
    queue.close();
}

async fn write(exchange: Arc<Exchange>, mut lines: mpsc::Receiver<Vec<u8>>, mut stdin: impl AsyncWrite + Unpin) {
    while let Some(mut line) = lines.recv().await {
        let length = line.len();
        line.push(b'\n');
        let written = async {
            stdin.write_all(&line).await?;
            stdin.flush().await
        };
        if let Err(problem) = written.await {
            // Usually the server has exited, and its last replies are still to be read. Let the reader report that.
            sleep(DRAIN_GRACE).await;
            exchange.end(End::Broken(format!("its standard input cannot be written: {problem}")));
            return;
        }
        exchange.sent(length);
    }
}

/// Lines of bounded length. Dropping the future of [`next`](Self::next) loses nothing.
pub(crate) struct LineReader<R> {
    from: R,
    line: Vec<u8>,
    /// Whether `line` has been handed out.
    done: bool,
    limit: usize,
}

impl<R: AsyncBufRead + Unpin> LineReader<R> {
    pub(crate) fn new(from: R, limit: usize) -> Self {
        Self { from, line: Vec::new(), done: false, limit }
    }

    /// The next line without its end; a last line may lack one.
    pub(crate) async fn next(&mut self) -> Result<Option<&[u8]>, End> {
        if self.done {
            self.line.clear();
            self.line.shrink_to(KEPT);
            self.done = false;
        }
        loop {
            let broken = |problem: io::Error| End::Broken(format!("its standard output cannot be read: {problem}"));
            let chunk = self.from.fill_buf().await.map_err(broken)?;
            let end = chunk.iter().position(|&byte| byte == b'\n');
            let part = &chunk[..end.unwrap_or(chunk.len())];
            if self.line.len() + part.len() > self.limit {
                return Err(End::TooLong(self.limit));
            }
            self.line.extend_from_slice(part);
            let (at_end, used) = (chunk.is_empty(), part.len() + usize::from(end.is_some()));
            self.from.consume(used);
            if at_end || end.is_some() {
                self.done = true;
                return Ok(if at_end && self.line.is_empty() { None } else { Some(&self.line) });
            }
        }
    }

    /// The next part of a line that is too long; `None` at its end, after which [`next`](Self::next) continues.
    pub(crate) async fn part(&mut self) -> Option<Vec<u8>> {
        if !self.line.is_empty() {
            return Some(std::mem::take(&mut self.line));
        }
        let chunk = self.from.fill_buf().await.ok().filter(|chunk| !chunk.is_empty())?;
        let end = chunk.iter().position(|&byte| byte == b'\n');
        let part = chunk[..end.unwrap_or(chunk.len())].to_vec();
        // The end of the line is left for the next call.
        self.from.consume(part.len().max(1));
        (!part.is_empty()).then_some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &[u8], buffer: usize, limit: usize) -> (Vec<Vec<u8>>, Option<End>) {
        let mut reader = LineReader::new(BufReader::with_capacity(buffer, text), limit);
        let mut out = Vec::new();
        loop {
            match reader.next().await {
                Ok(Some(line)) => out.push(line.to_vec()),
                Ok(None) => return (out, None),
                Err(end) => return (out, Some(end)),
            }
        }
    }

    #[tokio::test]
    async fn lines_are_the_same_however_the_pipe_cuts_them() {
        for buffer in 1..12 {
            let expected = [b"one".to_vec(), b"".to_vec(), b"three".to_vec()];
            assert_eq!(lines(b"one\n\nthree", buffer, 5).await, (expected.to_vec(), None));
            assert_eq!(lines(b"one\n\nthree\n", buffer, 5).await, (expected.to_vec(), None));
        }
    }

    #[tokio::test]
    async fn a_line_of_the_limit_is_read_and_a_longer_one_is_the_end() {
        for buffer in [1, 4, 64] {
            assert_eq!(lines(b"12345\n", buffer, 5).await, (vec![b"12345".to_vec()], None));
            assert_eq!(lines(b"1\n123456\n", buffer, 5).await, (vec![b"1".to_vec()], Some(End::TooLong(5))));
            assert_eq!(lines(b"123456", buffer, 5).await, (vec![], Some(End::TooLong(5))));
        }
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_can_be_read_in_parts() {
        for buffer in [1, 4, 64] {
            let mut reader = LineReader::new(BufReader::with_capacity(buffer, &b"1\n123456789\n2\n12345678"[..]), 5);
            for (next, long) in [(b"1", &b"123456789"[..]), (b"2", b"12345678")] {
                assert_eq!(reader.next().await, Ok(Some(&next[..])));
                assert_eq!(reader.next().await, Err(End::TooLong(5)));
                let mut all = Vec::new();
                while let Some(part) = reader.part().await {
                    all.extend(part);
                }
                assert_eq!(all, long);
            }
            assert_eq!(reader.next().await, Ok(None));
        }
    }

    #[tokio::test]
    async fn a_reader_gives_back_the_memory_of_a_long_line() {
        let text = [vec![b'x'; 1 << 20], b"\nshort\n".to_vec()].concat();
        let mut reader = LineReader::new(text.as_slice(), MAX_LINE);
        assert_eq!(reader.next().await.unwrap().unwrap().len(), 1 << 20);
        assert_eq!(reader.next().await.unwrap().unwrap(), b"short");
        assert!(reader.line.capacity() <= KEPT, "{}", reader.line.capacity());
    }
}
