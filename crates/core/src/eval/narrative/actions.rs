//! Which actions make a claim true: one table of verbs, and sets of action words.
//!
//! An *action* is a word for what a call did: `delete` for `delete_file`, for `rm` and for `DELETE FROM`. Each verb that
//! can make a claim lists the actions that are each enough.

use std::sync::LazyLock;

use super::index::Index;
use super::words;

/// Words that several verbs list. `Groups` are written in capitals in the table below.
const GROUPS: [(&str, &str); 7] = [
    (
        "MAKE",
        "create make new generate build add insert init open start draft compose write save put upsert register clone \
         copy fork produce prepare render",
    ),
    (
        "EDIT",
        "edit update modify change patch replace write rewrite put set append insert save apply upsert adjust configure \
         overwrite convert transform format fix correct refactor fill alter amend restore revert",
    ),
    ("DROP", "delete remove destroy drop clear purge erase unlink trash clean prune empty truncate wipe kill"),
    (
        "TELL",
        "send post publish message notify email mail reply respond forward comment share tweet alert text sms \
         broadcast dm announce answer submit remind",
    ),
    ("MONEY", "pay refund charge transfer credit debit issue deposit withdraw send reimburse compensate"),
    ("SALE", "order buy purchase checkout book reserve exchange return cancel modify update place change"),
    ("STATE", "update modify change set edit patch transition move put upsert"),
];

