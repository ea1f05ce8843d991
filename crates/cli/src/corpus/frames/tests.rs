//! Every rule of framing with its exact outcome, and that none depends on the rhythm of reading.

use std::io::{self, Cursor, Read, Write};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use proptest::prelude::*;

use super::window::{BATCH, FIRST};
use super::*;
use crate::corpus::unpack::Unpacked;

/// A reader that gives pieces of these sizes in turn.
struct Chopped<'a> {
    bytes: &'a [u8],
    sizes: std::iter::Cycle<std::slice::Iter<'a, usize>>,
}

impl<'a> Chopped<'a> {
    fn new(bytes: &'a [u8], sizes: &'a [usize]) -> Self {
        Self { bytes, sizes: sizes.iter().cycle() }
    }
}

impl Read for Chopped<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let most = out.len().min(*self.sizes.next().unwrap());
        self.bytes.read(&mut out[..most])
    }
}

/// A value is a message when it has a role, and a record otherwise.
fn unit_of(text: &str) -> Option<Unit> {
    text.starts_with('{').then(|| if text.contains("\"role\"") { Unit::Message } else { Unit::Record })
}

/// What is found, a line each: offset, value and the header behind it; offset, message and hint of what is broken.
fn frames(input: impl Read, max_record: usize) -> Vec<String> {
    let mut frames = Frames::new(input, max_record, &unit_of);
    let mut out = Vec::new();
    while let Some(item) = frames.next() {
        assert!(out.len() < 10_000, "there is no end to what is found");
        match item {
            Item::Batch(Batch { text, values, offset, header }) => {
                assert!(!values.is_empty());
                for value in values {
                    let at = offset + value.start as u64;
                    let header = header.as_ref().map(|header| format!(" < {header}")).unwrap_or_default();
                    out.push(format!("{at}: {}{header}", &text[value]));
                }
                frames.recycle(text);
            }
            Item::Nothing(message) => out.push(format!("0! {message} ({LEAVE_OUT})")),
            Item::Broken(RecordError { place, message, hint, .. }) => {
                out.push(format!("{}! {message} ({})", place.unwrap(), hint.unwrap_or_default()));
            }
        }
    }
    assert!(frames.next().is_none(), "the end is the end");
    out
}

const LIMIT: usize = 100;

#[track_caller]
fn check(source: impl AsRef<[u8]>, expected: &[&str]) {
    for sizes in [&[usize::MAX][..], &[1], &[2, 3, 5, 7]] {
        assert_eq!(frames(Chopped::new(source.as_ref(), sizes), LIMIT), expected, "read in pieces of {sizes:?}");
    }
}

const UNCLOSED: &str = "(the file is truncated: write or copy it again)";
const TOO_LONG: &str = "the record has more than 100 bytes, the limit (raise it with --max-record)";
const NO_UTF8: &str = "byte 0xff is not UTF-8 (save the file as UTF-8)";
const BETWEEN: &str = "(only white space may separate records)";
const GIVEN_UP: &str = "(what comes after it is not read)";

mod lines {
    use super::*;

    #[test]
    fn every_line_is_a_value_without_the_white_space_around_it() {
        check("{\"a\":1}\n  {\"b\": 2}\t \r\n\n \t\n[3]", &["0: {\"a\":1}", "10: {\"b\": 2}", "26: [3]"]);
        check("\r\n\n {}\n{}\n", &["4: {}", "7: {}"]);
        check("{}", &["0: {}"]);
    }

    #[test]
    fn later_lines_do_not_affect_detection() {
        let source = "{}\n{\"a\":\n]]\nhello \"\n{\"samples\":[1]}\n";
        check(source, &["0: {}", "3: {\"a\":", "9: ]]", "12: hello \"", "20: {\"samples\":[1]}"]);
    }

    #[test]
    fn the_first_line_need_not_be_right_inside_and_may_be_a_scalar() {
        check("{\"a\" tru}\n{}\n", &["0: {\"a\" tru}", "10: {}"]);
        check("17\n{}\n", &["0: 17", "3: {}"]);
        check("\"a\\\"b\"\n{}\n", &["0: \"a\\\"b\"", "7: {}"]);
        check("null", &["0: null"]);
    }

