//! A bounded copy of the bytes that pass through, and how it is decoded afterward.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read as _};

use mcptest_core::json;
use mcptest_core::ledger::{Body, Event, Unread, WhyUnread};
use mcptest_core::redact::{hash, hex};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::mcp::events::{self, Events};

/// The largest body of a known interface that is kept, before and after decoding.
pub(super) const MAX_KEPT: usize = 16 << 20;
/// The largest body of any other path that is kept.
pub(super) const MAX_OTHER: usize = 1 << 20;

/// A copy of a stream of bytes. Beyond the limit only its digest is kept.
pub(super) struct Capture {
    limit: usize,
    kept: Vec<u8>,
    bytes: u64,
    /// Set once the limit is exceeded.
    digest: Option<Sha256>,
}

impl Capture {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, kept: Vec::new(), bytes: 0, digest: None }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.bytes += chunk.len() as u64;
        match &mut self.digest {
            Some(digest) => digest.update(chunk),
            None if self.kept.len() + chunk.len() <= self.limit => self.kept.extend_from_slice(chunk),
            None => {
                let mut digest = Sha256::new();
                digest.update(std::mem::take(&mut self.kept));
                digest.update(chunk);
                self.digest = Some(digest);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The bytes, or the digest of what was too large.
    pub(super) fn finish(self) -> Result<Vec<u8>, Unread> {
        match self.digest {
            None => Ok(self.kept),
            Some(digest) => {
                let sha256 = hex(&digest.finalize());
                Err(Unread { why: WhyUnread::TooLarge, bytes: self.bytes, sha256 })
            }
        }
    }
}

pub(super) fn unread(why: WhyUnread, bytes: &[u8]) -> Unread {
    Unread { why, bytes: bytes.len() as u64, sha256: hash(bytes) }
}

/// What the headers say about a body.
#[derive(Debug, Clone, Default)]
pub(super) struct Kind {
    /// The content type without parameters, in lower case.
    pub(super) content_type: String,
    /// The content encodings, in the order they were applied.
    pub(super) encodings: Vec<String>,
}

impl Kind {
    pub(super) fn new(content_type: Option<&str>, encoding: Option<&str>) -> Self {
        let content_type = content_type.and_then(|value| value.split(';').next()).unwrap_or_default();
        let encodings = encoding.unwrap_or_default().split(',').map(|name| name.trim().to_ascii_lowercase());
        Self {
            content_type: content_type.trim().to_ascii_lowercase(),
            encodings: encodings.filter(|name| !name.is_empty() && name != "identity").collect(),
        }
    }
}

/// What a captured body says. A body in an unknown encoding, or one that does not decode, is not read.
pub(super) fn read(capture: Capture, kind: &Kind, limit: usize) -> Body {
    read_part(capture, kind, limit, false)
}

/// The same for a body that broke off. Its JSON does not parse, and is kept as text so that it can be sent again.
pub(super) fn read_cut(capture: Capture, kind: &Kind, limit: usize) -> Body {
    read_part(capture, kind, limit, true)
}

fn read_part(capture: Capture, kind: &Kind, limit: usize, is_cut: bool) -> Body {
    if capture.is_empty() {
        return Body::Empty;
    }
    let bytes = match capture.finish() {
        Ok(bytes) => bytes,
        Err(unread) => return Body::Unread(unread),
    };
    let is_stream = kind.content_type == "text/event-stream";
    let bytes = match decoded(bytes, &kind.encodings, limit, is_stream) {
        Ok(bytes) => bytes,
        Err(unread) => return Body::Unread(unread),
    };
    if is_stream {
        return stream(&bytes);
    }
    let Ok(text) = std::str::from_utf8(&bytes) else {
        return Body::Unread(unread(WhyUnread::Malformed("it is not UTF-8".to_owned()), &bytes));
    };
    let is_json = kind.content_type.ends_with("json") || text.trim_start().starts_with(['{', '[']);
    match json::parse(text) {
        Ok(value) => Body::Json { rest: value, parts: BTreeMap::new() },
        Err(error) if is_json && !is_cut => Body::Unread(unread(WhyUnread::Malformed(error.to_string()), &bytes)),
        Err(_) => Body::Text(text.to_owned()),
    }
}

/// Undoes content encodings, the last one first. A stream may have been cut, and what came before counts.
fn decoded(mut bytes: Vec<u8>, encodings: &[String], limit: usize, is_stream: bool) -> Result<Vec<u8>, Unread> {
    for name in encodings.iter().rev() {
        let most = limit as u64 + 1;
        let mut out = Vec::new();
        let read = match name.as_str() {
            "gzip" | "x-gzip" => flate2::read::MultiGzDecoder::new(&*bytes).take(most).read_to_end(&mut out),
            "br" => brotli_decompressor::Decompressor::new(&*bytes, 4096).take(most).read_to_end(&mut out),
            "zstd" => zstd::Decoder::with_buffer(&*bytes).and_then(|decoder| decoder.take(most).read_to_end(&mut out)),
            other => return Err(unread(WhyUnread::Encoding(other.to_owned()), &bytes)),
        };
        // The Brotli decoder does not distinguish truncated data from other errors.
        let is_cut = |error: &io::Error| error.kind() == ErrorKind::UnexpectedEof || name == "br";
        match read {
            Err(error) if is_stream && is_cut(&error) && out.len() <= limit => bytes = out,
            Err(error) => return Err(unread(WhyUnread::Malformed(format!("{name}: {error}")), &bytes)),
            Ok(_) if out.len() > limit => return Err(unread(WhyUnread::TooLarge, &bytes)),
            Ok(_) => bytes = out,
        }
    }
    Ok(bytes)
}

/// The events of a stream. One that was cut in the middle of an event ends with the last complete one.
fn stream(bytes: &[u8]) -> Body {
    let mut out = Vec::new();
    let mut events = Events::new(MAX_KEPT);
    let pushed = events.push(bytes, |events::Event { name, data }| {
        let text = String::from_utf8_lossy(data);
        let name = (!name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned());
        out.push(Event { name, data: json::parse(&text).unwrap_or_else(|_| Value::String(text.into_owned())) });
    });
    match pushed {
        Ok(()) => Body::Events(out),
        Err(_) => Body::Unread(unread(WhyUnread::TooLarge, bytes)),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use serde_json::json;

    use super::*;

    fn body(bytes: &[u8], content_type: &str, encoding: Option<&str>) -> Body {
        let mut capture = Capture::new(MAX_KEPT);
        for piece in bytes.chunks(3) {
            capture.push(piece);
        }
        read(capture, &Kind::new(Some(content_type), encoding), 4096)
    }

    fn plain(value: Value) -> Body {
        Body::Json { rest: value, parts: BTreeMap::new() }
    }

    #[test]
    fn a_body_is_read_by_its_type_and_encoding() {
        let text = br#"{"a":1}"#;
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text).unwrap();
        let gzip = gzip.finish().unwrap();
        let zstd = zstd::encode_all(&text[..], 1).unwrap();
        // `{"a":1}` as one uncompressed block of Brotli.
        let brotli = [&[0x0b, 0x03, 0x80][..], text, &[0x03]].concat();
        assert_eq!(body(text, "application/json; charset=utf-8", None), plain(json!({ "a": 1 })));
        assert_eq!(body(&gzip, "application/json", Some("gzip")), plain(json!({ "a": 1 })));
        assert_eq!(body(&zstd, "application/json", Some("zstd")), plain(json!({ "a": 1 })));
        assert_eq!(body(&brotli, "application/json", Some("br")), plain(json!({ "a": 1 })));
        assert_eq!(body(b"hello", "text/plain", Some("identity")), Body::Text("hello".to_owned()));
        assert_eq!(body(b"", "application/json", None), Body::Empty);
        let event = |name: Option<&str>, data: Value| Event { name: name.map(str::to_owned), data };
        assert_eq!(
            body(b"event: x\ndata: {\"a\":1}\n\ndata: [DONE]\n\ndata: {\"cut", "text/event-stream", None),
            Body::Events(vec![event(Some("x"), json!({ "a": 1 })), event(None, json!("[DONE]"))])
        );
    }

    #[test]
    fn a_stream_that_was_cut_counts_up_to_there_in_any_encoding() {
        // As a server sends them, which does not wait for the next ones.
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let mut zstd = zstd::Encoder::new(Vec::new(), 1).unwrap();
        for at in 0..2000 {
            let event = format!("data: {{\"at\":{at},\"x\":\"{}\"}}\n\n", at * at % 977);
            for out in [&mut gzip as &mut dyn Write, &mut zstd] {
                out.write_all(event.as_bytes()).unwrap();
                if at % 100 == 99 {
                    out.flush().unwrap();
                }
            }
        }
        let (gzip, zstd) = (gzip.finish().unwrap(), zstd.finish().unwrap());
        for (encoding, bytes) in [("gzip", gzip), ("zstd", zstd)] {
            let first = |length: usize, kind: &str| {
                let mut capture = Capture::new(MAX_KEPT);
                capture.push(&bytes[..length]);
                read(capture, &Kind::new(Some(kind), Some(encoding)), MAX_KEPT)
            };
            let count = |length: usize| match first(length, "text/event-stream") {
                Body::Events(events) => events.len(),
                other => panic!("{encoding}: {other:?}"),
            };
            // Without its end, which a client that has seen enough does not wait for.
            assert_eq!((count(bytes.len()), count(bytes.len() - 1)), (2000, 2000), "{encoding}");
            assert!(count(bytes.len() / 4 * 3) > 100, "{encoding}");
            let cut = first(bytes.len() / 2, "application/json");
            assert!(matches!(cut, Body::Unread(Unread { why: WhyUnread::Malformed(_), .. })), "{cut:?}");
        }
        let brotli = [&[0x8b, 0x03, 0x80][..], b"data:1\n\n", &[0x03]].concat();
        for bytes in [&*brotli, &brotli[..brotli.len() - 1]] {
            let event = Event { name: None, data: json!(1) };
            assert_eq!(body(bytes, "text/event-stream", Some("br")), Body::Events(vec![event]));
        }
    }

    #[test]
    fn an_unreadable_body_says_why_and_keeps_its_digest() {
        let why = |body: Body| match body {
            Body::Unread(Unread { why, bytes, sha256 }) => {
                assert_eq!(sha256.len(), 64);
                (why, bytes)
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(why(body(b"x", "application/json", Some("lzw"))), (WhyUnread::Encoding("lzw".to_owned()), 1));
        assert!(matches!(why(body(b"{\"a\":1,\"a\":2}", "application/json", None)).0, WhyUnread::Malformed(_)));
        assert!(matches!(why(body(b"x", "application/json", Some("gzip"))).0, WhyUnread::Malformed(_)));
        let bomb = zstd::encode_all(&*vec![b' '; 1 << 20], 1).unwrap();
        assert_eq!(why(body(&bomb, "application/json", Some("zstd"))).0, WhyUnread::TooLarge);
        let mut capture = Capture::new(4);
        for _ in 0..1000 {
            capture.push(b"abc");
        }
        let all = "abc".repeat(1000);
        let found = capture.finish().unwrap_err();
        assert_eq!(found, unread(WhyUnread::TooLarge, all.as_bytes()));
    }
}
