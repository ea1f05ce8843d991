//! Runs kept in few bytes: of each the weakest score, the outcome and, per call, the tool and the key of the arguments; some
//! 16 bytes a call, packed end to end and linked from run to run of a group.

use crate::eval::stability::ArgsKey;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ended {
    pub(super) weakest: Option<f64>,
    pub(super) outcome: Option<bool>,
}

/// The number of a tool, and the arguments it was called with.
pub(super) type Call = (u32, Option<ArgsKey>);

/// Most bytes of a chunk, unless one run takes more.
const CHUNK: usize = 1 << 20;

/// Most bytes of a run without its calls: the run before, the score, the outcome, the number of calls.
const FIXED: usize = 8 + 8 + 1 + 10;

/// Most bytes of a call.
const MOST_OF_CALL: usize = 5 + size_of::<ArgsKey>();

/// Runs end to end in chunks, so that growing never copies.
#[derive(Debug, Default)]
pub(super) struct Store {
    chunks: Vec<Vec<u8>>,
}

impl Store {
    /// Keeps a run after the previous one of its group and returns its place. `calls` are the tools by their number among
    /// all groups, with their arguments.
    pub(super) fn push(
        &mut self,
        previous: Option<u64>,
        ended: Ended,
        calls: Option<impl ExactSizeIterator<Item = Call>>,
    ) -> u64 {
        let most = FIXED + calls.as_ref().map_or(0, |calls| calls.len() * MOST_OF_CALL);
        let fits = self.chunks.last().is_some_and(|chunk| chunk.len() + most <= chunk.capacity());
        if !fits {
            self.chunks.push(Vec::with_capacity(most.max(CHUNK)));
        }
        let at = self.chunks.len() - 1;
        let chunk = &mut self.chunks[at];
        let place = (at as u64) << 32 | chunk.len() as u64;
        // A place is never the largest number there is.
        chunk.extend_from_slice(&previous.unwrap_or(u64::MAX).to_le_bytes());
        chunk.extend_from_slice(&ended.weakest.unwrap_or(f64::NAN).to_le_bytes());
        chunk.push(match ended.outcome {
            None => 2,
            Some(passed) => u8::from(passed),
        });
        match calls {
            None => number(0, chunk),
            Some(calls) => {
                number(calls.len() as u64 + 1, chunk);
                for (tool, args) in calls {
                    number(u64::from(tool) << 1 | u64::from(args.is_some()), chunk);
                    chunk.extend_from_slice(args.as_ref().map_or(&[], ArgsKey::as_slice));
                }
            }
        }
        place
    }

    /// The places of the runs of a group, first to last.
    pub(super) fn places(&self, last: Option<u64>, runs: u64) -> Vec<u64> {
        let mut places = Vec::with_capacity(usize::try_from(runs).unwrap_or(0));
        let mut next = last;
        while let Some(place) = next {
            places.push(place);
            let previous = u64::from_le_bytes(self.bytes(place).take());
            next = (previous != u64::MAX).then_some(previous);
        }
        places.reverse();
        places
    }

    fn bytes(&self, place: u64) -> Bytes<'_> {
        let chunk = self.chunks.get((place >> 32) as usize).map_or(&[][..], Vec::as_slice);
        Bytes(chunk.get((place & 0xffff_ffff) as usize..).unwrap_or(&[]))
    }

    /// How the run at a place ended, and its calls; none when they were not recorded or are not needed.
    pub(super) fn run(&self, place: u64) -> (Ended, Option<Calls<'_>>) {
        let mut bytes = self.bytes(place);
        let _previous: [u8; 8] = bytes.take();
        let weakest = f64::from_le_bytes(bytes.take());
        let outcome = match bytes.take::<1>()[0] {
            2 => None,
            passed => Some(passed == 1),
        };
        let ended = Ended { weakest: Some(weakest).filter(|score| !score.is_nan()), outcome };
        (ended, bytes.number().checked_sub(1).map(|left| Calls { left, bytes }))
    }
}

/// The calls of a run, in order.
pub(super) struct Calls<'a> {
    left: u64,
    bytes: Bytes<'a>,
}

impl Iterator for Calls<'_> {
    type Item = Call;

    fn next(&mut self) -> Option<Call> {
        self.left = self.left.checked_sub(1)?;
        let word = self.bytes.number();
        Some((u32::try_from(word >> 1).unwrap_or(u32::MAX), (word & 1 == 1).then(|| self.bytes.take())))
    }
}

/// A number in groups of seven bits, the lowest first.
fn number(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push((value & 0x7f) as u8);
}

/// Reads what [`Store::push`] wrote.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        match self.0.split_first_chunk() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => [0; N],
        }
    }

    fn number(&mut self) -> u64 {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.take();
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_come_back_as_they_were_kept_in_the_order_of_their_group() {
        type Kept = (Ended, Option<Vec<Call>>);
        let mut store = Store::default();
        let runs: [Kept; 3] = [
            (Ended { weakest: None, outcome: None }, None),
            (Ended { weakest: Some(0.25), outcome: Some(true) }, Some(Vec::new())),
            (
                Ended { weakest: Some(1.0), outcome: Some(false) },
                Some(vec![(0, None), (127, Some([7; 12])), (128, None), (u32::MAX, Some([255; 12]))]),
            ),
        ];
        let (mut odd, mut even) = (None, None);
        for round in 0..5000 {
            let last = if round % 2 == 0 { &mut even } else { &mut odd };
            let (ended, calls) = runs[round % 3].clone();
            *last = Some(store.push(*last, ended, calls.map(Vec::into_iter)));
        }
        assert!(store.chunks.len() == 1);
        let kept = |place| {
            let (ended, calls) = store.run(place);
            (ended, calls.map(Iterator::collect))
        };
        let found: Vec<Kept> = store.places(odd, 2500).into_iter().map(kept).collect();
        let expected: Vec<Kept> =
            (0..5000).filter(|round| round % 2 == 1).map(|round| runs[round % 3].clone()).collect();
        assert_eq!(found, expected);
    }
}
