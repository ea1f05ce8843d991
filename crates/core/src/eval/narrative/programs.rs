//! What the programs of a shell text do, from flat tables.
//!
//! Read-only programs have no effect, programs with a known effect have the actions of the table, and everything else hides
//! what it does: an interpreter with code, a script, a program that is in no table.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::actions::{self, Actions};
use super::index::Index;
use super::shell::{self, Command, Functions};
use super::sql;

/// Programs that change nothing, regardless of their arguments.
const LOOKING: &str = "ls ll la dir cat head tail grep egrep fgrep zgrep rg ag ack fd fdfind wc sort uniq cut tr diff cmp comm du \
    df stat file which whereis type echo printf pwd cd pushd popd test [ [[ ]] printenv date jq yq xq tree ps top htop \
    whoami id uname hostname basename dirname realpath readlink md5sum sha1sum sha256sum sha512sum cksum shasum xxd od \
    hexdump strings column paste join fold nl rev tac seq true false : sleep export set unset local declare typeset \
    readonly read return exit shift trap wait let alias break continue mapfile readarray getopts hash times \
    man help history less more bat numfmt expr bc dc ping dig nslookup host netstat ss lsof free uptime lscpu nproc getent \
    locale tput clear stty tty shopt ulimit umask cal base64 shuf iconv fmt expand unexpand watch pgrep apt-cache \
    pytest jest vitest mocha tsc mypy flake8 pylint pyright shellcheck hadolint nc zcat bzcat xmllint exiftool identify \
    ffprobe soxi pdftotext pdfinfo ncal sw_vers lsb_release arch vm_stat locate apropos whatis \
    cargo-nextest nextest rspec phpunit ctest tox nox go-test eslint stylelint ruff bandit safety tokei cloc scc jobs";

/// Programs with one effect: their names, and the actions.
const DOING: [(&str, &str); 33] = [
    ("rm rmdir unlink shred trash trash-put", "delete remove"),
    ("mv", "move rename replace archive"),
    ("cp ditto", "copy new write duplicate backup save restore replace"),
    ("mkdir touch mktemp mkfifo mknod install", "new make touch install"),
    ("ln", "link new"),
    ("chmod chown chgrp chattr setfacl", "chmod grant configure"),
    ("tee sponge", "write new save append"),
    ("rsync scp sftp rclone", "copy upload download backup sync deploy transfer move"),
    ("zip gzip bzip2 xz zstd 7z ar", "archive compress new write backup zip"),
    ("unzip gunzip bunzip2 unxz unzstd unrar", "extract new write restore"),
    ("kill pkill killall", "stop kill end"),
    ("truncate", "truncate clear edit write new"),
    ("patch apply_patch", "patch edit apply modify new delete fix"),
    ("crontab at", "schedule set new"),
    ("useradd adduser groupadd addgroup", "new register"),
    ("userdel deluser groupdel", "delete remove"),
    ("usermod passwd chpasswd gpasswd", "change set modify reset"),
    ("mail sendmail mailx mutt msmtp", "send email mail"),
    ("gcc g++ cc c++ clang clang++ rustc javac ghc nasm ld", "build new write generate"),
    ("black autopep8 isort gofmt rustfmt clang-format yapf dos2unix unix2dos", "format edit fix"),
    ("split csplit", "new write"),
    ("wget aria2c", "download save write new"),
    (
        "convert magick mogrify ffmpeg sox pandoc wkhtmltopdf dot gs",
        "convert new write generate edit export render save",
    ),
    ("pg_dump mysqldump mongodump", "export dump backup new write save"),
    ("pg_restore mongorestore", "restore import"),
    ("createdb", "new"),
    ("dropdb", "drop delete remove"),
    ("virtualenv", "new make install"),
    ("reboot shutdown halt poweroff", "restart reboot stop shut"),
    ("ssh-keygen ssh-copy-id", "new generate copy"),
    ("dd", "write copy new"),
    ("xdg-open open", "open"),
    ("notify-send terminal-notifier wall", "notify send alert"),
];

/// Programs whose first plain argument says what they do: their names, the read-only subcommands, and the actions of the
/// others where the word itself is not the action. A word in neither list hides its effect.
#[derive(Debug)]
struct Family {
    names: &'static str,
    looks: &'static str,
    does: &'static [(&'static str, &'static str)],
    /// Whether other words alone are actions, as in `kubectl scale`.
    by_word: bool,
}

