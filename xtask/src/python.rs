//! `cargo xtask python`: builds the wheel of the Python package, installs it, and runs the tests of the package.
//!
//! Its tools are sets of `cargo xtask servers`, which are installed if they are missing. `ci` packs the program that the other
//! checks have built, so nothing is compiled again. `full` packs the release build, and tests it with the SDKs of models and
//! agents, on Spark and on Ray.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::cargo;
use crate::ci::Tier;
use crate::failure::Failure;
use crate::out;
use crate::servers::{self, bounded};

/// How long pip may take.
const LIMIT: Duration = Duration::from_mins(5);

/// The sets of `servers` with a test folder of their own, in `full`.
const ENGINES: [(&str, &str); 3] = [
    ("python-sdks", "python/tests/full/test_sdks.py"),
    ("spark", "python/tests/full/test_spark.py"),
    ("ray", "python/tests/full/test_ray.py"),
];

pub(crate) fn run(root: &Path, tier: Tier) -> Result<(), Failure> {
    let target = cargo::target_folder(root)?;
    let engines = if tier == Tier::Full { ENGINES.as_slice() } else { &[] };
    if tier == Tier::Full {
        java()?;
    }
    let names: Vec<&str> = std::iter::once("python").chain(engines.iter().map(|(set, _)| *set)).collect();
    let programs = servers::programs(root, &names)?;
    let tools = &programs[0];
    must(Command::new(tools.join("ruff")).current_dir(root).args(["check", "-q", "python"]))?;
    must(Command::new(tools.join("ruff")).current_dir(root).args(["format", "-q", "--check", "python"]))?;
    let wheel = match tier {
        Tier::Ci => {
            cargo::build_program(root)?;
            build(root, tools, &target, &["--profile=dev", "--strip=false", "--compression-method=stored"])?
        }
        Tier::Full => build(root, tools, &target, &["--release"])?,
    };
    install(&target, tools, &wheel)?;
    test(root, tools, &["-n", "2", "--ignore=python/tests/full", "python/tests"])?;
    if tier == Tier::Ci {
        return Ok(());
    }
    must(Command::new(tools.join("mypy")).current_dir(root).arg("--cache-dir=/dev/null"))?;
    for ((set, tests), programs) in engines.iter().zip(&programs[1..]) {
        out::say(&format!("==> {set}"));
        install(&target, programs, &wheel)?;
        test(root, programs, &[tests])?;
    }
    out::say("==> overhead");
    must(Command::new(tools.join("python")).current_dir(root).arg("python/benches/overhead.py"))
}

/// Spark runs on Java, which no Python package provides.
fn java() -> Result<(), Failure> {
    let mut shell = Command::new("sh");
    shell.args(["-c", r#"exec "${JAVA_HOME:+$JAVA_HOME/bin/}java" -version"#]);
    let status = shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if status.is_ok_and(|status| status.success()) {
        return Ok(());
    }
    let hint = "install it, for example with `apt-get install default-jre-headless`, or set JAVA_HOME";
    Err(Failure::broken(format!("Spark needs Java 17 or newer, and `java` cannot be started\nhint: {hint}")))
}

/// Builds a wheel and returns its path.
fn build(root: &Path, tools: &Path, target: &Path, options: &[&str]) -> Result<PathBuf, Failure> {
    let folder = target.join("wheels");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| Failure::io("remove", &folder, &error))?;
    }
    let mut maturin = Command::new(tools.join("maturin"));
    maturin.args(["build", "--quiet", "--locked", "--auditwheel=skip", "--out"]).arg(&folder).args(options);
    for name in cargo::PACKAGE_VARIABLES {
        maturin.env_remove(name);
    }
    must(maturin.current_dir(root))?;
    let entries = fs::read_dir(&folder).map_err(|error| Failure::io("read", &folder, &error))?;
    let wheels = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut wheels = wheels.filter(|path| path.extension().is_some_and(|extension| extension == "whl"));
    wheels.next().ok_or_else(|| Failure::failed("maturin made no wheel".to_owned()))
}

/// Installs a wheel without looking for any other package.
fn install(target: &Path, programs: &Path, wheel: &Path) -> Result<(), Failure> {
    let mut pip = Command::new(programs.join("python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]);
    pip.arg("--force-reinstall").arg(wheel);
    bounded(&mut pip, &target.join("wheels/install.log"), LIMIT)
}

fn test(root: &Path, programs: &Path, arguments: &[&str]) -> Result<(), Failure> {
    let mut pytest = Command::new(programs.join("python"));
    pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).args(arguments);
    must(pytest.current_dir(root).env("PYTHONDONTWRITEBYTECODE", "1"))
}

/// Runs a command that must succeed.
fn must(command: &mut Command) -> Result<(), Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.stdin(Stdio::null()).status();
    let status = status.map_err(|error| Failure::broken(format!("cannot start `{name}`: {error}")))?;
    if status.success() { Ok(()) } else { Err(Failure::failed(format!("`{name}` failed ({status})"))) }
}