/// Verbs that claim a change, each with the actions that make it true besides itself.
pub const VERBS: [(&str, &str); 119] = [
    (
        "create",
        "MAKE schedule book reserve upload publish order submit export log record convert issue post merge archive",
    ),
    (
        "update",
        "EDIT add remove delete move rename assign close reopen enable disable reschedule upgrade exchange toggle resolve complete mark label tag transition sync merge push commit cancel refuel activate append",
    ),
    (
        "delete",
        "DROP edit modify patch replace write update apply cancel archive move revoke unassign disable uninstall",
    ),
    (
        "remove",
        "DROP edit modify patch replace write update apply cancel archive move revoke unassign disable uninstall set change overwrite rewrite filter",
    ),
    ("send", "TELL pay transfer issue invite upload schedule"),
    ("write", "MAKE EDIT TELL export dump log record store upload commit remember append"),
    ("post", "TELL upload"),
    ("insert", "MAKE EDIT add upload import"),
    (
        "set",
        "EDIT STATE create add make enable disable schedule assign activate remind configure reset toggle mark turn define \
         export start install upgrade book write return exchange",
    ),
    ("put", "EDIT MAKE move add upload copy"),
    ("patch", "EDIT fix update apply"),
    ("publish", "TELL release deploy push upload update write"),
    ("destroy", "DROP"),
    ("drop", "DROP edit write modify patch update apply convert filter"),
    (
        "add",
        "MAKE EDIT STATE attach comment post label tag assign schedule book reserve subscribe upload push import link join enroll refuel recharge grant enable remember store record log commit connect include react order install stage",
    ),
    ("edit", "EDIT add remove delete append"),
    ("upload", "MAKE send push import share publish post sync attach copy"),
    ("merge", "EDIT combine join commit push rebase squash concatenate"),
    ("close", "close resolve complete finish end archive cancel shut stop merge delete disable reject transition"),
    ("cancel", "DROP cancel void revoke stop abort return refund close reject decline unsubscribe deny transition"),
    ("approve", "approve accept grant allow confirm review merge sign authorize submit respond transition"),
    ("revoke", "DROP revoke cancel disable unshare deny block"),
    ("pay", "MONEY order purchase buy book checkout settle schedule"),
    ("refund", "MONEY SALE void create process"),
    ("charge", "MONEY SALE create process upgrade"),
    ("credit", "MONEY SALE add create process compensate"),
    ("issue", "MONEY SALE MAKE TELL grant process"),
    ("transfer", "transfer move send pay forward escalate handoff route assign reassign update modify"),
    ("book", "book reserve order schedule create make add purchase buy update modify change register place checkout"),
    ("reserve", "book reserve order schedule create make add purchase hold update place"),
    ("schedule", "schedule create book add plan reserve set make insert reschedule remind"),
    ("reschedule", "STATE schedule reschedule move postpone cancel"),
    ("invite", "invite add share grant create register enroll"),
    ("notify", "TELL invite"),
    ("email", "TELL invite"),
    ("message", "TELL"),
    (
        "save",
        "MAKE EDIT store export download dump log record remember backup move screenshot capture upload commit \
              snapshot persist add memorize bookmark merge",
    ),
    ("store", "MAKE EDIT store save add export download record remember upload log"),
    (
        "move",
        "STATE move rename transfer reschedule archive trash relocate label copy edit write schedule postpone drag \
              refile assign modify",
    ),
    ("rename", "EDIT STATE move rename label copy"),
    ("order", "order buy purchase checkout book place create submit add"),
    ("purchase", "order buy purchase checkout book place create submit pay"),
    ("submit", "ANY"),
    ("process", "ANY"),
    ("apply", "ANY"),
    ("forward", "TELL transfer redirect route escalate"),
    ("reply", "TELL"),
    ("respond", "TELL accept decline"),
    ("share", "share invite grant permission add send post publish upload update set forward email message comment"),
    (
        "enable",
        "STATE enable activate toggle turn switch start add configure install grant resume unlock create write \
                edit apply allow",
    ),
    (
        "disable",
        "STATE DROP disable deactivate toggle turn switch stop block pause suspend lock configure write edit \
                 revoke apply",
    ),
    ("activate", "STATE enable activate toggle turn switch start resume unlock register create add"),
    ("deactivate", "STATE DROP disable deactivate toggle turn switch stop block pause suspend"),
    ("install", "install add upgrade setup import deploy enable"),
    ("uninstall", "DROP uninstall disable"),
    ("deploy", "deploy release publish apply push create update upgrade rollout install sync promote start ship up"),
    ("commit", "commit push merge amend squash"),
    ("push", "push upload publish deploy sync merge"),
    ("copy", "MAKE copy duplicate clone backup upload download export sync move archive"),
    ("duplicate", "MAKE copy duplicate clone"),
    ("clone", "clone copy download fork checkout create"),
    ("fork", "fork clone copy create"),
    ("back", "MAKE copy duplicate clone backup archive export snapshot download move dump"),
    ("replace", "EDIT exchange swap change remove delete add move rename copy"),
    ("swap", "EDIT exchange swap replace move rename"),
    ("append", "EDIT add insert append"),
    ("archive", "STATE archive move close label trash compress backup create delete remove zip"),
    ("assign", "STATE assign reassign add create delegate transfer invite grant"),
    ("reassign", "STATE assign reassign transfer move"),
    ("label", "STATE label tag add apply mark create"),
    ("tag", "STATE label tag add apply mark create push release"),
    ("mark", "EVERY"),
    ("register", "register create add enroll subscribe signup sign join insert book submit invite"),
    ("enroll", "register create add enroll subscribe signup join insert book"),
    ("subscribe", "subscribe create add register enroll follow join watch update"),
    ("unsubscribe", "DROP STATE unsubscribe cancel disable"),
    (
        "change",
        "EDIT STATE move rename exchange upgrade reschedule switch toggle assign add remove delete reset convert \
                mark label close enable disable cancel book resolve transition refactor chmod",
    ),
    ("modify", "EDIT STATE move rename exchange upgrade reschedule switch toggle add remove delete assign append"),
    ("adjust", "EDIT STATE move rename exchange upgrade reschedule toggle add remove resize scale"),
    ("exchange", "exchange swap replace modify update return change order"),
    ("return", "return exchange refund"),
    ("upgrade", "STATE EDIT upgrade install book exchange"),
    ("downgrade", "STATE EDIT downgrade install book exchange"),
    ("configure", "EDIT STATE setup enable disable create add install configure define"),
    ("block", "STATE block disable suspend lock ban freeze deny report add"),
    ("unblock", "STATE unblock enable resume unlock allow remove"),
    ("lock", "STATE lock disable block freeze toggle close"),
    ("unlock", "STATE unlock enable resume open allow toggle"),
    ("suspend", "STATE suspend disable pause block stop freeze"),
    ("resume", "STATE resume enable start activate unlock restart"),
    (
        "start",
        "start run launch create begin resume open enable execute restart trigger boot deploy play activate up \
               initiate update",
    ),
    ("stop", "STATE stop kill end pause shut cancel disable terminate abort halt down delete"),
    ("restart", "restart reboot reset start reload stop run deploy redeploy update"),
    ("reset", "STATE EDIT reset restore clear reboot restart revert delete send"),
    ("restore", "STATE EDIT restore revert recover undo checkout move copy create undelete import reset"),
    ("revert", "STATE EDIT restore revert undo checkout reset rollback"),
    ("export", "MAKE export download save dump backup convert"),
    ("import", "MAKE import upload load insert copy sync restore"),
    ("generate", "MAKE export render convert draw plot produce run"),
    ("fix", "EDIT STATE add remove delete move rename install upgrade resolve reset restore commit create"),
    ("resolve", "STATE resolve close complete finish fix merge update edit write"),
    ("convert", "EDIT MAKE convert transform export move rename filter"),
    ("fill", "EDIT STATE fill type complete add submit"),
    ("attach", "add attach upload send link insert append create update email"),
    ("link", "STATE link add attach connect create insert"),
    ("release", "release publish deploy create tag push ship"),
    ("reject", "reject decline deny close cancel review respond transition"),
    ("decline", "reject decline deny close cancel respond rsvp transition"),
    ("accept", "accept approve confirm respond rsvp join transition"),
    ("escalate", "escalate transfer assign create notify handoff forward route update send"),
    ("request", "ANY"),
    ("grant", "STATE share invite grant permission add allow approve assign enable create"),
    ("rotate", "EDIT rotate regenerate renew reset create generate refresh"),
    ("bump", "EDIT STATE upgrade install bump release"),
    ("regenerate", "MAKE EDIT regenerate reset install"),
    ("reboot", "restart reboot reset start reload stop"),
    ("turn", "STATE turn toggle switch enable disable activate deactivate start stop restart"),
    ("comment", "TELL"),
    ("open", "MAKE submit update reopen post issue"),
];