static FAMILIES: [Family; 12] = [
    Family {
        names: "git",
        looks: "status log diff show blame rev-parse rev-list ls-files ls-tree ls-remote describe reflog shortlog grep cat-file \
                fetch help version remote bisect diff-tree name-rev merge-base whatchanged for-each-ref count-objects",
        does: &[
            ("add", "stage"),
            ("commit", "commit new save"),
            ("push", "push upload publish"),
            ("pull", "pull download merge sync"),
            ("checkout", "checkout switch change restore revert reset new"),
            ("switch", "switch change new"),
            ("branch", "new delete rename"),
            ("merge", "merge"),
            ("rebase", "rebase merge"),
            ("reset", "reset revert restore undo remove"),
            ("revert", "revert restore undo commit"),
            ("restore", "restore revert reset"),
            ("rm", "delete remove"),
            ("mv", "move rename"),
            ("clone", "clone copy download new"),
            ("tag", "tag new release delete"),
            ("stash", "stash save store restore"),
            ("cherry-pick", "commit apply merge"),
            ("init", "new init"),
            ("apply", "apply patch edit"),
            ("am", "apply patch commit"),
            ("clean", "clean delete remove"),
            ("config", "configure set change"),
            ("worktree", "new remove"),
            ("submodule", "sync configure"),
        ],
        by_word: false,
    },
    Family { names: "gh glab hub", looks: "status search browse auth", does: &[], by_word: true },
    Family {
        names: "kubectl oc helm",
        looks: "get describe logs top explain version cluster-info list status history diff template lint search show",
        does: &[
            ("apply", "apply deploy new configure"),
            ("rollout", "deploy restart revert"),
            ("label", "label tag"),
            ("annotate", "label tag"),
            ("install", "install deploy new"),
            ("scale", "scale adjust change set"),
        ],
        by_word: true,
    },
    Family {
        names: "docker podman nerdctl docker-compose",
        looks: "ps images logs inspect stats version info top history search port events diff",
        does: &[
            ("run", "run start new deploy"),
            ("up", "start new deploy up"),
            ("down", "stop remove down delete"),
            ("rm", "delete remove"),
            ("rmi", "delete remove"),
            ("build", "build new"),
            ("cp", "copy"),
            ("compose", "start stop new deploy"),
            ("system", "delete remove prune clean"),
        ],
        by_word: true,
    },
    Family {
        names: "systemctl service launchctl supervisorctl pm2",
        looks: "status is-active is-enabled list-units list show logs list-unit-files print",
        does: &[("reload", "restart"), ("load", "start enable"), ("unload", "stop disable")],
        by_word: true,
    },
    Family {
        names: "apt apt-get yum dnf apk pacman brew snap port zypper choco winget conda mamba",
        looks: "list search show info policy check outdated env",
        does: &[
            ("install", "install"),
            ("add", "install"),
            ("-S", "install"),
            ("remove", "remove uninstall delete"),
            ("purge", "remove uninstall delete"),
            ("autoremove", "remove uninstall delete clean"),
            ("uninstall", "remove uninstall delete"),
            ("upgrade", "upgrade install"),
            ("update", "upgrade sync"),
            ("create", "new"),
        ],
        by_word: false,
    },
    Family {
        names: "pip pip3 uv pipx poetry pipenv gem bundle composer",
        looks: "list show freeze check search info outdated tree",
        does: &[
            ("install", "install upgrade"),
            ("add", "install"),
            ("sync", "install sync"),
            ("lock", "lock"),
            ("uninstall", "remove uninstall delete"),
            ("remove", "remove uninstall delete"),
            ("update", "upgrade"),
            ("init", "new init"),
            ("venv", "new"),
            ("publish", "publish"),
        ],
        by_word: false,
    },
    Family {
        names: "npm pnpm yarn bun",
        looks: "ls list view info outdated audit test t why search explain",
        does: &[
            ("install", "install upgrade"),
            ("i", "install upgrade"),
            ("ci", "install"),
            ("add", "install"),
            ("uninstall", "remove uninstall delete"),
            ("remove", "remove uninstall delete"),
            ("rm", "remove uninstall delete"),
            ("update", "upgrade"),
            ("init", "new init"),
            ("publish", "publish release"),
            ("version", "change tag"),
        ],
        by_word: false,
    },
    Family {
        names: "cargo",
        looks: "test check build clippy bench doc tree metadata nextest search version audit deny",
        does: &[
            ("fmt", "format edit"),
            ("fix", "fix edit"),
            ("add", "install"),
            ("remove", "remove"),
            ("install", "install"),
            ("new", "new"),
            ("init", "new init"),
            ("update", "upgrade"),
            ("publish", "publish release"),
            ("clean", "clean delete remove"),
        ],
        by_word: false,
    },
    Family {
        names: "go",
        looks: "test vet build list version env doc",
        does: &[
            ("get", "install"),
            ("install", "install"),
            ("mod", "edit new"),
            ("fmt", "format edit"),
            ("generate", "generate new"),
        ],
        by_word: false,
    },
    Family {
        names: "terraform tofu pulumi ansible-playbook vercel netlify fly flyctl heroku firebase serverless",
        looks: "plan show validate output state logs status version preview list",
        does: &[("apply", "apply new deploy delete"), ("up", "apply new deploy"), ("destroy", "destroy delete remove")],
        by_word: true,
    },
    Family {
        names: "aws gcloud az doctl stripe",
        looks: "ls list describe get show help version",
        does: &[],
        by_word: false,
    },
];

