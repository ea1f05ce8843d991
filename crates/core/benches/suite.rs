//! How the suite loader scales: `cargo bench -p mcptest-core --bench suite`.
//!
//! Times are printed for information. Only the growth can fail, because it does not depend on the machine: ten times the
//! tests may cost at most twelve times the time. The bare parse of the same text is the floor to compare with.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a benchmark reads the clock and prints; its inputs are its own"
)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use granit_parser::Parser;
use mcptest_core::diag::Source;
use mcptest_core::suite::{self, Loaded, Suite, Variables, yaml};

const TESTS: usize = 10_000;
/// Ten times the tests may cost at most this many times the time.
const MOST: f64 = 12.0;

fn main() -> ExitCode {
    let (large, small) = (generated(TESTS), generated(TESTS / 10));
    let (whole, tenth) = (load(&large), load(&small));
    for diagnostic in whole.diagnostics.iter().take(3) {
        println!("{}", diagnostic.render(&large));
    }
    if whole.value.is_none_or(|suite| suite.agents.len() != TESTS) || tenth.value.is_none() {
        println!("the generated suite does not load");
        return ExitCode::FAILURE;
    }
    let bytes = large.text().len();
    let events = best(|| Parser::new_from_str(large.text()).count());
    let read = best(|| yaml::read(&large));
    let full = best(|| load(&large));
    // Ten small suites, all kept: as many tests as the large one, and no warmer cache.
    let part = best(|| [(); 10].map(|()| load(&small))) / 10;
    println!("{TESTS} tests, {bytes} bytes");
    let line = |name: &str, time: Duration| {
        let ratio = time.as_secs_f64() / events.as_secs_f64();
        println!("{name:<28}{:>10.1} ms   x{ratio:.1} of the bare parse", time.as_secs_f64() * 1e3);
    };
    line("bare parse, events only", events);
    line("a tree with places", read);
    line("full load", full);
    line(&format!("full load of {} tests", TESTS / 10), part);
    let growth = full.as_secs_f64() / part.as_secs_f64();
    println!("ten times the tests: x{growth:.1} the time, at most x{MOST}");
    if growth <= MOST { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn load(source: &Source) -> Loaded<Suite> {
    suite::load(source, &Variables { suite_dir: ".", outside: &|_| None })
}

/// The shortest of five runs; what a run made is dropped after the clock has stopped.
fn best<T>(run: impl Fn() -> T) -> Duration {
    let time = |_| {
        let start = Instant::now();
        let made = black_box(run());
        let time = start.elapsed();
        drop(made);
        time
    };
    (0..5).map(time).min().unwrap_or_default()
}

/// A suite in which every test has assertions, one of them a JSON Schema, and three gates.
fn generated(tests: usize) -> Source {
    let mut text = String::from("servers:\n  shop:\n    command: [shop-server, --stdio]\nvariables:\n  city: Oslo\n");
    text.push_str("agents:\n");
    for at in 0..tests {
        let _ = write!(
            text,
            r#"  - name: order {at} is looked up and booked
    model: claude-sonnet-4-5
    servers: [shop]
    prompt: Find order {at} in ${{city}}, book it and tell the customer.
    tags: [orders, "batch-{}"]
    expect:
      - target: tool_calls[0].args
        matcher:
          schema:
            type: object
            required: [order, city]
            properties:
              order: {{ type: integer, const: {at} }}
              city: {{ type: string, pattern: "^[A-Z]" }}
      - target: final_response
        matcher: {{ icontains: "order {at}" }}
    trajectory:
      mode: subsequence
      calls:
        - name: find_order
          args: {{ subset: {{ order: {at} }} }}
        - name: book_order
          args: {{ exact: {{ order: {at}, city: Oslo }} }}
          status: ok
    golden_path:
      calls: [find_order, book_order, write_email]
      allow_extra_steps: true
    narrative:
      mutating_tools: [book_order]
      readonly_tools: [find_order]
      aliases: {{ reserved: book_order }}
"#,
            at / 100,
        );
    }
    Source::new("generated.yml", text)
}
