//! The lines of one session, sorted into the main chain and those of sub-agents.

use std::collections::{BTreeMap, BTreeSet};

use super::chain::{Chain, Closing};
use super::line::Line;
use crate::import::anthropic::blocks::About;
use crate::import::wire::{self, Text};
use crate::import::{ImportError, Imported, Options};

/// The name of a sub-agent without a known root.
const NAMELESS: &str = "sidechain";

pub(super) fn join(key: &str, pieces: &[&str], options: &Options) -> Result<Vec<Imported<'static>>, ImportError> {
    let mut session = Session {
        options,
        chains: Vec::new(),
        agents: Vec::new(),
        numbers: BTreeMap::new(),
        names: BTreeMap::new(),
        unsorted: Vec::new(),
        seen: BTreeSet::new(),
        closings: Vec::new(),
    };
    for piece in pieces {
        session.line(wire::piece(piece)?)?;
    }
    for closing in &session.closings {
        let chain_of = |name| session.agents.get(*session.numbers.get(name)?)?.chain;
        let place = closing.names.iter().filter(|name| name.is_some()).find_map(chain_of);
        if let Some(chain) = place.and_then(|place| session.chains.get_mut(place)) {
            chain.close(closing)?;
        }
    }
    // The main chain first, the others as they appear. The sort is stable.
    session.chains.sort_by_key(|chain| !chain.is_main());
    Ok(session.chains.into_iter().map(|chain| chain.finish(key)).collect())
}

struct Session<'a, 'o> {
    options: &'o Options,
    chains: Vec<Chain<'a, 'o>>,
    /// Every agent, and the number of each by its name. Lines refer to agents by number: a long name would be copied for every
    /// line.
    agents: Vec<Agent<'a>>,
    numbers: BTreeMap<Option<Text<'a>>, usize>,
    /// The agent that a line belongs to, by its uuid.
    names: BTreeMap<Text<'a>, usize>,
    /// The same for the lines since a parent was last looked for, which most sessions never do.
    unsorted: Vec<(Text<'a>, usize)>,
    /// Lines that were read, with each call they make or answer: a file may repeat a line, as progress of the main chain, as a
    /// line of the sub-agent, and again when it has grown.
    seen: BTreeSet<(Text<'a>, Option<About<'a>>)>,
    closings: Vec<Closing<'a>>,
}

struct Agent<'a> {
    /// None for the main chain.
    name: Option<Text<'a>>,
    /// Where its chain is, once it has one.
    chain: Option<usize>,
}

impl<'a> Session<'a, '_> {
    fn line(&mut self, mut line: Line<'a>) -> Result<(), ImportError> {
        let own = self.agent(&line);
        if let Some(uuid) = &line.uuid {
            self.unsorted.push((uuid.clone(), own));
        }
        if line.kind.as_deref() == Some("link") {
            return Ok(());
        }
        let (agent, mut inner) = match line.data.take() {
            Some(data) if line.kind.as_deref() == Some("progress") => {
                line.agent = data.agent;
                let name = line.agent.clone().or_else(|| line.parent_call.clone());
                (self.number(name.or(Some(Text::from(NAMELESS)))), data.message)
            }
            _ => (own, None),
        };
        let place = self.chain(agent);
        let Some(chain) = self.chains.get_mut(place) else { return Ok(()) };
        chain.share(&line);
        let line = match inner {
            Some(ref mut inner) => &mut **inner,
            None => &mut line,
        };
        if !keep_new(&mut self.seen, line) {
            return Ok(());
        }
        let closing = chain.line(line).map_err(|error| match &line.uuid {
            Some(uuid) => {
                ImportError { message: format!("{}, in the line with the uuid {:?}", error.message, &**uuid), ..error }
            }
            None => error,
        })?;
        self.closings.extend(closing);
        Ok(())
    }

    /// The agent that a line belongs to.
    fn agent(&mut self, line: &Line<'a>) -> usize {
        if line.parent_tool_use_id.is_some() {
            return self.number(line.parent_tool_use_id.clone());
        }
        if line.is_side != Some(true) {
            return self.number(line.team.clone());
        }
        if line.agent.is_some() {
            return self.number(line.agent.clone());
        }
        // An old sidechain is named after its root. A parent that is not in the file is used in place of a missing root.
        if let Some(parent) = &line.parent {
            self.names.extend(self.unsorted.drain(..));
            match self.names.get(parent) {
                None => return self.number(Some(parent.clone())),
                Some(&known) if self.agents[known].name.is_some() => return known,
                // Of the main chain: this line is a root.
                Some(_) => {}
            }
        }
        self.number(line.uuid.clone().or(Some(Text::from(NAMELESS))))
    }

    /// The number of the agent with this name; the main chain has none.
    fn number(&mut self, name: Option<Text<'a>>) -> usize {
        if let Some(number) = self.numbers.get(&name) {
            return *number;
        }
        let number = self.agents.len();
        self.agents.push(Agent { name: name.clone(), chain: None });
        self.numbers.insert(name, number);
        number
    }

    fn chain(&mut self, agent: usize) -> usize {
        let agent = &mut self.agents[agent];
        *agent.chain.get_or_insert_with(|| {
            self.chains.push(Chain::new(agent.name.clone(), self.options));
            self.chains.len() - 1
        })
    }
}

/// Keeps those parts of a line that were not read before under its uuid, and returns whether there are any. A line may come
/// again with more calls, which count; its text and its first calls were read the first time.
fn keep_new<'a>(seen: &mut BTreeSet<(Text<'a>, Option<About<'a>>)>, line: &mut Line<'a>) -> bool {
    let Some(uuid) = line.uuid.clone() else { return true };
    let is_new = seen.insert((uuid.clone(), line.first()));
    let mut has_new = is_new;
    line.retain(|at, block| {
        let is_kept = match (at > 0).then(|| block.about()).flatten() {
            Some(about) => seen.insert((uuid.clone(), Some(about))),
            None => is_new,
        };
        has_new |= is_kept;
        is_kept
    });
    has_new
}