/// Interpreters: they run code that is not read here.
const INTERPRETERS: &str = "python python2 python3 node nodejs ruby perl php lua deno Rscript julia osascript swift scala \
    groovy java dotnet tclsh pwsh powershell ipython ts-node tsx irb";

/// Programs that run the command which follows their options.
const WRAPPERS: &str = "sudo doas env nohup time nice ionice exec command builtin xargs timeout stdbuf setsid caffeinate \
    unbuffer busybox parallel chronic";

/// Words that open, part or close a compound command.
const KEYWORDS: &str = "if then else elif fi while until do done { } ! time coproc esac";

/// What a shell text did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Effects {
    pub(super) actions: Actions,
    /// It wrote text into a file.
    pub(super) writes_content: bool,
    /// A program whose effect cannot be read.
    pub(super) hidden: Option<String>,
}

impl Effects {
    fn hide(&mut self, program: &str) {
        self.hidden.get_or_insert_with(|| crate::json::cut(program, 40));
    }

    fn act(&mut self, words: &str) {
        self.actions = self.actions.or(Actions::of(words));
    }
}

/// What is known of a program.
#[derive(Debug, Clone, Copy)]
enum Effect {
    Looks,
    Does(Actions),
    Interprets,
    Family(&'static Family),
}

/// What is known of a word at the start of a command.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    is_keyword: bool,
    /// It runs the command that follows.
    is_wrapper: bool,
    effect: Option<Effect>,
}

static PROGRAMS: LazyLock<Index<&'static str, Known>> = LazyLock::new(|| {
    let mut known: BTreeMap<&'static str, Known> = BTreeMap::new();
    let mut add = |names: &'static str, learn: &dyn Fn(&mut Known)| {
        names.split_whitespace().for_each(|name| learn(known.entry(name).or_default()));
    };
    add(KEYWORDS, &|known| known.is_keyword = true);
    add(WRAPPERS, &|known| known.is_wrapper = true);
    add(LOOKING, &|known| known.effect = Some(Effect::Looks));
    add(INTERPRETERS, &|known| known.effect = Some(Effect::Interprets));
    for (names, words) in DOING {
        let actions = Actions::of(words);
        add(names, &|known| known.effect = Some(Effect::Does(actions)));
    }
    for family in &FAMILIES {
        add(family.names, &|known| known.effect = Some(Effect::Family(family)));
    }
    let mut programs = Index::with_room(known.len());
    for (name, known) in known {
        programs.add(name, known);
    }
    programs
});

fn known(word: &str) -> Known {
    PROGRAMS.get(word).copied().unwrap_or_default()
}

fn lists(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

/// The words of a command.
type Words<'w, 'a> = &'w [Cow<'a, str>];

