//! The report: blocks of text, tables and charts, written as Markdown and as one HTML page.
//!
//! Text knows two marks, `code` and **strong**; everything else is escaped where the format needs it. The
//! page needs no other file and no network: charts are inline SVG with the style sheet of the charts.

use crate::chart::{self, Chart, escape};
use std::fmt::Write as _;

/// A part of the report.
#[derive(Clone, Debug)]
pub enum Block {
    /// A heading; its level is 2 or 3.
    Heading(u8, String),
    /// A paragraph.
    Text(String),
    /// A table.
    Table(Table),
    /// A chart, in the page only, with its caption.
    Chart(Chart, String),
    /// A part that is folded up, under a title.
    Fold(String, Vec<Block>),
}

/// A table.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Column heads.
    pub head: Vec<String>,
    /// Rows; as long as the head.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    pub fn new<S: AsRef<str>>(head: &[S]) -> Table {
        Table { head: head.iter().map(|s| s.as_ref().to_string()).collect(), rows: Vec::new() }
    }

    /// Adds a row; it is made as long as the head.
    pub fn row(&mut self, mut cells: Vec<String>) {
        cells.resize(self.head.len(), String::new());
        self.rows.push(cells);
    }
}

/// Whether a goal was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// Yes.
    Yes,
    /// No.
    No,
    /// Not looked at, or only in part.
    Open,
}

impl Met {
    /// By a condition.
    pub fn when(condition: bool) -> Met {
        if condition { Met::Yes } else { Met::No }
    }

    fn word(self) -> &'static str {
        match self {
            Met::Yes => "met",
            Met::No => "**missed**",
            Met::Open => "open",
        }
    }
}

/// A goal and what came out.
#[derive(Clone, Debug)]
pub struct Goal {
    /// What is asked for.
    pub goal: String,
    /// The figure of the paper, if there is one.
    pub paper: String,
    /// Ours.
    pub ours: String,
    /// Whether it was reached.
    pub met: Met,
}

/// The report.
#[derive(Debug, Default)]
pub struct Report {
    /// What was run, where.
    pub about: Vec<String>,
    /// Goals.
    pub goals: Vec<Goal>,
    /// Everything else.
    pub blocks: Vec<Block>,
}

impl Report {
    /// A heading of a section.
    pub fn heading(&mut self, text: &str) {
        self.blocks.push(Block::Heading(2, text.to_string()));
    }

    /// A paragraph.
    pub fn text(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Text(text.into()));
    }

    /// A table, unless it is empty.
    pub fn table(&mut self, table: Table) {
        if !table.rows.is_empty() {
            self.blocks.push(Block::Table(table));
        }
    }

    /// A chart, unless there is nothing to draw.
    pub fn chart(&mut self, chart: Chart, caption: &str) {
        if chart.series.iter().any(|series| series.points.len() > 1) {
            self.blocks.push(Block::Chart(chart, caption.to_string()));
        }
    }

    /// A goal.
    pub fn goal(&mut self, goal: &str, paper: &str, ours: String, met: Met) {
        self.goals.push(Goal { goal: goal.to_string(), paper: paper.to_string(), ours, met });
    }

    /// All blocks, those of the beginning first.
    fn all(&self) -> Vec<Block> {
        let mut out: Vec<Block> = self.about.iter().cloned().map(Block::Text).collect();
        if !self.goals.is_empty() {
            out.push(Block::Heading(2, "Goals".to_string()));
            let mut table = Table::new(&["goal", "paper", "ours", ""]);
            for goal in &self.goals {
                table.row(vec![
                    goal.goal.clone(),
                    goal.paper.clone(),
                    goal.ours.clone(),
                    goal.met.word().to_string(),
                ]);
            }
            out.push(Block::Table(table));
        }
        out.extend(self.blocks.iter().cloned());
        out
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let mut out = format!("# {TITLE}\n\n");
        markdown(&self.all(), &mut out);
        out
    }

    /// As one page.
    pub fn html(&self) -> String {
        let mut out = format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width\">\n<title>{TITLE}</title>\n\
             <style>{}{PAGE}</style></head>\n<body><main>\n<h1>{TITLE}</h1>\n",
            chart::STYLE
        );
        html(&self.all(), &mut out);
        out.push_str("</main></body></html>\n");
        out
    }
}

const TITLE: &str = "The papers' tables, reproduced";

const PAGE: &str = "
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 96rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.3rem; margin-top: 2.5rem; } h3 { font-size: 1.05rem; }
p { max-width: 60rem; } code { font-size: 0.92em; background: var(--panel); padding: 0 0.2em; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: 0.86rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.22rem 0.45rem; text-align: right; border-bottom: 1px solid var(--grid); white-space: nowrap; }
th { background: var(--panel); position: sticky; top: 0; }
th.words, td.words { text-align: left; } td.words:not(:first-child) { white-space: normal; }
figure { margin: 1rem 0; max-width: 46rem; } figcaption { color: var(--faint); font-size: 0.86rem; }
figure .f0 { fill-opacity: 0.6; }
details { margin: 0.5rem 0; } summary { cursor: pointer; }
";

fn markdown(blocks: &[Block], out: &mut String) {
    for block in blocks {
        match block {
            Block::Heading(level, text) => {
                let _ = writeln!(out, "{} {text}\n", "#".repeat(usize::from(*level)));
            }
            Block::Text(text) => {
                let _ = writeln!(out, "{text}\n");
            }
            Block::Table(table) => markdown_table(table, out),
            Block::Chart(_, caption) => {
                let _ = writeln!(out, "*(Chart in the page: {caption})*\n");
            }
            Block::Fold(title, inner) => {
                let _ = writeln!(out, "<details><summary>{}</summary>\n", escape(title));
                markdown(inner, out);
                out.push_str("</details>\n\n");
            }
        }
    }
}