/// Every change is enough, unless the object says more: "your request was processed", "the exchange was processed".
const ANY: &str = "ANY";
/// Every change is enough.
const EVERY: &str = "EVERY";

/// Nouns of actions: "the exchange was processed", `create_refund`.
const NOUNS: [(&str, &str); 41] = [
    ("exchange", "exchange"),
    ("return", "return"),
    ("refund", "refund"),
    ("cancellation", "cancel"),
    ("order", "order"),
    ("purchase", "purchase"),
    ("booking", "book"),
    ("reservation", "reserve"),
    ("payment", "charge"),
    ("money", "charge"),
    ("transfer", "transfer"),
    ("transaction", "charge"),
    ("registration", "register"),
    ("subscription", "subscribe"),
    ("enrollment", "enroll"),
    ("invitation", "invite"),
    ("invite", "invite"),
    ("permission", "share"),
    ("notification", "notify"),
    ("email", "email"),
    ("mail", "email"),
    ("message", "message"),
    ("sms", "message"),
    ("dm", "message"),
    ("comment", "comment"),
    ("reply", "reply"),
    ("post", "post"),
    ("tweet", "post"),
    ("deletion", "delete"),
    ("removal", "delete"),
    ("upgrade", "upgrade"),
    ("activation", "activate"),
    ("deployment", "deploy"),
    ("installation", "install"),
    ("release", "release"),
    ("merge", "merge"),
    ("commit", "commit"),
    ("upload", "upload"),
    ("export", "export"),
    ("import", "import"),
    ("backup", "back"),
];

/// Actions that only bring about what their object says: `create_refund`, `submit_order`, `make_reservation`.
const MAKERS: &str = "create make add new submit place request open issue process insert start init put write register \
    send";

/// Words of lookups. A name that has one and no action only reads.
const READERS: &str = "get list search find read retrieve fetch view show check count describe query lookup look inspect \
    browse explore scan monitor watch analyze analyse compare summarize calculate compute think explain validate verify \
    preview translate extract detect recommend suggest wait ping help diff estimate predict evaluate ask status history \
    log logs info details detail stats snapshot navigate screenshot tail head grep glob ls cat pwd stat tree whoami route \
    resolve_path peek discover select identify know current health metrics usage availability weather time now";

/// Readers that make everything behind them a noun: `get_last_update`.
const FIRM_READERS: &str = "get search find read retrieve fetch show describe lookup check count";

/// Actions whose word is as often a noun: `cancel_order`, `order_list`, `get_message`.
const AMBIGUOUS: &str = "order message comment email post book schedule copy share label mark tag record transfer exchange \
    return refund charge request review merge patch release report reply plan set text mail invite draft log change tweet \
    start process upgrade commit note permission backup screenshot open load sms dm file test model alert answer place \
    play switch lock block trash resource state fix format new react archive import export issue star flag down up snapshot \
    turn drag check index sync link credit contact end head build fork clone upload download sign deposit void run";

/// Actions of calls whose effect another program decides: a click, a keystroke, a request.
const INTERFACE: &str = "click press tap type fill drag drop_on select_option submit_form keyboard mouse hover upload_file \
    handle dialog evaluate interact automate";

