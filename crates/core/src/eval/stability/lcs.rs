//! Length of the longest common subsequence, bit-parallel.
//!
//! The recurrence `V = (V + (V & M)) | (V & !M)` handles 64 symbols of `a` at a time against one symbol of `b`; zero bits
//! of the final `V` count the subsequence. Blocks of `a` are taken one after the other, and the carry of the addition at
//! each symbol of `b` goes to the next block, so memory stays linear.

/// Steps of [`length`] for a sequence against others, by the lengths of the one and of all the others.
pub(super) fn steps(one: usize, others: usize) -> u64 {
    (one.div_ceil(64) as u64).saturating_mul(others as u64)
}

/// Length of the longest common subsequence of two sequences of small symbols.
pub(super) fn length(a: &[u32], b: &[u32]) -> usize {
    let symbols = a.iter().chain(b).max().map_or(0, |most| *most as usize + 1);
    // Most sequences are short and need no allocation.
    let (mut few, mut many) = ([0_u64; 64], Vec::new());
    let places = if symbols <= few.len() {
        &mut few[..]
    } else {
        many.resize(symbols, 0);
        &mut many[..]
    };
    let mut carries = vec![false; if a.len() > 64 { b.len() } else { 0 }];
    let mut common = 0;
    for block in a.chunks(64) {
        for (at, symbol) in block.iter().enumerate() {
            places[*symbol as usize] |= 1 << at;
        }
        let mut open = u64::MAX;
        for (at, symbol) in b.iter().enumerate() {
            let hits = open & places[*symbol as usize];
            let carry = carries.get_mut(at);
            let (sum, over) = open.overflowing_add(hits);
            let (sum, over_carry) = sum.overflowing_add(u64::from(carry.as_deref() == Some(&true)));
            if let Some(carry) = carry {
                *carry = over || over_carry;
            }
            open = sum | (open & !hits);
        }
        let used = if block.len() == 64 { u64::MAX } else { (1 << block.len()) - 1 };
        common += (!open & used).count_ones() as usize;
        for symbol in block {
            places[*symbol as usize] = 0;
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::length;
    use proptest::prelude::*;

    fn table(a: &[u32], b: &[u32]) -> usize {
        let mut row = vec![0; b.len() + 1];
        for x in a {
            let mut diagonal = 0;
            for (at, y) in b.iter().enumerate() {
                let up = row[at + 1];
                row[at + 1] = if x == y { diagonal + 1 } else { up.max(row[at]) };
                diagonal = up;
            }
        }
        row[b.len()]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]
        #[test]
        fn bits_agree_with_the_table(
            a in prop::collection::vec(0_u32..5, 0..300),
            b in prop::collection::vec(0_u32..5, 0..300),
        ) {
            prop_assert_eq!(length(&a, &b), table(&a, &b));
        }
    }
}
