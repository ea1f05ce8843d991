//! What clients start that only start programs: it connects its standard streams to the proxy.
//!
//! It must start quickly and needs no runtime: one thread copies each way.

use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;

use mcptest_core::json;
use serde_json::Value;

/// The protocol that the connection is upgraded to.
pub(super) const PROTOCOL: &str = "mcptest-lines";
/// The longest line of the response's head.
const MAX_HEAD: u64 = 16 * 1024;

/// Why a shim cannot connect.
#[derive(Debug, thiserror::Error)]
pub enum ShimError {
    #[error("it has no `url` of a recording")]
    Format,
    #[error("cannot connect to the recording: {0}")]
    Connect(#[from] io::Error),
    #[error("{0}")]
    Refused(String),
}

/// Connects standard input and output to the proxy that a file names, whose text this is. Returns when either side ends.
pub fn shim(file: &str) -> Result<(), ShimError> {
    let url = json::parse(file).ok().and_then(|file| Some(file.get("url")?.as_str()?.to_owned()));
    let url = url.ok_or(ShimError::Format)?;
    let parts = url.strip_prefix("http://").and_then(|rest| rest.split_once('/'));
    let (address, path) = parts.ok_or(ShimError::Format)?;
    let mut reader = connect(address, path)?;
    let mut writer = reader.get_ref().try_clone()?;
    // It may wait for input forever, and ends with the process.
    thread::Builder::new().spawn(move || {
        let _ = copy(&mut io::stdin().lock(), &mut writer);
        // The server may still send something.
        let _ = writer.shutdown(Shutdown::Write);
    })?;
    let _ = copy(&mut reader, &mut io::stdout().lock());
    Ok(())
}

fn connect(address: &str, path: &str) -> Result<BufReader<TcpStream>, ShimError> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: {PROTOCOL}\r\n\r\n")?;
    let mut reader = BufReader::new(stream);
    let mut line = || -> io::Result<String> {
        let mut line = String::new();
        (&mut reader).take(MAX_HEAD).read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    };
    let status = line()?;
    let mut length = 0;
    loop {
        let header = line()?.to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0).min(MAX_HEAD);
        }
    }
    if status.split(' ').nth(1) == Some("101") {
        return Ok(reader);
    }
    let mut why = String::new();
    reader.take(length).read_to_string(&mut why)?;
    let message = serde_json::from_str::<Value>(&why).ok();
    let message = message.and_then(|body| Some(body.pointer("/error/message")?.as_str()?.to_owned()));
    let message = message.unwrap_or_else(|| why.trim_end().to_owned());
    Err(ShimError::Refused(message.trim_start_matches("mcptest: ").to_owned()))
}

/// Copies available data immediately.
fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut chunk = vec![0; 64 * 1024];
    loop {
        let count = match from.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        to.write_all(&chunk[..count])?;
        to.flush()?;
    }
}