/// Verbs of names that say nothing about what is done.
const GENERIC: &str =
    "execute run call invoke use perform handle dispatch exec do manage process apply eval batch trigger";

/// A set of actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Actions([u64; 5]);

impl Actions {
    pub(super) const NONE: Self = Self([0; 5]);

    fn one(id: usize) -> Self {
        let mut set = Self::NONE;
        set.0[id / 64] |= 1 << (id % 64);
        set
    }

    /// The known actions of a text of words.
    pub(super) fn of(words: &str) -> Self {
        words.split_whitespace().filter_map(action).fold(Self::NONE, Self::or)
    }

    pub(super) fn or(self, other: Self) -> Self {
        let mut set = self;
        for (own, other) in set.0.iter_mut().zip(other.0) {
            *own |= other;
        }
        set
    }

    pub(super) fn without(self, other: Self) -> Self {
        let mut set = self;
        for (own, other) in set.0.iter_mut().zip(other.0) {
            *own &= !other;
        }
        set
    }

    pub(super) fn meets(self, other: Self) -> bool {
        self.0.iter().zip(other.0).any(|(own, other)| own & other != 0)
    }

    pub(super) fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// The numbers of the actions.
    pub(super) fn ids(self) -> impl Iterator<Item = usize> {
        (0..5).flat_map(move |place| {
            let mut bits = self.0[place];
            std::iter::from_fn(move || {
                let bit = bits.trailing_zeros() as usize;
                bits &= bits.wrapping_sub(1);
                (bit < 64).then_some(place * 64 + bit)
            })
        })
    }
}

/// How many actions there may be.
pub(super) const MOST: usize = 320;

/// What is known of a word of a tool's name or of a command.
#[expect(clippy::struct_excessive_bools, reason = "one flag per list of words; a word can be in several")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct WordInfo {
    pub(super) action: Actions,
    /// The action it is as an object of a maker.
    pub(super) noun: Actions,
    pub(super) reads: bool,
    pub(super) reads_firmly: bool,
    pub(super) ambiguous: bool,
    pub(super) maker: bool,
    pub(super) generic: bool,
    pub(super) interface: bool,
}

struct Tables {
    words: Index<String, WordInfo>,
    /// Actions that make a verb true; `None` when every change does.
    verbs: Index<&'static str, Option<Actions>>,
    changes: Actions,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let mut ids: Vec<&str> = VERBS.iter().map(|(verb, _)| *verb).collect();
    let listed = VERBS.iter().flat_map(|(_, words)| words.split_whitespace());
    let grouped = GROUPS.iter().flat_map(|(_, words)| words.split_whitespace());
    ids.extend(listed.chain(grouped).filter(|word| word.bytes().all(|byte| byte.is_ascii_lowercase())));
    ids.sort_unstable();
    ids.dedup();
    ids.truncate(MOST);
    let place = |word: &str| ids.binary_search(&word).ok();
    let set = |word: &str| place(word).map_or(Actions::NONE, Actions::one);
    let sets = |words: &str| words.split_whitespace().map(set).fold(Actions::NONE, Actions::or);
    let changes = (0..ids.len()).map(Actions::one).fold(Actions::NONE, Actions::or);
    let groups = GROUPS.map(|(name, words)| (name, sets(words)));
    let mut verbs = Index::with_room(VERBS.len());
    for (verb, words) in VERBS {
        let meant = words.split_whitespace().map(|word| match groups.iter().find(|(name, _)| *name == word) {
            Some((_, actions)) => *actions,
            None => set(word),
        });
        let actions = if words == EVERY { changes } else { meant.fold(set(verb), Actions::or) };
        verbs.add(verb, (words != ANY).then_some(actions));
    }
    let mut known: std::collections::BTreeMap<String, WordInfo> = std::collections::BTreeMap::new();
    for (id, word) in ids.iter().enumerate() {
        known.entry((*word).to_owned()).or_default().action = Actions::one(id);
    }
    for (noun, verb) in NOUNS {
        known.entry(noun.to_owned()).or_default().noun = set(verb);
    }
    let mut mark = |words: &str, note: fn(&mut WordInfo)| {
        words.split_whitespace().for_each(|word| note(known.entry(word.to_owned()).or_default()));
    };
    mark(READERS, |info| info.reads = true);
    mark(FIRM_READERS, |info| info.reads_firmly = true);
    mark(AMBIGUOUS, |info| info.ambiguous = true);
    mark(MAKERS, |info| info.maker = true);
    mark(GENERIC, |info| info.generic = true);
    mark(INTERFACE, |info| info.interface = true);
    let mut words = Index::with_room(known.len());
    for (word, info) in known {
        words.add(word, info);
    }
    Tables { words, verbs, changes }
});