    #[test]
    fn a_broken_first_line_is_the_only_one_that_is_lost() {
        check("{\"a\": [1\n{}\n", &["0: {\"a\": [1", "9: {}"]);
        check("{\"a\": \"b\n\n {}", &["0: {\"a\": \"b", "11: {}"]);
        check("{}}\n{}\n", &["0: {}}", "4: {}"]);
        check("{},\r\n{}\n", &["0: {},", "5: {}"]);
        check("started\n{}\n[]\n", &["0: started", "8: {}", "11: []"]);
        // What could be a document is one.
        check("{} {}\n{}\n", &["0: {}", "3: {}", "6: {}"]);
        check("{\n{}\n}\n", &["0: {\n{}\n}"]);
        check("{\"a\":\n{}}", &["0: {\"a\":\n{}}"]);
    }

    #[test]
    fn a_line_that_is_not_utf8_is_the_only_one_that_is_lost() {
        let broken = format!("9! {NO_UTF8}");
        check(b"{}\n{}\n{\"a\xff\":\xfe}\n\n{}\n", &["0: {}", "3: {}", &broken, "16: {}"]);
        let broken = format!("2! {NO_UTF8}");
        check(b"{\"\xff\":1}\n{}\n", &[&broken, "8: {}"]);
        let broken = format!("4! {NO_UTF8}");
        check(b"{}\n \xff", &["0: {}", &broken]);
    }

    #[test]
    fn a_line_may_be_as_long_as_the_limit_with_any_line_end() {
        let fits = format!("{{\"{}\"}}", "x".repeat(LIMIT - 4));
        for end in ["", "\n", "\r\n", "\r"] {
            check(format!("{fits}{end}"), &[&format!("0: {fits}")]);
            check(format!("{{}}\n{fits}{end}"), &["0: {}", &format!("3: {fits}")]);
        }
    }

    #[test]
    fn a_line_beyond_the_limit_is_skipped_and_the_next_is_read() {
        let long = format!("{{\"{}\"}}", "x".repeat(LIMIT - 3));
        for end in ["\n", "\r\n"] {
            let next = format!("{}: {{}}", long.len() + end.len());
            check(format!("{long}{end}{{}}{end}"), &[&format!("0! {TOO_LONG}"), &next]);
        }
        check(format!("{{}}\n{long}"), &["0: {}", &format!("3! {TOO_LONG}")]);
        let blanks = " ".repeat(LIMIT + 1);
        check(format!("{{}}\n{blanks}\n{{}}\n"), &["0: {}", &format!("3! {TOO_LONG}"), "105: {}"]);
    }

    #[test]
    fn lists_of_messages_are_values_one_per_line() {
        let source = "[{\"role\":\"user\"},{\"role\":\"x\"}]\n[]\n[1]\n";
        check(source, &["0: [{\"role\":\"user\"},{\"role\":\"x\"}]", "31: []", "34: [1]"]);
        check("[ ]\n[{}]\n", &["0: [ ]", "4: [{}]"]);
    }

    #[test]
    fn a_deep_line_is_left_to_the_parser() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(11_000), "]".repeat(11_000));
        let found = frames(Cursor::new(format!("{deep}\n{{}}\n")), usize::MAX);
        assert_eq!(found, [format!("0: {deep}"), format!("{}: {{}}", deep.len() + 1)]);
    }
}

mod messages {
    use super::*;

