//! How many runs a pass rate needs.

use super::Folder;

#[test]
fn a_margin_gives_a_number_of_runs_and_a_number_of_runs_gives_a_margin() {
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
fn a_required_rate_gives_a_number_of_runs_and_the_chances_of_a_better_agent() {
    let here = Folder::with(&[]);
    here.check(
        &["runs", "--at-least", "90", "--confidence", "95"],
        0,
        "\
29
29 straight passes show a pass rate of at least 90 % at 95 % confidence: 0.9^29 is at most 0.05
An agent that truly passes 95 % of its runs gets these answers:
  runs   may fail    pass      fail      inconclusive
    29          0    22.6 %     0.0 %         77.4 %
    46          1    32.3 %     0.0 %         67.6 %
    61          2    40.6 %     0.0 %         59.4 %
    76          3    46.9 %     0.0 %         53.1 %
   103          5    58.9 %     0.0 %         41.1 %
   142          8    71.9 %     0.0 %         28.1 %
   203         13    85.9 %     0.0 %         14.1 %
   298         21    95.4 %     0.0 %          4.6 %
With `stop: settled`, 43 straight passes settle it: --stop settled
",
        "",
    );
    here.check(
        &["runs", "--at-least", "90", "--stop", "settled"],
        0,
        "\
43
43 straight passes settle a pass rate of at least 90 % at 95 % confidence, however often one looks:
the e-value after them is 20.89, at least 20. For a fixed number of runs it takes 29.
An agent that truly passes 95 % of its runs, stopped as soon as it is settled, after at most `max` runs:
   max    pass      fail      inconclusive   mean runs
    43    11.0 %     0.4 %         88.6 %        42.9
    86    25.4 %     0.4 %         74.3 %        79.4
   172    50.4 %     0.4 %         49.3 %       133.6
   344    82.9 %     0.4 %         16.7 %       187.3
",
        "",
    );
    here.check(
        &["runs", "--at-least", "90", "--runs", "60", "--rate", "97"],
        0,
        "\
29
29 straight passes show a pass rate of at least 90 % at 95 % confidence: 0.9^29 is at most 0.05
An agent that truly passes 97 % of its runs gets these answers:
  runs   may fail    pass      fail      inconclusive
    60          1    45.9 %     0.0 %         54.1 %
With `stop: settled`, 43 straight passes settle it: --stop settled
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
    refused(&["runs", "--at-least", "100"], "--at-least must be above 0 and below 100, found 100");
    refused(&["runs", "--at-least", "0"], "--at-least must be above 0 and below 100, found 0");
    refused(&["runs", "--at-least", "90", "--rate", "101"], "--rate must be above 0 and below 100, found 101");
    refused(&["runs", "--at-least", "90", "--runs", "0"], "runs must be at least 1, found 0");
    refused(&["runs", "--at-least", "99.99999"], "--at-least 99.99999 asks for more than 1000000 runs");
    refused(&["runs", "--half-width", "NaN"], "--half-width must be above 0 and at most 50, found NaN");
}