/// What is known of a lower-case word.
pub(super) fn word(word: &str) -> &'static WordInfo {
    static UNKNOWN: LazyLock<WordInfo> = LazyLock::new(WordInfo::default);
    TABLES.words.get(word).unwrap_or(&UNKNOWN)
}

/// The action that a word is, in its base form or as a participle (`closed`).
pub(super) fn action(word: &str) -> Option<Actions> {
    let info = self::word(word);
    if !info.action.is_empty() {
        return Some(info.action);
    }
    let (verb, _) = super::lexicon::known(word).form?;
    Some(self::word(verb).action).filter(|set| !set.is_empty())
}

/// The actions that notify someone.
pub(super) fn notifications() -> Actions {
    static NOTIFICATIONS: LazyLock<Actions> = LazyLock::new(|| Actions::of(GROUPS[3].1));
    *NOTIFICATIONS
}

/// Actions that change a part of something: whether they added or removed a thing depends on what they are about.
pub(super) fn changing_parts() -> Actions {
    static PARTS: LazyLock<Actions> =
        LazyLock::new(|| Actions::of("update modify change set edit patch transition move"));
    *PARTS
}

/// Every action there is.
pub(super) fn every() -> Actions {
    TABLES.changes
}

/// The actions that make a claim true. `nouns` are the words of its object: where the verb alone does not say what was done,
/// they may ("the exchange was processed").
pub(super) fn needed(verb: &str, nouns: &[String]) -> Actions {
    match TABLES.verbs.get(verb) {
        Some(Some(actions)) => *actions,
        Some(None) => {
            let named = nouns.iter().rev().find_map(|noun| {
                let (_, verb) = NOUNS.iter().find(|(name, _)| name == noun)?;
                TABLES.verbs.get(verb).copied().flatten()
            });
            named.map_or_else(every, |actions| actions.or(word(verb).action))
        }
        // A verb of the author's own: only a tool that is named after it does it.
        None => word(verb).action,
    }
}

/// Some actions that make a verb true, as text: `send, post or publish`.
pub(super) fn examples(verb: &str) -> String {
    let Some((_, words)) = VERBS.iter().find(|(known, _)| *known == verb) else { return verb.to_owned() };
    if matches!(*words, ANY | EVERY) {
        return "change something".to_owned();
    }
    let mut out = vec![verb];
    for word in words.split_whitespace() {
        match GROUPS.iter().find(|(name, _)| *name == word) {
            Some((_, words)) => out.extend(words.split_whitespace().filter(|word| *word != verb).take(3)),
            None => out.push(word),
        }
        // More than enough, also if some are there twice.
        if out.len() >= 8 {
            break;
        }
    }
    out.dedup();
    out.truncate(4);
    let last = out.pop().unwrap_or(verb);
    if out.is_empty() { last.to_owned() } else { format!("{} or {last}", out.join(", ")) }
}

/// What the words of a name say: the actions, whether it only reads, whether it has any known word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct NameInfo {
    pub(super) actions: Actions,
    pub(super) reads: bool,
    /// It only says that something is run.
    pub(super) generic: bool,
    /// It acts on an interface, and what that does is not in the name.
    pub(super) interface: bool,
}

/// Reads a tool's name, or an action that an argument names.
pub(super) fn name_info(name: &str) -> NameInfo {
    words_info(words::each_word(name))
}

