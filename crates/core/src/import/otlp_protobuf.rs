//! Exports of OpenTelemetry in protobuf, rewritten as OTLP/JSON, so that one importer reads both.
//!
//! `ExportTraceServiceRequest` and `TracesData` have the same bytes. Only the fields that the importer reads are written, and
//! unknown fields are skipped, as protobuf requires. A field of the wrong type is an error: the bytes are something else, such
//! as logs or metrics.

use std::io::Write;

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;

use super::ImportError;
use crate::diag::Code;
use crate::json::MAX_DEPTH;

/// The type of a field, which determines how it is encoded in protobuf and in JSON.
enum Kind {
    Text,
    /// An id of this many bytes, as hexadecimal digits.
    Id(usize),
    Bytes,
    Bool,
    /// A 64-bit integer, as text.
    Integer,
    /// An enum value, as a number.
    Enum,
    Double,
    /// A time in nanoseconds, as text.
    Time,
    One(&'static Message),
    Many(&'static Message),
}

struct Field {
    number: u64,
    /// The name in JSON.
    name: &'static str,
    kind: Kind,
}

struct Message {
    name: &'static str,
    fields: &'static [Field],
    /// Whether it is a `oneof`. There, an unknown field is an error: skipping it would lose evidence.
    is_oneof: bool,
}

const fn field(number: u64, name: &'static str, kind: Kind) -> Field {
    Field { number, name, kind }
}

const fn message(name: &'static str, fields: &'static [Field]) -> Message {
    Message { name, fields, is_oneof: false }
}

static EXPORT: Message = message("export", &[field(1, "resourceSpans", Kind::Many(&RESOURCE_SPANS))]);
static RESOURCE_SPANS: Message = message(
    "resource spans",
    &[
        field(1, "resource", Kind::One(&RESOURCE)),
        field(2, "scopeSpans", Kind::Many(&SCOPE_SPANS)),
        // Until 2022.
        field(1000, "instrumentationLibrarySpans", Kind::Many(&SCOPE_SPANS)),
    ],
);
static RESOURCE: Message = message("resource", &[field(1, "attributes", Kind::Many(&KEY_VALUE))]);
static SCOPE_SPANS: Message = message("scope spans", &[field(2, "spans", Kind::Many(&SPAN))]);
static SPAN: Message = message(
    "span",
    &[
        field(1, "traceId", Kind::Id(16)),
        field(2, "spanId", Kind::Id(8)),
        field(4, "parentSpanId", Kind::Id(8)),
        field(5, "name", Kind::Text),
        field(7, "startTimeUnixNano", Kind::Time),
        field(8, "endTimeUnixNano", Kind::Time),
        field(9, "attributes", Kind::Many(&KEY_VALUE)),
        field(11, "events", Kind::Many(&EVENT)),
        field(15, "status", Kind::One(&STATUS)),
    ],
);
static EVENT: Message = message(
    "event",
    &[
        field(1, "timeUnixNano", Kind::Time),
        field(2, "name", Kind::Text),
        field(3, "attributes", Kind::Many(&KEY_VALUE)),
    ],
);
static STATUS: Message = message("status", &[field(2, "message", Kind::Text), field(3, "code", Kind::Enum)]);
static KEY_VALUE: Message =
    message("attribute", &[field(1, "key", Kind::Text), field(2, "value", Kind::One(&ANY_VALUE))]);
static ANY_VALUE: Message = Message {
    name: "value",
    is_oneof: true,
    fields: &[
        field(1, "stringValue", Kind::Text),
        field(2, "boolValue", Kind::Bool),
        field(3, "intValue", Kind::Integer),
        field(4, "doubleValue", Kind::Double),
        field(5, "arrayValue", Kind::One(&LIST)),
        field(6, "kvlistValue", Kind::One(&FIELDS)),
        field(7, "bytesValue", Kind::Bytes),
    ],
};
static LIST: Message = message("list", &[field(1, "values", Kind::Many(&ANY_VALUE))]);
static FIELDS: Message = message("list of attributes", &[field(1, "values", Kind::Many(&KEY_VALUE))]);

/// The OTLP/JSON text of an export of traces in protobuf. It has at most about `most` bytes. The place of an error is a byte of
/// the export.
pub fn otlp_json(bytes: &[u8], most: usize) -> Result<String, ImportError> {
    let mut writer = Writer { out: Vec::with_capacity(bytes.len().min(most)), most, end: bytes.len() };
    writer.object(bytes, &EXPORT, 1)?;
    String::from_utf8(writer.out).map_err(|_| ImportError::new("it is not UTF-8"))
}

struct Writer {
    out: Vec<u8>,
    most: usize,
    /// Where the current message ends in the export. The offset of an error is this minus the bytes that are left.
    end: usize,
}

/// What a field has on the wire.
enum Encoded<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32,
    Bytes(&'a [u8]),
}

/// Why bytes are not a message, and how many bytes of the message are left at the error.
struct Malformed(String, usize);

fn malformed<T>(message: impl Into<String>, rest: &[u8]) -> Result<T, Malformed> {
    Err(Malformed(message.into(), rest.len()))
}

fn varint(rest: &mut &[u8]) -> Result<u64, Malformed> {
    let start = *rest;
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let Some((&byte, after)) = rest.split_first() else {
            return malformed("a number ends too early", start);
        };
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            // Only one bit of the tenth byte fits.
            return if shift == 63 && byte > 1 {
                malformed("a number has more than 64 bits", start)
            } else {
                Ok(value)
            };
        }
    }
    malformed("a number has more than 64 bits", start)
}