    /// A field with bytes. Everything here is shorter than 128 bytes.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, u8::try_from(bytes.len()).unwrap()], bytes].concat()
    }

    /// The spans of a resource: one span with this name.
    fn spans(name: &str) -> Vec<u8> {
        let resource = field(1, &field(1, &field(1, b"k")));
        field(1, &[resource, field(2, &field(2, &field(5, name.as_bytes())))].concat())
    }

    fn with_fixed_length(message: &[u8]) -> Vec<u8> {
        [&u32::try_from(message.len()).unwrap().to_be_bytes(), message].concat()
    }

    fn with_varint_length(message: &[u8]) -> Vec<u8> {
        [&[u8::try_from(message.len()).unwrap()], message].concat()
    }

    const RESOURCE: &str = r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"k"}]},"scopeSpans":[{"spans":"#;

    fn json(offset: usize, name: &str) -> String {
        format!(r#"{offset}: {RESOURCE}[{{"name":"{name}"}}]}}]}}]}}"#)
    }

    /// What is found with a limit that JSON fits into.
    #[track_caller]
    fn check(source: impl AsRef<[u8]>, expected: &[&str]) {
        for sizes in [&[usize::MAX][..], &[1], &[2, 3, 5, 7]] {
            assert_eq!(frames(Chopped::new(source.as_ref(), sizes), 200), expected, "read in pieces of {sizes:?}");
        }
    }

    #[test]
    fn every_export_is_a_value_however_they_follow_each_other() {
        let (a, b) = (spans("a"), spans("b"));
        let len = a.len();
        check([&a[..], &b].concat(), &[&json(0, "a"), &json(len, "b")]);
        check([with_fixed_length(&a), with_fixed_length(&b)].concat(), &[&json(0, "a"), &json(len + 4, "b")]);
        check([with_varint_length(&a), with_varint_length(&b)].concat(), &[&json(0, "a"), &json(len + 1, "b")]);
    }

    #[test]
    fn zeros_where_a_message_should_be_are_an_error() {
        let a = spans("a");
        let rest = "a message has a length of 0 (what came before was read; the file is damaged from here on)";
        for (framed, zeros) in [(with_fixed_length(&a), 4), (with_varint_length(&a), 1), (with_fixed_length(&a), 400)] {
            let error = format!("{}! {rest}", framed.len());
            check([&framed[..], &vec![0; zeros]].concat(), &[&json(0, "a"), &error]);
        }
    }

    #[test]
    fn messages_that_were_compressed_one_by_one_are_read() {
        let packed = |bytes: &[u8]| with_fixed_length(&zstd::encode_all(bytes, 3).unwrap());
        let (first, second) = (packed(&spans("a")), packed(b"{\"resourceSpans\":[]}"));
        let at = first.len();
        let expected = [json(0, "a"), format!("{at}: {{\"resourceSpans\":[]}}")];
        check([&first[..], &second].concat(), &expected.each_ref().map(String::as_str));
        let large = packed(&[b' '; 201]);
        let too_long = format!("{at}! the record has more than 200 bytes, the limit (raise it with --max-record)");
        check([&first[..], &large, &first].concat(), &[&json(0, "a"), &too_long, &json(at + large.len(), "a")]);
    }

    #[test]
    fn a_broken_message_is_the_only_one_that_is_lost() {
        let (a, wrong) = (spans("a"), field(1, &field(2, &field(2, &field(1, b"short")))));
        let at = 4 + a.len();
        let message = "not an OTLP export of traces in protobuf: span: `traceId` must have 16 bytes, found 5 (logs, metrics \
                       and profiles are not traces; check what wrote the file, or export JSON)";
        let broken = format!("{}! {message}", at + 4 + 6);
        let source = [with_fixed_length(&a), with_fixed_length(&wrong), with_fixed_length(&a)].concat();
        check(&source, &[&json(0, "a"), &broken, &json(at + 4 + wrong.len(), "a")]);
    }

    #[test]
    fn a_message_beyond_the_limit_is_skipped() {
        let (a, long) = (spans("a"), [0_u8; 300]);
        let source = [with_fixed_length(&a), with_fixed_length(&long), with_fixed_length(&a)].concat();
        let at = 4 + a.len();
        let too_long = format!("{at}! the record has more than 200 bytes, the limit (raise it with --max-record)");
        check(source, &[&json(0, "a"), &too_long, &json(at + 304, "a")]);
    }

    #[test]
    fn what_is_cut_off_is_reported_where_it_begins() {
        let a = spans("a");
        let rest = "(what came before was read; the file was truncated when it was written or copied)";
        for (framed, header) in [(a.clone(), 0), (with_fixed_length(&a), 4), (with_varint_length(&a), 1)] {
            for end in framed.len() + 1..2 * framed.len() {
                let (at, there) = (framed.len(), end - framed.len());
                let of = if there < header.max(2) && header != 1 {
                    "the bytes of its length".to_owned()
                } else {
                    format!("its {at} bytes")
                };
                let cut = format!("{at}! the message ends too early, after {there} of {of} {rest}");
                check(&[&framed[..], &framed].concat()[..end], &[&json(0, "a"), &cut]);
            }
        }
        let garbage = format!(
            "{}! byte 0x7b does not begin the spans of a resource (what came before was read; check what wrote the file)",
            a.len()
        );
        check([&a[..], b"{}"].concat(), &[&json(0, "a"), &garbage]);
    }

    proptest! {
        #[test]
        fn no_messages_are_read_differently_in_pieces(
            framing in 0..3,
            names in prop::collection::vec("[a-z]{1,9}", 1..4),
            wounds in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<prop::sample::Index>(),
            is_cut in any::<bool>(),
            most in 1_usize..200,
            sizes in prop::collection::vec(1_usize..40, 1..6),
        ) {
            let mut source = Vec::new();
            for name in names {
                let message = spans(&name);
                source.extend(match framing {
                    0 => message,
                    1 => with_fixed_length(&message),
                    _ => with_varint_length(&message),
                });
            }
            for (at, byte) in wounds {
                let at = at.index(source.len());
                source[at] = byte;
            }
            if is_cut {
                source.truncate(cut.index(source.len()));
            }
            let whole = frames(&source[..], most);
            prop_assert_eq!(&frames(Chopped::new(&source, &sizes), most), &whole);
            prop_assert_eq!(&frames(Chopped::new(&source, &[1]), most), &whole);
        }
    }

    #[test]
    fn no_text_is_taken_for_a_message() {
        // White space that is a chain of fields, each in the one before.
        for text in
            [&b"\n \n\r\n\t{}"[..], b"\n \n\r\n\n\n\t{}", b"\n\n\n\n\n\n{}", b"\r\n\n\n{}", b"\xef\xbb\xbf\n\n\n{}"]
        {
            let at = text.len() - 2;
            check(text, &[&format!("{at}: {{}}")]);
        }
        check(b"[\n{}\n]", &["2: {}"]);
    }
}

mod documents {
    use super::*;

    #[test]
    fn values_follow_each_other_over_lines_or_on_one() {
        check("{\n \"a\": 1\n}\n{\"b\":\n2} [3]", &["0: {\n \"a\": 1\n}", "12: {\"b\":\n2}", "21: [3]"]);
        check("{}{} {\"a\":{}}\n", &["0: {}", "2: {}", "5: {\"a\":{}}"]);
    }

    #[test]
    fn brackets_in_strings_close_nothing() {
        let value = "{\n\"]}\\\"}\": \"\\\\\", \"[\": \"\\u005d\\\\\\\"{\"}";
        check(format!("{value}{value}"), &[&format!("0: {value}"), &format!("{}: {value}", value.len())]);
    }

    #[test]
    fn the_elements_of_a_list_of_records_are_values() {
        check(
            "[{\"a\":1},\n {\"b\":[2]}\n, 3,\"x]\",null ]\n",
            &["1: {\"a\":1}", "11: {\"b\":[2]}", "23: 3", "25: \"x]\"", "30: null"],
        );
        check("[{}]\n[ {} ,{}][]{} ", &["1: {}", "7: {}", "11: {}", "16: {}"]);
    }

    #[test]
    fn lists_of_messages_are_values() {
        let list = "[\n{\"role\": \"user\"},\n{}]";
        check(format!("{list}\n{list}"), &[&format!("0: {list}"), &format!("{}: {list}", list.len() + 1)]);
        check("[\n]", &["0: [\n]"]);
    }

    #[test]
    fn records_of_an_object_include_the_keys_before_them() {
        let header = "{\"version\": 2,\"eval\":{\"samples\": [0]}, \"x\\\"samples\" :[]}";
        let header = header.replace(", \"x", ",\"x");
        let source = "{\"version\": 2 ,\n\"eval\":{\"samples\": [0]}, \"x\\\"samples\" :[], \"samples\" :\n[ {\"id\": 1},{\"id\":2} ], \
                      \"z\": [{}], \"samples\": [3]} {}";
        check(source, &[&format!("73: {{\"id\": 1}} < {header}"), &format!("83: {{\"id\":2}} < {header}"), "122: {}"]);
        check("{\"simulations\":[{}]}\n{\"samples\":[{}],\"a\":1}", &["16: {} < {}", "33: {} < {}"]);
        check("{\n\"samples\":{},\"samples\":1}", &["0: {\n\"samples\":{},\"samples\":1}"]);
    }

    #[test]
    fn a_header_omits_values_that_are_too_large() {
        let large = "x".repeat(1024 * 1024);
        let fits = "x".repeat(1024 * 1024 - 6);
        let source = format!("{{\"a\":\"{large}\",\"b\":1,\"c\":\"{fits}\",\"samples\":[{{}}]}}");
        let found = frames(Cursor::new(source), usize::MAX);
        assert_eq!(found.len(), 1);
        assert!(found[0].ends_with(&format!(": {{}} < {{\"b\":1,\"c\":\"{fits}\"}}")));
        let half = "x".repeat(512 * 1024);
        let members = |count: usize| {
            let members: Vec<String> = (0..count).map(|number| format!("\"m{number:02}\":\"{half}\"")).collect();
            members.join(",")
        };
        let found = frames(Cursor::new(format!("{{{},\"samples\":[{{}}]}}", members(20))), usize::MAX);
        assert!(found[0].ends_with(&format!(": {{}} < {{{}}}", members(15))));
    }

    #[test]
    fn no_scalar_is_a_record() {
        let found = |what: &str| format!("a record is an object or a list, found {what} {BETWEEN}");
        check("{}\n 1", &["0: {}", "4: 1"]);
        check("{\n} 1 {}", &["0: {\n}", &format!("4! {}", found("`1`"))]);
        check("1 2\n", &[&format!("0! {}", found("`1`"))]);
        check(" hello\n[]\n", &[&format!("1! {}", found("`h`"))]);
        check("\"a\n\"", &[&format!("0! {}", found("`\"`"))]);
    }

    #[test]
    fn invalid_text_between_values_ends_the_source() {
        let found = |at: u64, what: &str| format!("{at}! a record is an object or a list, found {what} {BETWEEN}");
        check("{\n}] {}", &["0: {\n}", &found(3, "`]`")]);
        check("{\n}} {}", &["0: {\n}", &found(3, "`}`")]);
        check("{\n},{}", &["0: {\n}", &found(3, "`,`")]);
        check("{\n}\x00", &["0: {\n}", &found(3, "byte 0x00")]);
        let expected = format!("4! expected `,` or `]` after a list element, found `{{` {GIVEN_UP}");
        check("[{} {}]", &["1: {}", &expected]);
        for (source, at, what) in [("[{},]", 4, "]"), ("[{},,{}]", 4, ","), ("[{},}", 4, "}"), ("[{},:", 4, ":")] {
            let expected = format!("{at}! expected a list element, found `{what}` {GIVEN_UP}");
            check(source, &["1: {}", &expected]);
        }
        check("[,{}]", &[&format!("1! expected a list element, found `,` {GIVEN_UP}")]);
    }

    #[test]
    fn an_unclosed_value_is_reported_where_it_begins() {
        let value = |at: u64| format!("{at}! the value that begins here is not closed {UNCLOSED}");
        let list = |at: u64| format!("{at}! the list that begins here is not closed {UNCLOSED}");
        check("{\"a\": 1", &[&value(0)]);
        check("{\n}\n{\"}", &["0: {\n}", &value(4)]);
        check("[{}, {\"a\":", &["1: {}", &value(5)]);
        check("[{}, ", &["1: {}", &list(0)]);
        check("[{}", &["1: {}", &list(0)]);
        check("[ ", &[&list(0)]);
        check(" {\"samples\": [{}", &["14: {} < {}", &list(13)]);
        check(" {\"samples\": [{}], \"a\": ", &["14: {} < {}", &value(1)]);
    }

    #[test]
    fn a_value_beyond_the_limit_is_skipped_and_the_next_is_read() {
        let fits = format!("{{\"{}\"}}", "x".repeat(LIMIT - 4));
        let long = format!("{{\"{}\"}}", "]".repeat(LIMIT - 3));
        let end = 6 + fits.len() + long.len();
        check(
            format!("[{{}},{fits},{long} ,{{}}]"),
            &[
                "1: {}",
                &format!("4: {fits}"),
                &format!("{}! {TOO_LONG}", 5 + fits.len()),
                &format!("{}: {{}}", end + 1),
            ],
        );
        check(format!("{{\n}}{long}{{}}"), &["0: {\n}", &format!("3! {TOO_LONG}"), "104: {}"]);
        check(format!("[{long},{{}}]"), &[&format!("1! {TOO_LONG}"), "103: {}"]);
        check(format!("[{}1,2]", "1".repeat(LIMIT)), &[&format!("1! {TOO_LONG}"), "103: 2"]);
        check(format!("[{{}},{}", "[".repeat(LIMIT + 1)), &["1: {}", &format!("4! {TOO_LONG}")]);
    }

    #[test]
    fn an_object_whose_records_begin_beyond_the_limit_is_one_value_that_is_too_long() {
        let pad = |len: usize| format!("{{\n\"a\":\"{}\",\"samples\":[{{}}]}}{{}}", "x".repeat(len));
        let header = format!("{{\"a\":\"{}\"}}", "x".repeat(80));
        check(pad(80), &[&format!("100: {{}} < {header}"), "104: {}"]);
        check(pad(81), &[&format!("0! {TOO_LONG}"), "105: {}"]);
    }

    #[test]
    fn a_list_of_messages_beyond_the_limit_is_skipped() {
        let list = format!("[\n{{\"role\":1}}{}]", ",{\"role\":1}".repeat(10));
        check(format!("{list}[{{}}]"), &[&format!("0! {TOO_LONG}"), &format!("{}: [{{}}]", list.len())]);
    }

    #[test]
    fn white_space_has_no_limit() {
        let blanks = " ".repeat(3 * LIMIT);
        check(format!("{blanks}{{{blanks}}}"), &[&format!("300! {TOO_LONG}")]);
        check(format!("{blanks}{{}}{blanks}{{}}{blanks}"), &["300: {}", "602: {}"]);
        check(
            format!("[{blanks}{{}}{blanks},{blanks}]"),
            &["301: {}", &format!("904! expected a list element, found `]` {GIVEN_UP}")],
        );
    }

    #[test]
    fn nesting_has_a_limit() {
        let nested = |depth: usize| format!("{{\n\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        let message =
            "the record nests deeper than 10000 levels (check what wrote it; no known format nests this deeply)";
        let source = format!("{}{}{{}}", nested(9_999), nested(10_000));
        let (first, second) = (nested(9_999).len(), nested(10_000).len());
        for sizes in [&[usize::MAX][..], &[1], &[999, 4]] {
            assert_eq!(
                frames(Chopped::new(source.as_bytes(), sizes), usize::MAX),
                [format!("0: {}", nested(9_999)), format!("{first}! {message}"), format!("{}: {{}}", first + second),]
            );
        }
        assert_eq!(frames(Cursor::new("[".repeat(50_000)), usize::MAX), [format!("1! {message}")]);
    }

    #[test]
    fn a_byte_that_is_not_utf8_ends_a_document() {
        check(b"[{}, {},{\"\xff\":1},{}]", &["1: {}", "5: {}", &format!("10! {NO_UTF8}")]);
        check(b"[{\"\xff\":1},{}]", &[&format!("3! {NO_UTF8}")]);
        check(b"{\n}\xff", &["0: {\n}", &format!("3! a record is an object or a list, found byte 0xff {BETWEEN}")]);
        check(b"{\"a\":\"\xff\",\"samples\":[{}]}", &[&format!("6! {NO_UTF8}")]);
        // What is skipped is not looked at.
        check(b"{\"samples\":[{}],\"a\":\"\xff\"}{}", &["12: {} < {}", "24: {}"]);
    }
}

mod sources {
    use super::*;

    const LEAVE: &str = "(leave it out, or check what should have written it)";

    #[test]
    fn nothing_is_not_taken_for_no_values() {
        check("", &[&format!("0! it is empty {LEAVE}")]);
        check(" \r\n\t", &[&format!("0! it contains only white space {LEAVE}")]);
        check(b"\xef\xbb\xbf", &[&format!("0! it is empty {LEAVE}")]);
        check("{\"samples\":[]}\n", &[&format!("0! it contains no record {LEAVE}")]);
        check("{\"samples\":[],\"a\":1}{\"simulations\":[]}", &[&format!("0! it contains no record {LEAVE}")]);
        check("{\"samples\":[]}{}", &["14: {}"]);
    }

    #[test]
    fn a_byte_order_mark_is_skipped_and_counted() {
        check(b"\xef\xbb\xbf{}\n{}\n", &["3: {}", "6: {}"]);
        check(b"\xef\xbb\xbf [{}]", &["5: {}"]);
        check(b"\xef\xbb{}", &[&format!("0! a record is an object or a list, found byte 0xef {BETWEEN}")]);
    }

    #[test]
    fn utf16_is_refused() {
        check(b"\xff\xfe{\0}\0", &["0! it is UTF-16 (save it as UTF-8)"]);
        check(b"\xfe\xff\0{\0}", &["0! it is UTF-16 (save it as UTF-8)"]);
    }

    #[test]
    fn a_failing_source_returns_everything_before_the_error() {
        struct Fails;
        impl Read for Fails {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the cable is loose"))
            }
        }
        let found = |text: &str| frames(Cursor::new(text.to_owned()).chain(Fails), LIMIT);
        let failed = |at: usize| {
            let hint = "(what came before was read; check the disk or the writer)";
            format!("{at}! reading failed: the cable is loose {hint}")
        };
        assert_eq!(found(""), [failed(0)]);
        assert_eq!(found(" "), [failed(1)]);
        assert_eq!(found("{}\n{\"a\":1}"), ["0: {}".to_owned(), failed(10)]);
        assert_eq!(found("{}"), ["0: {}".to_owned(), failed(2)]);
        assert_eq!(found("{\"a\""), [failed(4)]);
        assert_eq!(found("[{},{\"a\""), ["1: {}".to_owned(), failed(8)]);
        assert_eq!(found("1"), [failed(1)]);
        let long = format!("{{}}\n{}", "x".repeat(LIMIT + 2));
        assert_eq!(found(&long), ["0: {}".to_owned(), format!("3! {TOO_LONG}"), failed(long.len())]);
    }

    #[test]
    fn packed_sources_give_their_values_up_to_where_they_break_off() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(b"{\"a\":1}\n{\"b\":2}\n{\"c\"").unwrap();
        let packed = encoder.finish().unwrap();
        let input = Cursor::new(packed[..packed.len() - 8].to_vec());
        let found = frames(Unpacked::new(Box::new(input), Arc::default()), LIMIT);
        let message = "20! the gzip data ends too early, after 20 decompressed bytes";
        let hint = "(what came before was read; the file was truncated when it was written or copied)";
        assert_eq!(found, ["0: {\"a\":1}", "8: {\"b\":2}", &format!("{message} {hint}")]);
    }

    #[test]
    fn batches_get_large_and_have_complete_values() {
        let line = format!("{{\"a\":\"{}\"}}\n", "x".repeat(991));
        let source = line.repeat(4000);
        let mut sizes = Vec::new();
        let mut frames = Frames::new(source.as_bytes(), LIMIT * LIMIT, &unit_of);
        while let Some(item) = frames.next() {
            let Item::Batch(batch) = item else { panic!("{item:?}") };
            assert!(batch.values.iter().all(|value| batch.text[value.clone()] == *line.trim_end()));
            sizes.push((batch.offset, batch.values.len()));
            frames.recycle(batch.text);
        }
        // The first buffer is small.
        let mut size = FIRST;
        let full = &sizes[..sizes.len() - 1];
        for (_, count) in full {
            assert_eq!(*count, size / line.len(), "{sizes:?}");
            size = BATCH;
        }
        assert_eq!(sizes.iter().map(|(_, count)| count).sum::<usize>(), 4000);
    }

    /// A line that never ends.
    struct Endless(u64);

    impl Read for Endless {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let count = out.len().min(usize::try_from(self.0).unwrap());
            out[..count].fill(b'x');
            self.0 -= count as u64;
            Ok(count)
        }
    }

    #[test]
    fn an_endless_value_is_refused_at_once_and_skipped_in_bounded_memory() {
        let most = 1 << 20;
        let length = 1 << 24;
        for (start, before, end, after) in [
            ("{}\n{\"a\":\"", 1, "\n{}\n", 1),
            ("{\"a\":\"", 0, "\"}\n{}\n", 1),
            ("{\n\"a\":\"", 0, "\"}\n{}\n", 1),
            ("[{},\"", 1, "\",{}]", 1),
            ("[", 0, ",{}]", 1),
        ] {
            let input = start.as_bytes().chain(Endless(length)).chain(end.as_bytes());
            let mut frames = Frames::new(input, most, &unit_of);
            let (mut values, mut broken) = (vec![], 0);
            let mut bytes_before_refusal = None;
            while let Some(item) = frames.next() {
                match item {
                    Item::Batch(batch) => values.push((broken, batch.values.len())),
                    Item::Nothing(message) => panic!("{message}"),
                    Item::Broken(RecordError { message, .. }) => {
                        assert_eq!(message, "the record has more than 1048576 bytes, the limit");
                        broken += 1;
                        bytes_before_refusal = Some(frames.window.offset(0));
                    }
                }
                assert!(frames.window.capacity() <= 2 * most, "{start}: {}", frames.window.capacity());
            }
            assert_eq!(broken, 1, "{start}");
            assert!(bytes_before_refusal.unwrap() < 2 * most as u64, "{start}");
            let count =
                |when: usize| values.iter().filter(|(broken, _)| *broken == when).map(|(_, n)| n).sum::<usize>();
            assert_eq!((count(0), count(1)), (before, after), "{start}");
        }
    }

    #[test]
    fn a_pipe_is_answered_before_it_is_written_on() {
        let patience = Duration::from_secs(20);
        let written = [
            ("{\"a\":1}\n", "{\"b\":2}\n"),
            ("{}\n", "{}\n"),
            ("\n{}\n", "{}\n"),
            ("[{\"a\":1},", "{\"b\":2}]"),
            ("{\n\"a\":1}", "{\"b\":2}"),
            ("{\"samples\":[{\"a\":1}", ",{\"b\":2}]}"),
        ];
        for pack in [false, true] {
            for (first, second) in written {
                let (reader, mut writer) = io::pipe().unwrap();
                let (send, received) = mpsc::channel();
                let reading = thread::spawn(move || {
                    let mut count = 0;
                    for item in Frames::new(Unpacked::new(Box::new(reader), Arc::default()), LIMIT, &unit_of) {
                        let Item::Batch(batch) = item else { panic!("{item:?}") };
                        count += batch.values.len();
                        send.send(count).unwrap();
                    }
                });
                let packed =
                    |text: &str| if pack { zstd::encode_all(text.as_bytes(), 1).unwrap() } else { text.into() };
                writer.write_all(&packed(first)).unwrap();
                assert_eq!(received.recv_timeout(patience), Ok(1), "{first}");
                writer.write_all(&packed(second)).unwrap();
                assert_eq!(received.recv_timeout(patience), Ok(2), "{second}");
                drop(writer);
                reading.join().unwrap();
            }
        }
    }
}

