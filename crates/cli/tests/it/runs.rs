//! How many runs a pass rate needs.

use super::Folder;

#[test]
fn a_width_gives_a_number_of_runs_and_a_number_of_runs_a_width() {
    let here = Folder::with(&[]);
    here.check(
        &["runs", "--half-width", "5", "--confidence", "95"],
        0,
        "385\n385 runs give a pass rate to within 5 % at 95 % confidence: (1.96 / 0.05)^2 / 4, rounded up\n",
        "",
    );
    here.check(
        &["runs", "--runs", "100"],
        0,
        "9.8 %\n100 runs give a pass rate to within 9.8 % at 95 % confidence: 1.96 * sqrt(1 / (4 * 100))\n",
        "",
    );
}

#[test]
fn without_a_number_there_is_a_table() {
    Folder::with(&[]).check(
        &["runs"],
        0,
        "\
runs   90 %     95 %     99 %
   3   47.5 %   56.6 %   74.4 %
   5   36.8 %   43.8 %   57.6 %
  10   26.0 %   31.0 %   40.7 %
  20   18.4 %   21.9 %   28.8 %
  30   15.0 %   17.9 %   23.5 %
  50   11.6 %   13.9 %   18.2 %
 100    8.2 %    9.8 %   12.9 %
 200    5.8 %    6.9 %    9.1 %
 385    4.2 %    5.0 %    6.6 %
 500    3.7 %    4.4 %    5.8 %
1000    2.6 %    3.1 %    4.1 %
Each cell: how far the measured pass rate may be from the true rate, at that confidence.
",
        "",
    );
}

#[test]
fn numbers_without_an_answer_are_refused() {
    let here = Folder::with(&[]);
    let refused = |args: &[&str], why: &str| here.check(args, 2, "", &format!("error[bad-argument]: {why}\n"));
    refused(&["runs", "--runs", "0"], "runs must be at least 1, found 0");
    refused(&["runs", "--runs", "10", "--confidence", "80"], "confidence must be 90, 95 or 99, found 80");
    refused(&["runs", "--half-width", "60"], "--half-width must be above 0 and at most 50, found 60");
    refused(&["runs", "--half-width", "NaN"], "--half-width must be above 0 and at most 50, found NaN");
}