/// What a shell text does.
pub(super) fn effects(text: &str) -> Effects {
    let functions = shell::functions(text);
    let mut effects = Effects::default();
    shell::each_command(text, &mut |command| {
        let is_file =
            |file: &Cow<'_, str>| !matches!(file.as_ref(), "/dev/null" | "/dev/stderr" | "/dev/stdout" | "/dev/tty");
        if command.writes.iter().any(is_file) {
            effects.act("write save append export");
            effects.writes_content = true;
        }
        run(command, &functions, &mut effects);
    });
    effects
}

fn run(command: &Command<'_>, functions: &Functions<'_>, effects: &mut Effects) {
    let mut words = &command.words[..];
    // Keywords, assignments and wrappers come before the program.
    while let Some((first, rest)) = words.split_first() {
        if known(first).is_keyword || is_assignment(first) {
            words = rest;
        } else if known(base(first)).is_wrapper {
            words = rest;
            // Options of a wrapper, and the numbers they take.
            while let Some((option, rest)) = words.split_first()
                && (option.starts_with('-')
                    || option.starts_with(|c: char| c.is_ascii_digit())
                    || is_assignment(option)
                    || option == "{}")
            {
                words = rest;
            }
        } else {
            break;
        }
    }
    if let Some((first, rest)) = words.split_first() {
        program(first, rest, functions, effects);
    }
}

fn base(word: &str) -> &str {
    match word.bytes().rposition(|byte| byte == b'/') {
        Some(slash) => &word[slash + 1..],
        None => word,
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.trim_end_matches('+').split('[').next().unwrap_or("");
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

fn program(first: &str, rest: Words<'_, '_>, functions: &Functions<'_>, effects: &mut Effects) {
    // A path with a folder is a script, unless it is a folder for programs.
    let is_script = first.contains('/')
        && !first.starts_with("/bin/")
        && !first.starts_with("/usr/")
        && !first.starts_with("/sbin/");
    let name = base(first);
    let options = || rest.iter().filter(|word| word.starts_with('-'));
    let has = |option: &str| has(rest, option);
    let asks = rest
        .first()
        .is_some_and(|word| matches!(word.as_ref(), "--version" | "-V" | "--help" | "-h" | "-v" | "version"));
    if functions.contains(first) || matches!(first, "for" | "case" | "select" | "function" | "in") || asks {
        return;
    }
    if is_script {
        return effects.hide(first);
    }
    match name {
        "find" => find(rest, functions, effects),
        "sed" => {
            let in_place = |word: &Cow<'_, str>| {
                word.starts_with("--in-place")
                    || (!word.starts_with("--") && word.split('.').next().is_some_and(|flags| flags.contains('i')))
            };
            if options().any(in_place) {
                effects.act("edit replace remove change insert delete fix");
                effects.writes_content = true;
            } else {
                effects.act("filter");
            }
        }
        "awk" | "gawk" | "mawk" => {
            let writes = |word: &Cow<'_, str>| {
                word.contains("system(") || word.contains("> \"") || word.contains(">\"") || word.contains("> f")
            };
            if rest.iter().any(writes) || has("inplace") {
                effects.hide(name);
            }
            effects.act("filter");
        }
        "curl" | "http" | "https" | "httpie" => curl(rest, effects),
        "tar" => tar(rest, effects),
        "psql" | "mysql" | "sqlite3" | "duckdb" | "clickhouse-client" => database(name, rest, effects),
        "prettier" | "eslint" | "ruff" | "stylelint"
            if options().any(|word| matches!(word.as_ref(), "--write" | "--fix" | "-w")) =>
        {
            effects.act("format edit fix");
        }
        "prettier" => {}
        "perl" | "ruby"
            if options().any(|word| !word.starts_with("--") && word.contains('i') && !word.contains('I')) =>
        {
            effects.act("edit replace remove change fix");
            effects.writes_content = true;
        }
        "python" | "python3" if has("pytest") || has("unittest") || has("json.tool") || has("venv") || has("pip") => {
            if has("venv") {
                effects.act("new");
            } else if has("pip") && has("install") {
                effects.act("install upgrade");
            }
        }
        "crontab" if has("-l") => {}
        "wget" if has("-O-") || has("--spider") || rest.windows(2).any(|pair| pair == ["-O", "-"]) => {}
        "sort" if has("-o") => effects.act("write save new"),
        "source" | "." | "eval" | "bash" | "sh" | "zsh" | "dash" | "ksh" | "fish" => shells(name, rest, effects),
        "npm" | "pnpm" | "yarn" | "bun" if rest.first().is_some_and(|word| word == "run") => {
            if !rest.get(1).is_some_and(|task| lists("test lint build typecheck check coverage", task)) {
                effects.hide("npm run");
            }
        }
        "tr" | "jq" | "yq" => effects.act("filter"),
        _ => match known(name).effect {
            Some(Effect::Looks) => {}
            Some(Effect::Does(actions)) => effects.actions = effects.actions.or(actions),
            Some(Effect::Family(family)) => subcommand(name, family, rest, effects),
            Some(Effect::Interprets) | None => effects.hide(name),
        },
    }
}