/// Reads the words of such a name.
pub(super) fn words_info(words: impl Iterator<Item = impl AsRef<str>>) -> NameInfo {
    let mut says = NameInfo::default();
    let mut clear = Actions::NONE;
    let mut unclear: Option<Actions> = None;
    let mut objects = Actions::NONE;
    let (mut clear_makers, mut unclear_maker) = (true, false);
    let (mut behind_reader, mut joined, mut is_draft) = (false, false, false);
    let mut last_reads = false;
    for (at, word) in words.enumerate() {
        let word = word.as_ref();
        let info = self::word(word);
        last_reads = info.reads;
        is_draft |= word == "draft" || word == "drafts";
        says.generic |= info.generic;
        says.interface |= info.interface;
        objects = objects.or(info.noun);
        if matches!(word, "and" | "or") {
            joined = true;
            continue;
        }
        let noun = behind_reader && !joined;
        joined = false;
        if info.reads {
            says.reads = true;
            behind_reader |= info.reads_firmly && (at == 0 || clear.is_empty());
        }
        if info.action.is_empty() || noun || (info.reads && !info.ambiguous) {
            continue;
        }
        if info.ambiguous {
            if !says.reads {
                unclear_maker = if unclear.is_none() { info.maker } else { unclear_maker };
                unclear = unclear.or(Some(info.action));
            }
        } else {
            clear = clear.or(info.action);
            clear_makers &= info.maker;
        }
    }
    says.actions = match (clear.is_empty(), unclear) {
        (false, _) => clear,
        (true, Some(action)) if !(says.reads && last_reads) => action,
        _ => Actions::NONE,
    };
    if !says.actions.is_empty() {
        says.reads = false;
        if if clear.is_empty() { unclear_maker } else { clear_makers } {
            says.actions = says.actions.or(objects);
        }
        if is_draft {
            // What is drafted is not sent.
            says.actions = Actions::of("draft create write save compose");
        }
    }
    says
}

#[cfg(test)]
mod tests {
    use super::*;

    fn does(name: &str, verb: &str, nouns: &[&str]) -> bool {
        let nouns: Vec<String> = nouns.iter().map(|noun| (*noun).to_owned()).collect();
        name_info(name).actions.meets(needed(verb, &nouns))
    }

    #[test]
    fn every_word_of_the_tables_has_a_number() {
        let listed = VERBS.iter().chain(&GROUPS).flat_map(|(_, words)| words.split_whitespace());
        for word in listed.filter(|word| !word.bytes().all(|byte| byte.is_ascii_uppercase())) {
            assert!(!self::word(word).action.is_empty(), "{word}");
        }
        for (noun, verb) in NOUNS {
            assert!(!word(noun).noun.is_empty(), "{noun}: {verb} is not a verb of the table");
        }
        let groups = VERBS.iter().flat_map(|(_, words)| words.split_whitespace());
        for group in
            groups.filter(|word| word.bytes().all(|byte| byte.is_ascii_uppercase()) && !matches!(*word, ANY | EVERY))
        {
            assert!(GROUPS.iter().any(|(name, _)| *name == group), "{group}");
        }
    }

    #[test]
    fn notifications_are_a_group() {
        assert_eq!(GROUPS[3].0, "TELL");
        assert!(notifications().meets(Actions::of("send")));
    }

    #[test]
    fn actions_are_read_from_names() {
        for (name, verb, nouns, expected) in [
            ("delete_file", "delete", &[][..], true),
            ("modify_pending_order_items", "update", &["order"], true),
            ("modify_pending_order_items", "order", &["mug"], false),
            ("cancel_pending_order", "return", &["request"], false),
            ("create_calendar_event", "add", &["reminder"], true),
            ("send_email", "create", &["event"], false),
            ("send_direct_message", "post", &["question"], true),
            ("create_file", "share", &["document"], false),
            ("create_permission", "share", &["document"], true),
            ("create_refund", "refund", &[], true),
            ("make_reservation", "book", &["table"], true),
            ("gmail_create_draft", "send", &["reply"], false),
            ("gmail_create_draft", "create", &["draft"], true),
            ("invite_user_to_slack", "add", &["her"], false),
            ("conversations_add_members", "invite", &["member"], true),
            ("get_last_update", "update", &[], false),
            ("get_or_create_user", "create", &["user"], true),
            ("todo_list_add", "add", &["item"], true),
            ("order_list", "order", &[], false),
            ("return_delivered_order_items", "submit", &["return", "request"], true),
            ("cancel_pending_order", "submit", &["return", "request"], false),
            ("exchange_delivered_order_items", "process", &["exchange"], true),
            ("notion_append_block_children", "add", &["note"], true),
            ("issues.create", "create", &["issue"], true),
        ] {
            assert_eq!(does(name, verb, nouns), expected, "{name} for {verb} {nouns:?}");
        }
        for (name, reads) in [
            ("get_pull_request", true),
            ("slack_get_channel_history", true),
            ("google_sheets_get_rows", true),
            ("search_issues", true),
            ("get_scheduled_transactions", true),
            ("read_text_file", true),
            ("list_directory", true),
            ("browser_take_screenshot", true),
            ("delete_file", false),
            ("thermostat", false),
            ("bash", false),
        ] {
            assert_eq!(name_info(name).reads, reads, "{name}");
        }
    }
}
