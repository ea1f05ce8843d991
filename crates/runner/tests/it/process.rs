//! Children and their descendants: nothing is left, however they end.

use std::path::PathBuf;
use std::time::Duration;

use mcptest_core::trace::ErrorKind;
use mcptest_runner::process::Launch;
use serde_json::json;
use tokio::time::Instant;

use crate::fake::{Fake, call, within};

#[tokio::test]
async fn a_server_that_exits_on_its_own_leaves_no_descendants() {
    let fake = Fake::new("family");
    let connection = fake.open().await;
    assert_eq!(fake.left().len(), 2);
    let start = Instant::now();
    within(connection.close()).await;
    fake.is_gone().await;
    assert!(start.elapsed() < Duration::from_secs(2), "it was not waited for: {:?}", start.elapsed());
}

#[tokio::test]
async fn a_server_that_ignores_a_closed_input_and_the_request_to_end_is_killed() {
    let fake = Fake::new("ignores-term");
    let connection = fake.open().await;
    assert_eq!(fake.left().len(), 1);
    within(connection.close()).await;
    assert_eq!(fake.left(), [""; 0]);
}

#[tokio::test]
async fn a_dropped_connection_kills_at_once() {
    for mode in ["family", "ignores-term"] {
        let fake = Fake::new(mode);
        drop(fake.open().await);
        fake.is_gone().await;
    }
}

#[tokio::test]
async fn a_canceled_connection_attempt_leaves_nothing() {
    let fake = Fake::new("silent");
    let given_up = tokio::time::timeout(Duration::from_millis(300), fake.connect()).await;
    assert!(given_up.is_err());
    fake.is_gone().await;
}

#[tokio::test]
async fn a_panic_leaves_nothing() {
    let fake = Fake::new("family");
    let connection = fake.open().await;
    let task = tokio::spawn(async move {
        let _held = connection;
        panic!("on purpose");
    });
    assert!(within(task).await.unwrap_err().is_panic());
    fake.is_gone().await;
}

#[test]
fn a_runtime_that_ends_leaves_nothing() {
    let fake = Fake::new("family");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let connection = runtime.block_on(fake.open());
    runtime.shutdown_timeout(Duration::from_secs(5));
    // The handle is still held: the tasks of the runtime have ended the group.
    let looking = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    looking.block_on(fake.is_gone());
    drop(connection);
}

#[tokio::test]
async fn all_children_are_ended_at_once_and_no_new_one_starts() {
    let fakes: Vec<Fake> = ["legacy", "family", "ignores-term"].map(Fake::new).into();
    let processes = fakes[0].processes.clone();
    let mut connections = Vec::new();
    let mut fakes: Vec<Fake> = fakes.into_iter().map(|fake| Fake { processes: processes.clone(), ..fake }).collect();
    for fake in &fakes {
        connections.push(fake.open().await);
    }
    let under_way = call(&connections[0], "wait", json!({ "seconds": 20 }));
    let ((), result) = tokio::join!(within(processes.end_all()), under_way);
    assert_eq!(result.error.unwrap().kind, ErrorKind::Transport);
    for fake in &fakes {
        fake.is_gone().await;
    }
    let error = fakes.remove(0).error().await;
    assert_eq!(error, "server `fake`: not started: mcptest is shutting down\nhint: run the command again");
}

#[tokio::test]
async fn start_failures_have_separate_messages() {
    let folder = env!("CARGO_MANIFEST_DIR");
    let launch = |argv: &[&str], cwd: Option<&str>| Launch {
        argv: argv.iter().map(|&word| word.to_owned()).collect(),
        cwd: cwd.map(PathBuf::from),
        ..Launch::default()
    };
    let cases = [
        (
            launch(&[], None),
            "the command is empty\nhint: give the program and its arguments as a list, such as \
             [\"npx\", \"-y\", \"some-server\"]"
                .to_owned(),
        ),
        (
            launch(&["no-such-program", "x"], Some(folder)),
            "program `no-such-program` not found\n\
             hint: install it, or check that its folder is in PATH"
                .to_owned(),
        ),
        (
            launch(&["./no/such/program"], None),
            "program `./no/such/program` not found\n\
             hint: check the path; a relative path is resolved from the server's working folder"
                .to_owned(),
        ),
        (
            launch(&["python3"], Some("no/such/folder")),
            "working folder `no/such/folder` does not exist\nhint: check `cwd` of the server".to_owned(),
        ),
        (
            launch(&["./Cargo.toml"], Some(folder)),
            "cannot start program `./Cargo.toml`: Permission denied (os error 13)\n\
             hint: check that the file is executable"
                .to_owned(),
        ),
    ];
    for (launch, expected) in cases {
        let fake = Fake { launch, ..Fake::new("legacy") };
        assert_eq!(fake.error().await, format!("server `fake`: {expected}"));
    }
}