fn has(rest: Words<'_, '_>, option: &str) -> bool {
    rest.iter().any(|word| word == option)
}

/// `find` acts by its options.
fn find(rest: Words<'_, '_>, functions: &Functions<'_>, effects: &mut Effects) {
    if has(rest, "-delete") {
        effects.act("delete remove clean");
    }
    for place in rest
        .iter()
        .enumerate()
        .filter(|(_, word)| matches!(word.as_ref(), "-exec" | "-execdir" | "-ok"))
        .map(|(at, _)| at)
    {
        if let Some((inner, args)) = rest[place + 1..].split_first() {
            program(inner, args, functions, effects);
        }
    }
}

/// `tar` packs, unpacks or lists.
fn tar(rest: Words<'_, '_>, effects: &mut Effects) {
    let flags = rest.first().map_or("", AsRef::as_ref);
    let all = |letter: char| flags.trim_start_matches('-').contains(letter) && !flags.starts_with("--");
    if all('c') || has(rest, "--create") || all('r') || all('u') {
        effects.act("new archive compress backup write save");
    } else if all('x') || has(rest, "--extract") || has(rest, "--get") {
        effects.act("extract new write restore copy");
    }
}

/// A client of a database: the statements among its arguments.
fn database(name: &str, rest: Words<'_, '_>, effects: &mut Effects) {
    let statements: Vec<&Cow<'_, str>> = rest.iter().filter(|word| sql::is_sql(word)).collect();
    if statements.is_empty() {
        return effects.hide(name);
    }
    for statement in statements {
        effects.actions = effects.actions.or(sql::effects(statement).actions);
    }
}

/// A program whose first plain argument says what it does.
fn subcommand(name: &str, family: &Family, rest: Words<'_, '_>, effects: &mut Effects) {
    let plain = || rest.iter().filter(|word| !word.starts_with('-') || *word == "-S").take(4);
    for word in plain() {
        if lists(family.looks, word) {
            return;
        }
        if let Some((_, words)) = family.does.iter().find(|(known, _)| known == word) {
            return effects.act(words);
        }
        if family.by_word
            && let Some(action) = actions::action(word)
        {
            effects.actions = effects.actions.or(action);
            return;
        }
    }
    if plain().next().is_some() {
        effects.hide(name);
    }
}

/// A shell that runs a command or a script.
fn shells(name: &str, rest: Words<'_, '_>, effects: &mut Effects) {
    let code =
        rest.iter().position(|word| word.starts_with('-') && word.ends_with('c')).and_then(|at| rest.get(at + 1));
    match code {
        // One level is enough: what is nested deeper hides itself.
        Some(code) if !lists("bash sh zsh eval", code.split_whitespace().next().unwrap_or("")) => {
            let inner = self::effects(code);
            effects.actions = effects.actions.or(inner.actions);
            effects.writes_content |= inner.writes_content;
            if let Some(hidden) = inner.hidden {
                effects.hide(&hidden);
            }
        }
        _ => effects.hide(rest.iter().find(|word| !word.starts_with('-')).map_or(name, AsRef::as_ref)),
    }
}

