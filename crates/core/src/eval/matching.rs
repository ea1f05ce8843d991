//! Maximum bipartite matching (Hopcroft and Karp), and the proof when it falls short (Hall).
//!
//! Left vertices are what must be covered, in order of importance; right vertices are what covers them. Candidates
//! are tried in the order given, so the first round is the natural one: each left vertex takes its earliest free
//! candidate. A vertex once covered stays covered, so covering important vertices first and adding the rest later
//! loses none of them.

use std::collections::VecDeque;

/// A matching, seen from both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Matching {
    /// The right vertex of each left one.
    pub(crate) right_of: Vec<Option<usize>>,
    /// The left vertex of each right one.
    pub(crate) left_of: Vec<Option<usize>>,
}

/// Left vertices that together have too few candidates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Deficit {
    /// The left vertices, ascending.
    pub(crate) left: Vec<usize>,
    /// All right vertices that any of them can take, ascending: fewer than there are left vertices.
    pub(crate) right: Vec<usize>,
}

const UNREACHED: u32 = u32::MAX;

impl Matching {
    /// Nothing covered yet.
    pub(crate) fn empty(left: usize, right: usize) -> Self {
        Self { right_of: vec![None; left], left_of: vec![None; right] }
    }
}

/// A maximum matching of all left vertices.
pub(crate) fn maximum(candidates: &[Vec<u32>], right: usize) -> Matching {
    let mut matching = Matching::empty(candidates.len(), right);
    extend(candidates, &mut matching, |_| true);
    matching
}

/// Grows `matching` to a maximum over the left vertices that `wanted` admits, keeping covered ones covered.
pub(crate) fn extend(candidates: &[Vec<u32>], matching: &mut Matching, wanted: impl Fn(usize) -> bool) {
    if matching.right_of.iter().all(Option::is_none) {
        take_first_free(candidates, matching, &wanted);
    }
    // Often every vertex is covered by then, or was before.
    if (0..candidates.len())
        .all(|left| matching.right_of[left].is_some() || candidates[left].is_empty() || !wanted(left))
    {
        return;
    }
    let mut layer = vec![UNREACHED; candidates.len()];
    let mut tried = vec![0_usize; candidates.len()];
    let mut queue: VecDeque<usize> = VecDeque::new();
    loop {
        layer.fill(UNREACHED);
        tried.fill(0);
        let free = |left: &usize| matching.right_of[*left].is_none() && wanted(*left);
        let roots: Vec<usize> = (0..candidates.len()).filter(free).collect();
        queue.extend(&roots);
        for root in &roots {
            layer[*root] = 0;
        }
        let mut reachable = false;
        while let Some(left) = queue.pop_front() {
            for right in &candidates[left] {
                match matching.left_of[*right as usize] {
                    None => reachable = true,
                    Some(next) if layer[next] == UNREACHED => {
                        layer[next] = layer[left] + 1;
                        queue.push_back(next);
                    }
                    Some(_) => {}
                }
            }
        }
        if !reachable {
            return;
        }
        for root in roots {
            augment(candidates, matching, &layer, &mut tried, root);
        }
    }
}

/// The first round: nothing is covered, so every path is a single step.
fn take_first_free(candidates: &[Vec<u32>], matching: &mut Matching, wanted: impl Fn(usize) -> bool) {
    for (left, row) in candidates.iter().enumerate().filter(|(left, _)| wanted(*left)) {
        let free = row.iter().map(|right| *right as usize).find(|right| matching.left_of[*right].is_none());
        if let Some(right) = free {
            matching.right_of[left] = Some(right);
            matching.left_of[right] = Some(left);
        }
    }
}

/// Follows one shortest alternating path from `root` and flips it, if there is one left.
fn augment(candidates: &[Vec<u32>], matching: &mut Matching, layer: &[u32], tried: &mut [usize], root: usize) {
    let mut path = vec![root];
    while let Some(left) = path.last().copied() {
        let Some(right) = candidates[left].get(tried[left]).map(|right| *right as usize) else {
            path.pop();
            continue;
        };
        tried[left] += 1;
        match matching.left_of[right] {
            None => {
                let mut take = right;
                while let Some(left) = path.pop() {
                    let given_up = matching.right_of[left].replace(take);
                    matching.left_of[take] = Some(left);
                    match given_up {
                        Some(previous) => take = previous,
                        None => return,
                    }
                }
                return;
            }
            Some(next) if layer[next] == layer[left] + 1 => path.push(next),
            Some(_) => {}
        }
    }
}