mod properties {
    use super::*;

    /// Strings full of what a scanner could trip over.
    fn nasty() -> impl Strategy<Value = serde_json::Value> {
        let piece = prop::sample::select(vec![
            "{",
            "}",
            "[",
            "]",
            "\"",
            "\\",
            "\n",
            "\r\n",
            ",",
            ":",
            "\"samples\":[",
            "ü",
            "🦀",
            " ",
            "\u{1}",
            "\\u005d",
            "abc",
        ]);
        prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat().into())
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![nasty(), Just(serde_json::json!(null)), any::<i32>().prop_map(Into::into)];
        leaf.prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                prop::collection::vec((nasty(), inner), 0..4).prop_map(|members| {
                    let members = members.into_iter().map(|(key, value)| (key.as_str().unwrap().to_owned(), value));
                    serde_json::Value::Object(members.collect())
                }),
            ]
        })
    }

    fn object() -> impl Strategy<Value = serde_json::Value> {
        json().prop_map(|inner| serde_json::json!({ "inner": inner }))
    }

    /// A source and the values that have to be found in it.
    fn source() -> impl Strategy<Value = (String, Vec<serde_json::Value>)> {
        let blank = prop::sample::select(vec!["", " ", "\n", "\r\n", "\t\n "]);
        (prop::collection::vec(object(), 1..6), 0..6, blank).prop_map(|(values, shape, blank)| {
            let compact: Vec<String> = values.iter().map(ToString::to_string).collect();
            let pretty: Vec<String> = values.iter().map(|value| format!("{value:#}")).collect();
            let text = match shape {
                0 => compact.join(&format!("{blank}\n")),
                1 => format!("{}\n", compact.join(&format!(" \n{blank}"))),
                2 => pretty.join(blank),
                3 => format!("{blank}[{blank}{}]{blank}", compact.join(&format!("{blank},"))),
                4 => format!("[{}{blank}]", pretty.join(&format!(",{blank}"))),
                _ => {
                    let list = compact.join(&format!("{blank},{blank}"));
                    format!("{{{blank}\"a\":{},\"samples\"{blank}:[{list}],\"z\":{}}}", compact[0], pretty[0])
                }
            };
            (text, values)
        })
    }

    proptest! {
        #[test]
        fn every_value_is_found_however_it_is_read(
            (text, expected) in source(),
            sizes in prop::collection::vec(1_usize..40, 1..6),
        ) {
            let whole = frames(text.as_bytes(), 1 << 20);
            prop_assert_eq!(&frames(Chopped::new(text.as_bytes(), &sizes), 1 << 20), &whole);
            prop_assert_eq!(&frames(Chopped::new(text.as_bytes(), &[1]), 1 << 20), &whole);
            let mut found = Vec::new();
            for item in Frames::new(text.as_bytes(), 1 << 20, &unit_of) {
                let Item::Batch(batch) = item else { panic!("{item:?}") };
                for value in batch.values {
                    found.push(serde_json::from_str::<serde_json::Value>(&batch.text[value]).unwrap());
                }
                if let Some(header) = batch.header {
                    let header: serde_json::Value = serde_json::from_str(&header).unwrap();
                    prop_assert_eq!(header, serde_json::json!({ "a": expected[0] }));
                }
            }
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn no_source_is_read_differently_in_pieces(
            (mut text, _) in source().prop_map(|(text, values)| (text.into_bytes(), values)),
            wounds in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(b"{}[]\",:\n \xff1x".to_vec())), 0..4),
            cut in any::<prop::sample::Index>(),
            is_cut in any::<bool>(),
            most in 1_usize..200,
            sizes in prop::collection::vec(1_usize..40, 1..6),
        ) {
            for (at, byte) in wounds {
                let at = at.index(text.len());
                text[at] = byte;
            }
            if is_cut {
                text.truncate(cut.index(text.len()));
            }
            let whole = frames(&text[..], most);
            prop_assert_eq!(&frames(Chopped::new(&text, &sizes), most), &whole);
            prop_assert_eq!(&frames(Chopped::new(&text, &[1]), most), &whole);
        }
    }
}