fn curl(rest: Words<'_, '_>, effects: &mut Effects) {
    let mut method = "";
    let mut sends = false;
    for (at, word) in rest.iter().enumerate() {
        match word.as_ref() {
            "-X" | "--request" => method = rest.get(at + 1).map_or("", AsRef::as_ref),
            "-d" | "--data" | "--data-raw" | "--data-binary" | "--data-urlencode" | "-F" | "--form" | "--json"
            | "-T" | "--upload-file" => sends = true,
            "-o" | "-O" | "--output" | "--remote-name" | "-LO" | "-sO" | "-sLO" | "-fsSLO" => {
                effects.act("download save write new");
            }
            word if word.starts_with("-X") => method = &word[2..],
            word if matches!(word, "POST" | "PUT" | "PATCH" | "DELETE") => method = word,
            _ => {}
        }
    }
    match method.to_ascii_uppercase().as_str() {
        "DELETE" => effects.act("delete remove cancel"),
        "PUT" | "PATCH" => effects.act("update modify set change edit put patch"),
        "POST" => effects.act("post send submit create add"),
        "" if sends => effects.act("post send submit create add"),
        _ => return,
    }
    // Only the other side knows what the request did.
    effects.hide("curl");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, verb: &str, done: bool, hidden: Option<&str>) {
        let found = effects(text);
        assert_eq!(found.actions.meets(actions::needed(verb, &[])), done, "{text}: {verb}");
        assert_eq!(found.hidden.as_deref(), hidden, "{text}");
    }

    #[test]
    fn effects_of_programs_follow_the_tables() {
        for (text, verb, done, hidden) in [
            ("rm -rf build && mkdir build", "delete", true, None),
            ("ls -la build; du -sh build", "delete", false, None),
            ("sudo apt-get install -y ripgrep", "install", true, None),
            ("apt-cache search ripgrep", "install", false, None),
            ("git add -A && git commit -m 'x' && git push origin main", "push", true, None),
            ("git status && git log --oneline -5", "commit", false, None),
            ("git -C repo commit -m x", "commit", true, None),
            ("sed -i 's/a/b/' main.c", "replace", true, None),
            ("sed -n 1,5p main.c", "replace", false, None),
            ("sed -Ei.bak 's/a/b/' main.c", "replace", true, None),
            ("find . -name '*.tmp' -delete", "delete", true, None),
            ("find . -exec rm {} \\;", "delete", true, None),
            ("cat a | xargs -n 1 rm", "delete", true, None),
            ("X=1 Y=2 /usr/bin/env mkdir a", "create", true, None),
            ("./scripts/report.sh", "save", false, Some("./scripts/report.sh")),
            ("python3 - <<'PY'\nprint(1)\nPY", "update", false, Some("python3")),
            ("python3 --version", "update", false, None),
            ("python -m pytest -q", "update", false, None),
            ("bash -c 'rm x'", "delete", true, None),
            ("bash deploy.sh", "deploy", false, Some("deploy.sh")),
            ("kubectl scale deploy/web --replicas=3", "adjust", true, None),
            ("kubectl get pods", "deploy", false, None),
            ("systemctl restart nginx", "restart", true, None),
            ("curl -s https://x.test", "post", false, None),
            ("curl -X POST -d a=b https://x.test", "post", true, Some("curl")),
            ("curl -L -o a.csv https://x.test", "download", true, None),
            ("tar -czf a.tgz dir", "create", true, None),
            ("tar -tzf a.tgz", "create", false, None),
            ("psql -c 'DELETE FROM t'", "delete", true, None),
            ("gh pr merge 5", "merge", true, None),
            ("gh issue list", "close", false, None),
            ("npm run build", "create", false, None),
            ("npm run deploy", "deploy", false, Some("npm run")),
            ("if [ -f a ]; then rm a; fi", "delete", true, None),
            ("for f in *; do mv \"$f\" old/; done", "move", true, None),
            ("f() { rm x; }; f", "delete", true, None),
            ("frobnicate --all", "delete", false, Some("frobnicate")),
            ("echo 'rm -rf x'", "delete", false, None),
            ("cargo test", "create", false, None),
            ("awk '{print $1}' a", "write", false, None),
            ("sort a > /dev/null", "write", false, None),
            ("sort a > b", "write", true, None),
        ] {
            check(text, verb, done, hidden);
        }
    }

    #[test]
    fn no_program_is_listed_twice() {
        let doing = DOING.iter().flat_map(|(names, _)| names.split_whitespace());
        let families = FAMILIES.iter().flat_map(|family| family.names.split_whitespace());
        let listed = LOOKING.split_whitespace().chain(INTERPRETERS.split_whitespace());
        let mut all: Vec<&str> = doing.chain(families).chain(listed).collect();
        all.sort_unstable();
        let twice: Vec<_> = all.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
        for (_, words) in DOING {
            assert!(!Actions::of(words).is_empty(), "{words}");
        }
    }
}