/// Columns are padded, so that the text can be read as it is.
fn markdown_table(table: &Table, out: &mut String) {
    let cell = |text: &String| text.replace('|', "\\|").replace('\n', " ");
    let width = |i: usize| {
        let cells = table.rows.iter().filter_map(|row| row.get(i)).chain(table.head.get(i));
        cells.map(|text| cell(text).chars().count()).max().unwrap_or(0).max(3)
    };
    let widths: Vec<usize> = (0..table.head.len()).map(width).collect();
    let mut line = |cells: &[String]| {
        for (i, (text, width)) in cells.iter().zip(&widths).enumerate() {
            let text = cell(text);
            let room = " ".repeat(width - text.chars().count().min(*width));
            let text = if i == 0 { format!("{text}{room}") } else { format!("{room}{text}") };
            let _ = write!(out, "| {text} ");
        }
        out.push_str("|\n");
    };
    line(&table.head);
    let rule: Vec<String> = widths
        .iter()
        .enumerate()
        .map(|(i, w)| if i == 0 { "-".repeat(*w) } else { format!("{}:", "-".repeat(w - 1)) })
        .collect();
    line(&rule);
    for row in &table.rows {
        line(row);
    }
    out.push('\n');
}

fn html(blocks: &[Block], out: &mut String) {
    for block in blocks {
        match block {
            Block::Heading(level, text) => {
                let _ = writeln!(out, "<h{level}>{}</h{level}>", inline(text));
            }
            Block::Text(text) => {
                let _ = writeln!(out, "<p>{}</p>", inline(text));
            }
            Block::Table(table) => html_table(table, out),
            Block::Chart(chart, caption) => {
                let _ = writeln!(
                    out,
                    "<figure>{}<figcaption>{}</figcaption></figure>",
                    chart.svg(),
                    inline(caption)
                );
            }
            Block::Fold(title, inner) => {
                let _ = writeln!(out, "<details><summary>{}</summary>", inline(title));
                html(inner, out);
                out.push_str("</details>\n");
            }
        }
    }
}

fn html_table(table: &Table, out: &mut String) {
    // Columns of sentences stand left and may be broken, columns of numbers stand right.
    let words = |column: usize| {
        let cells = table.rows.iter().filter_map(|row| row.get(column));
        let long = cells.filter(|cell| cell.chars().count() > 24).count();
        column == 0 || long * 3 >= table.rows.len().max(1)
    };
    let classes: Vec<&str> =
        (0..table.head.len()).map(|i| if words(i) { " class=\"words\"" } else { "" }).collect();
    out.push_str("<div class=\"scroll\"><table><thead><tr>");
    for (head, class) in table.head.iter().zip(&classes) {
        let _ = write!(out, "<th{class}>{}</th>", inline(head));
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (cell, class) in row.iter().zip(&classes) {
            let _ = write!(out, "<td{class}>{}</td>", inline(cell));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

/// Text with its two marks, escaped.
fn inline(text: &str) -> String {
    let mut out = String::new();
    for (i, part) in text.split('`').enumerate() {
        if i % 2 == 1 {
            let _ = write!(out, "<code>{}</code>", escape(part));
            continue;
        }
        for (j, strong) in part.split("**").enumerate() {
            let (open, close) = if j % 2 == 1 { ("<b>", "</b>") } else { ("", "") };
            let _ = write!(out, "{open}{}{close}", escape(strong));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Mark, Series};

    fn sample() -> Report {
        let mut report = Report::default();
        report.about.push("On `a machine` & **more**.".to_string());
        report.goal("no more than 2", "3", "1.5 < 2".to_string(), Met::when(true));
        report.heading("A table");
        let mut table = Table::new(&["protocol", "paper", "ours", "ratio"]);
        table.row(vec!["a|b".into(), "1.0".into(), "2.0".into(), "2.00".into()]);
        table.row(vec!["<short>".into()]);
        report.table(table.clone());
        report.table(Table::new(&["empty"]));
        report.blocks.push(Block::Fold("more".to_string(), vec![Block::Table(table)]));
        let line = Series::new("x", Mark::Line, [(0.0, 1.0), (1.0, 2.0)]);
        let chart = Chart { series: vec![line], ..Chart::default() };
        report.chart(chart, "a caption");
        report.chart(Chart::default(), "nothing");
        report
    }

    #[test]
    fn markdown_tables_line_up() {
        let text = sample().markdown();
        assert!(
            text.contains("| protocol | paper | ours | ratio |\n| -------- | ----: |"),
            "{text}"
        );
        assert!(
            text.contains("| a\\|b     |   1.0 |  2.0 |  2.00 |\n| <short>  |       |"),
            "{text}"
        );
        assert!(text.contains("| no more than 2 |     3 | 1.5 < 2 | met |"), "{text}");
        assert!(!text.contains("empty") && !text.contains("nothing"));
    }

    #[test]
    fn pages_are_escaped_and_whole() {
        let page = sample().html();
        assert!(
            page.contains("<td class=\"words\">&lt;short&gt;</td><td></td><td></td><td></td>"),
            "{page}"
        );
        assert!(page.contains("<code>a machine</code> &amp; <b>more</b>."));
        assert_eq!(page.matches("<svg").count(), 1);
        assert_eq!(page.matches("<details>").count(), page.matches("</details>").count());
        assert!(!page.contains("http"), "it needs no network");
    }
}