fn split<'a>(rest: &mut &'a [u8], length: u64, start: &[u8]) -> Result<&'a [u8], Malformed> {
    let Some((part, after)) = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length)) else {
        let message = format!("a field of {length} bytes is longer than what is left, {} bytes", rest.len());
        return malformed(message, start);
    };
    *rest = after;
    Ok(part)
}

/// The number of the next field, and what it has.
fn next_field<'a>(rest: &mut &'a [u8]) -> Result<(u64, Encoded<'a>), Malformed> {
    let start = *rest;
    let tag = varint(rest)?;
    let number = tag >> 3;
    if number == 0 || number >> 29 != 0 {
        return malformed(format!("{number} is not the number of a field"), start);
    }
    let little_endian = |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    let value = match tag & 7 {
        0 => Encoded::Varint(varint(rest)?),
        1 => Encoded::Fixed64(little_endian(split(rest, 8, start)?)),
        2 => {
            let length = varint(rest)?;
            Encoded::Bytes(split(rest, length, start)?)
        }
        5 => {
            split(rest, 4, start)?;
            Encoded::Fixed32
        }
        other => return malformed(format!("field {number} has the wire type {other}, which is not used"), start),
    };
    Ok((number, value))
}

impl Writer {
    /// An error at the byte that has `left` bytes after it in a message that ends at `end`.
    fn error(message: impl Into<String>, end: usize, left: usize) -> ImportError {
        let mut error = ImportError::new(format!("not an OTLP export of traces in protobuf: {}", message.into()))
            .hint("logs, metrics and profiles are not traces; check what wrote the file, or export JSON");
        error.place = Some(end.saturating_sub(left));
        error
    }

