//! What lookups returned: a passive whose verb and noun occur together in one of these results only repeats it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::backing::Evidence;
use super::beginnings::Beginnings;
use super::claims::Claim;
use super::did::Source;
use super::objects::each_text;
use super::words;
use crate::trace::Trace;

/// How many words may be between a verb and its noun.
const NEAR: usize = 10;
/// Most places of one word that are remembered.
const MAX_PLACES: usize = 256;

/// Where the words of some claims are in the results of lookups.
#[derive(Default)]
pub(super) struct Lookups {
    /// The call and the place of every word.
    places: BTreeMap<String, Vec<(usize, usize)>>,
}

impl Lookups {
    /// Reads the results of all calls that changed nothing, for the words of some claims.
    pub(super) fn new<'c>(trace: &Trace, evidence: &Evidence<'_>, claims: impl Iterator<Item = &'c Claim>) -> Self {
        let mut wanted: BTreeSet<String> = BTreeSet::new();
        for claim in claims {
            wanted.extend(claim.nouns.iter().chain([&claim.verb]).map(|word| words::root(word).into_owned()));
        }
        let mut lookups = Self::default();
        if wanted.is_empty() {
            return lookups;
        }
        let mut beginnings = Beginnings::of_irregular();
        for root in &wanted {
            beginnings.add(root);
        }
        let mut place = 0;
        for (call, did) in evidence.dids.iter().enumerate().filter(|(_, did)| !did.changes()) {
            let Some(result) = trace.result(call).filter(|result| result.failed() == Some(false)) else { continue };
            // What a command echoes are the agent's own words.
            let mut wanted = Cow::Borrowed(&wanted);
            if did.source == Source::Shell {
                let args = trace.tool_calls.as_deref().and_then(|calls| calls[call].args.as_ref());
                let mut own = |text: &str| {
                    for word in words::each_written(text).filter(|word| beginnings.may_have(word)) {
                        let word = words::lower(word);
                        let root = words::root(&word);
                        if wanted.contains(root.as_ref()) {
                            wanted.to_mut().remove(root.as_ref());
                        }
                    }
                };
                if let Some(args) = args {
                    each_text(args, &mut own);
                }
            }
            let mut read = |text: &str| lookups.read(text, call, &wanted, &beginnings, &mut place);
            result.texts().for_each(&mut read);
            if let Some(value) = &result.structured_content {
                each_text(value, &mut read);
            }
        }
        lookups
    }

    fn read(&mut self, text: &str, call: usize, wanted: &BTreeSet<String>, beginnings: &Beginnings, place: &mut usize) {
        for word in words::each_written(text) {
            *place += 1;
            if !beginnings.may_have(word) {
                continue;
            }
            let word = words::lower(word);
            let root = words::root(&word);
            if wanted.contains(root.as_ref()) {
                let places = self.places.entry(root.into_owned()).or_default();
                if places.len() < MAX_PLACES {
                    places.push((call, *place));
                }
            }
        }
    }

    /// The lookup whose result says what a claim says.
    pub(super) fn narrates(&self, claim: &Claim) -> Option<usize> {
        let verbs = self.places.get(words::root(&claim.verb).as_ref())?;
        let Some(noun) = claim.nouns.last() else { return verbs.first().map(|(call, _)| *call) };
        let nouns = self.places.get(words::root(noun).as_ref())?;
        // Both lists are in order, so the noun nearest to a verb is found by halving.
        verbs.iter().find_map(|(call, place)| {
            let at = nouns.partition_point(|(_, noun)| *noun + NEAR < *place);
            nouns.get(at).filter(|(other, noun)| other == call && noun.abs_diff(*place) <= NEAR).map(|(call, _)| *call)
        })
    }
}
