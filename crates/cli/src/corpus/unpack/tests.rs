//! What was packed is read back, and damage is reported after what came before it.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

/// A reader that gives at most this many bytes at a time.
struct Slow(io::Cursor<Vec<u8>>, usize);

impl Read for Slow {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let most = out.len().min(self.1);
        self.0.read(&mut out[..most])
    }
}

/// Some text that packs to several blocks and not to nothing.
fn text(len: usize) -> Vec<u8> {
    let mut state = 7_u32;
    let mut out = Vec::with_capacity(len);
    while out.len() < len {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        out.extend_from_slice(format!("{{\"n\": {}}}\n", state >> 12).as_bytes());
    }
    out.truncate(len);
    out
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 3).unwrap()
}

/// The complete output and how it ended. `at_once` is how much the source returns per read, `asked` how much is requested.
fn unpack(stored: &[u8], at_once: usize, asked: usize) -> (Vec<u8>, Option<Failure>) {
    let progress = Arc::new(AtomicU64::new(0));
    let input = Slow(io::Cursor::new(stored.to_vec()), at_once);
    let mut unpacked = Unpacked::new(Box::new(input), Arc::clone(&progress));
    let (mut out, mut buffer) = (Vec::new(), vec![0; asked]);
    loop {
        match unpacked.read(&mut buffer) {
            Ok(0) => {
                assert_eq!(progress.load(Ordering::Relaxed), stored.len() as u64, "every stored byte was counted");
                return (out, None);
            }
            Ok(count) => out.extend_from_slice(&buffer[..count]),
            Err(error) => {
                let error = error.get_ref().unwrap().downcast_ref::<Failure>().unwrap().clone();
                let again = unpacked.read(&mut buffer).unwrap_err();
                assert_eq!(again.to_string(), error.to_string(), "a source that failed does not end cleanly");
                return (out, Some(error));
            }
        }
    }
}

/// Unpacks in several rhythms, which may not matter.
fn check(stored: &[u8], expected: &[u8], error: Option<(&str, &str)>) {
    let error = error.map(|(message, hint)| damaged(message.to_owned(), hint.to_owned()));
    for (at_once, asked) in [(usize::MAX, 1 << 20), (1, 4096), (7, 3), (4096, 100_000)] {
        let (out, ended) = unpack(stored, at_once, asked);
        assert_eq!(ended, error, "{at_once} bytes at a time");
        assert!(out == expected, "{at_once} bytes at a time: {} bytes instead of {}", out.len(), expected.len());
    }
}

#[test]
fn plain_bytes_are_left_alone_also_those_that_begin_like_packed_ones() {
    let starts: [&[u8]; 8] = [b"", b"{}", b"[", b"[*M", b"[*Mx", &[0x1f], &[0x28, 0xb5, 0x2f], &[0x1f, b'x']];
    for start in starts {
        check(start, start, None);
    }
    check(&text(300_000), &text(300_000), None);
}

#[test]
fn gzip_is_unpacked_with_all_its_members() {
    let all = text(700_000);
    check(&gzip(&all), &all, None);
    let members: Vec<u8> =
        [&all[..5], &[], &all[5..300_000], &all[300_000..]].iter().flat_map(|part| gzip(part)).collect();
    check(&members, &all, None);
}

#[test]
fn zstd_is_unpacked_with_all_its_frames_and_without_its_notes() {
    let all = text(700_000);
    check(&zstd(&all), &all, None);
    let note = |number: u8| [&[0x50 + number, 0x2a, 0x4d, 0x18, 3, 0, 0, 0], b"abc".as_slice()].concat();
    let frames = [note(0), zstd(&all[..5]), zstd(&[]), note(11), zstd(&all[5..])].concat();
    check(&frames, &all, None);
}

#[test]
fn data_before_an_early_end_is_returned() {
    let hint = "what came before was read; the file was truncated when it was written or copied";
    let all = text(200_000);
    let packed = gzip(&all);
    // Without the check sums at the end, all of the data is there.
    let message = "the gzip data ends too early, after 200000 decompressed bytes";
    check(&packed[..packed.len() - 5], &all, Some((message, hint)));
    check(&packed[..9], &[], Some(("the gzip data ends too early, after 0 decompressed bytes", hint)));
    let (half, _) = unpack(&packed[..packed.len() / 2], usize::MAX, 4096);
    assert!(half.len() > 50_000 && all.starts_with(&half), "{} bytes", half.len());
    let message = format!("the gzip data ends too early, after {} decompressed bytes", half.len());
    check(&packed[..packed.len() / 2], &half, Some((&message, hint)));

    let packed = zstd(&all);
    let message = "the zstd data ends too early, after 131072 decompressed bytes";
    check(&packed[..packed.len() - 1], &all[..131_072], Some((message, hint)));
    check(&packed[..4], &[], Some(("the zstd data ends too early, after 0 decompressed bytes", hint)));
}