    /// Writes a message as an object. Fields that occur once come first. Those that may be repeated follow, each as a list of
    /// all its elements, wherever they are.
    fn object(&mut self, bytes: &[u8], message: &Message, depth: usize) -> Result<(), ImportError> {
        let end = self.end;
        let name = message.name;
        if depth > MAX_DEPTH {
            return Err(Self::error(format!("nested more than {MAX_DEPTH} levels deep"), end, bytes.len()));
        }
        if self.out.len() > self.most {
            let most = self.most;
            return Err(ImportError::new(format!("the record has more than {most} bytes as JSON, the limit"))
                .code(Code::RecordTooLarge)
                .hint("raise it with --max-record"));
        }
        self.out.push(b'{');
        let (mut seen, mut lists) = (0_u32, 0_u32);
        let mut rest = bytes;
        while !rest.is_empty() {
            let start = rest.len();
            let (number, value) = next_field(&mut rest)
                .map_err(|Malformed(why, left)| Self::error(format!("{name}: {why}"), end, left))?;
            let Some(at) = message.fields.iter().position(|field| field.number == number) else {
                if message.is_oneof {
                    return Err(Self::error(format!("{name} of an unknown kind, field {number}"), end, start));
                }
                continue;
            };
            let field = &message.fields[at];
            if let (Kind::Many(_), Encoded::Bytes(_)) = (&field.kind, &value) {
                lists |= 1 << at;
                continue;
            }
            let taken = if message.is_oneof { u32::MAX } else { 1 << at };
            if seen & taken != 0 {
                let why = if message.is_oneof { "comes after another value" } else { "occurs twice" };
                return Err(Self::error(format!("{name}: `{}` {why}", field.name), end, start));
            }
            self.key(field.name, seen == 0);
            seen |= 1 << at;
            // For errors inside the field: it ends here.
            self.end = end - rest.len();
            self.scalar(field, value, name, depth, start - rest.len())?;
            self.end = end;
        }
        for (at, field) in message.fields.iter().enumerate() {
            let Kind::Many(of) = field.kind else { continue };
            if lists & 1 << at == 0 {
                continue;
            }
            self.key(field.name, seen == 0);
            seen |= 1 << at;
            self.out.push(b'[');
            let (mut rest, mut is_first) = (bytes, true);
            while !rest.is_empty()
                && let Ok((number, value)) = next_field(&mut rest)
            {
                let Encoded::Bytes(element) = value else { continue };
                if number != field.number {
                    continue;
                }
                if !std::mem::take(&mut is_first) {
                    self.out.push(b',');
                }
                self.end = end - rest.len();
                self.object(element, of, depth + 2)?;
                self.end = end;
            }
            self.out.push(b']');
        }
        self.out.push(b'}');
        Ok(())
    }

    fn key(&mut self, name: &str, is_first: bool) {
        let comma = if is_first { "" } else { "," };
        // Writing into memory cannot fail, here and below.
        let _ = write!(self.out, "{comma}\"{name}\":");
    }

    /// Writes a field that occurs once, and has `length` bytes with its tag.
    fn scalar(
        &mut self,
        field: &Field,
        value: Encoded<'_>,
        message: &str,
        depth: usize,
        length: usize,
    ) -> Result<(), ImportError> {
        let end = self.end;
        let error = |why: String, left: usize| Self::error(format!("{message}: `{}` {why}", field.name), end, left);
        match (&field.kind, value) {
            (Kind::Text, Encoded::Bytes(bytes)) => {
                let text = std::str::from_utf8(bytes).map_err(|bad| {
                    let at = bad.valid_up_to();
                    error(format!("has the byte 0x{:02x}, which is not UTF-8", bytes[at]), bytes.len() - at)
                })?;
                let _ = serde_json::to_writer(&mut self.out, text);
            }
            // An empty id is none. So is one of zeros, but that is left to the importer.
            (Kind::Id(size), Encoded::Bytes(bytes)) => {
                if bytes.len() != *size && !bytes.is_empty() {
                    return Err(error(format!("must have {size} bytes, found {}", bytes.len()), length));
                }
                self.out.push(b'"');
                for byte in bytes {
                    let _ = write!(self.out, "{byte:02x}");
                }
                self.out.push(b'"');
            }
            (Kind::Bytes, Encoded::Bytes(bytes)) => {
                let _ = write!(self.out, "\"{}\"", Base64Display::new(bytes, &STANDARD));
            }
            (Kind::Bool, Encoded::Varint(value)) => _ = write!(self.out, "{}", value != 0),
            (Kind::Integer, Encoded::Varint(value)) => _ = write!(self.out, "\"{}\"", value.cast_signed()),
            (Kind::Enum, Encoded::Varint(value)) => _ = write!(self.out, "{}", value.cast_signed()),
            (Kind::Time, Encoded::Fixed64(value)) => _ = write!(self.out, "\"{value}\""),
            (Kind::Double, Encoded::Fixed64(bits)) => match f64::from_bits(bits) {
                number if number.is_finite() => _ = serde_json::to_writer(&mut self.out, &number),
                number if number.is_nan() => self.out.extend_from_slice(b"\"NaN\""),
                number => {
                    let _ = write!(self.out, "\"{}Infinity\"", if number < 0.0 { "-" } else { "" });
                }
            },
            (Kind::One(of), Encoded::Bytes(bytes)) => self.object(bytes, of, depth + 1)?,
            _ => return Err(error("has another type".to_owned(), length)),
        }
        Ok(())
    }
}
