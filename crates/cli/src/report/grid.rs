//! Tests against models, as a text table.

use mcptest_core::diag::printable;
use mcptest_core::report::{GridCell, GridLine, Report, grid};

use super::detail::mark;

/// Longest name of a test or model in the table; the rows above have the full name.
const LONGEST: usize = 40;

/// One table per suite in which a test ran on several models; nothing otherwise.
pub(super) fn tables(report: &Report) -> String {
    let mut out = String::new();
    for suite in &report.suites {
        let lines = grid(&suite.rows);
        if !lines.is_empty() {
            out.push('\n');
            table(&lines, &mut out);
        }
    }
    out
}

fn table(lines: &[GridLine], out: &mut String) {
    let mut models: Vec<&str> = Vec::new();
    for cell in lines.iter().flat_map(|line| &line.cells) {
        if !models.contains(&cell.model.as_str()) {
            models.push(&cell.model);
        }
    }
    let heading = ["passed runs".to_owned()].into_iter().chain(models.iter().map(|model| short(model)));
    let mut rows: Vec<Vec<String>> = vec![heading.collect()];
    for line in lines {
        let on = |model: &&str| line.cells.iter().find(|cell| cell.model == *model).map_or_else(String::new, shown);
        rows.push([short(&line.test)].into_iter().chain(models.iter().map(on)).collect());
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..=models.len()).map(width).collect();
    for row in &rows {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        out.push_str(cells.join("  ").trim_end());
        out.push('\n');
    }
}

/// Such as `✗ 1/3`.
fn shown(cell: &GridCell) -> String {
    let (mark, _) = mark(cell.verdict);
    format!("{mark} {}/{}", cell.passed, cell.runs)
}

fn short(name: &str) -> String {
    let name = printable(name);
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.into_owned(),
    }
}