#[test]
fn data_before_damage_is_returned() {
    let all = text(400_000);
    let hint = "what came before was read; `gzip -t` checks the file";
    let mut packed = gzip(&all);
    let at = packed.len() - 8;
    packed[at] ^= 1;
    let message = "the gzip data is corrupt after 400000 decompressed bytes: incorrect data check";
    check(&packed, &all, Some((message, hint)));

    // A block of the third kind does not exist.
    let whole = [gzip(&all), gzip(b"x")].concat();
    let mut packed = whole.clone();
    let at = gzip(&all).len() + 10;
    packed[at] = 0x07;
    let message = "the gzip data is corrupt after 400000 decompressed bytes: invalid block type";
    check(&packed, &all, Some((message, hint)));

    let hint = "what came before was read; `zstd -t` checks the file";
    let mut packed = [zstd(&all), zstd(b"x")].concat();
    let at = zstd(&all).len() + 4;
    packed[at] |= 0x08;
    let (out, error) = unpack(&packed, usize::MAX, 1 << 20);
    assert!(out == all, "{} bytes", out.len());
    let message = "the zstd data is corrupt after 400000 decompressed bytes: Unsupported frame parameter";
    assert_eq!(error, Some(damaged(message.to_owned(), hint.to_owned())));
    check(&packed, &all, Some((message, hint)));
}

#[test]
fn a_broken_block_does_not_take_the_blocks_before_it_along() {
    let all = text(400_000);
    let mut packed = zstd(&all);
    let last = packed.len() - 40_000;
    packed[last..].fill(0xff);
    let (out, _) = unpack(&packed, usize::MAX, 1 << 20);
    assert!(out.len() >= 131_072 && out.len() % 131_072 == 0 && all.starts_with(&out), "{} bytes", out.len());
    assert_eq!(unpack(&packed, 1, 1000).0.len(), out.len());
    assert_eq!(unpack(&packed, 5000, 1 << 20).0.len(), out.len());
}

#[test]
fn how_much_comes_before_damage_does_not_depend_on_how_it_is_read() {
    let mut packed = gzip(&text(400_000));
    let middle = packed.len() / 2;
    packed[middle..middle + 5000].fill(0xff);
    let (out, error) = unpack(&packed, usize::MAX, 1 << 20);
    let Failure { message, hint, .. } = error.unwrap();
    assert!(text(400_000)[..150_000] == out[..150_000], "{} bytes", out.len());
    let start = format!("the gzip data is corrupt after {} decompressed bytes: ", out.len());
    assert!(message.starts_with(&start), "{message}");
    check(&packed, &out, Some((&message, &hint.unwrap())));
}

#[test]
fn uncompressed_data_after_compressed_data_is_an_error() {
    let hint = "what came before was read; compress the whole file or none of it";
    let message = "data that is not gzip follows after 2 decompressed bytes";
    for garbage in [b"{}".as_slice(), &[0]] {
        check(&[&gzip(b"{}"), garbage].concat(), b"{}", Some((message, hint)));
    }
    let message = "the zstd data is corrupt after 2 decompressed bytes: Unknown frame descriptor";
    let hint = "what came before was read; `zstd -t` checks the file";
    check(&[&zstd(b"{}"), b"{\"a\":1}".as_slice()].concat(), b"{}", Some((message, hint)));
}

#[test]
fn a_window_that_takes_too_much_memory_is_refused() {
    let packed = |log: u32| {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(log).unwrap();
        encoder.write_all(b"{}").unwrap();
        encoder.finish().unwrap()
    };
    check(&packed(26), b"{}", None);
    let message = "the zstd data after 0 decompressed bytes needs a window of more than 64 MiB";
    check(&packed(27), b"", Some((message, "compress it again with `zstd --long=26` or less")));
}

#[test]
fn the_source_is_not_read_while_output_is_buffered() {
    /// Returns one stored part per read, and counts the reads.
    struct Parts(std::vec::IntoIter<Vec<u8>>, Arc<AtomicU64>);

    impl Read for Parts {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            self.1.fetch_add(1, Ordering::Relaxed);
            let part = self.0.next().unwrap_or_default();
            out[..part.len()].copy_from_slice(&part);
            Ok(part.len())
        }
    }

    for pack in [gzip, zstd, <[u8]>::to_vec] {
        let parts = vec![pack(&text(10)), pack(&text(50_000))];
        let asked = Arc::new(AtomicU64::new(0));
        let input = Parts(parts.into_iter(), Arc::clone(&asked));
        let mut unpacked = Unpacked::new(Box::new(input), Arc::new(AtomicU64::new(0)));
        let mut out = vec![0; 1 << 20];
        let mut counts = Vec::new();
        for _ in 0..3 {
            let count = unpacked.read(&mut out).unwrap();
            counts.push((count, asked.load(Ordering::Relaxed)));
        }
        assert_eq!(counts, [(10, 1), (50_000, 2), (0, 3)]);
    }
}