/// Why the left vertices in `starts` cannot all be covered by a maximum matching: sets of left vertices with too few
/// candidates, sets that share a vertex being one.
pub(crate) fn deficits(candidates: &[Vec<u32>], matching: &Matching, starts: &[usize]) -> Vec<Deficit> {
    const UNSEEN: usize = usize::MAX;
    let mut left_set = vec![UNSEEN; candidates.len()];
    let mut right_set = vec![UNSEEN; matching.left_of.len()];
    // Sets that turned out to be one: each points to an earlier set, or to itself.
    let mut joined: Vec<usize> = Vec::new();
    for start in starts.iter().copied() {
        if left_set[start] != UNSEEN {
            continue;
        }
        let mut set = joined.len();
        joined.push(set);
        left_set[start] = set;
        let mut pending = vec![start];
        while let Some(left) = pending.pop() {
            for right in candidates[left].iter().map(|right| *right as usize) {
                if right_set[right] != UNSEEN {
                    let other = root(&joined, right_set[right]);
                    let first = other.min(set);
                    joined[other.max(set)] = first;
                    set = first;
                    continue;
                }
                right_set[right] = set;
                if let Some(next) = matching.left_of[right].filter(|next| left_set[*next] == UNSEEN) {
                    left_set[next] = set;
                    pending.push(next);
                }
            }
        }
    }
    let members = |sets: &[usize], wanted: usize| {
        (0..sets.len()).filter(|at| sets[*at] != UNSEEN && root(&joined, sets[*at]) == wanted).collect()
    };
    (0..joined.len())
        .filter(|set| joined[*set] == *set)
        .map(|set| Deficit { left: members(&left_set, set), right: members(&right_set, set) })
        .collect()
}

fn root(joined: &[usize], mut set: usize) -> usize {
    while joined[set] != set {
        set = joined[set];
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_greedy_choice_is_undone_when_another_vertex_needs_it() {
        let candidates = vec![vec![0, 1], vec![0]];
        assert_eq!(maximum(&candidates, 2).right_of, [Some(1), Some(0)]);
    }

    #[test]
    fn a_shortfall_is_proved_by_vertices_with_too_few_candidates() {
        let candidates = vec![vec![0], vec![0, 1], vec![0], vec![2], vec![0], vec![2]];
        let matching = maximum(&candidates, 3);
        let uncovered: Vec<_> = (0..6).filter(|left| matching.right_of[*left].is_none()).collect();
        let sets: Vec<_> =
            deficits(&candidates, &matching, &uncovered).into_iter().map(|set| (set.left, set.right)).collect();
        assert_eq!(sets, [(vec![0, 2, 4], vec![0]), (vec![3, 5], vec![2])]);
    }

    fn brute(candidates: &[Vec<u32>], at: usize, used: &mut Vec<u32>) -> usize {
        if at == candidates.len() {
            return 0;
        }
        let mut best = brute(candidates, at + 1, used);
        for right in &candidates[at] {
            if !used.contains(right) {
                used.push(*right);
                best = best.max(1 + brute(candidates, at + 1, used));
                used.pop();
            }
        }
        best
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]
        #[test]
        fn the_matching_is_maximum_and_every_shortfall_is_proved(
            candidates in prop::collection::vec(prop::collection::vec(0_u32..6, 0..6), 0..6)
        ) {
            let matching = maximum(&candidates, 6);
            let size = matching.right_of.iter().flatten().count();
            prop_assert_eq!(size, brute(&candidates, 0, &mut Vec::new()));
            for (left, right) in matching.right_of.iter().enumerate() {
                if let Some(right) = right {
                    prop_assert_eq!(matching.left_of[*right], Some(left));
                    prop_assert!(candidates[left].contains(&u32::try_from(*right).unwrap()));
                } else {
                    let proof = deficits(&candidates, &matching, &[left]).remove(0);
                    prop_assert!(proof.left.contains(&left) && proof.right.len() < proof.left.len());
                    for member in &proof.left {
                        prop_assert!(candidates[*member].iter().all(|right| proof.right.contains(&(*right as usize))));
                    }
                }
            }
        }
    }
}
