//! What commutes, for people: a matrix that fits a terminal, what causes dependencies, and what rules
//! touch.

use super::{Found, advice, part_name, remarks, title};
use crate::paint::Paint;
use crate::text::{percent, shortened, thousands};
use ergodic_driver::independence::{Commutation, Relation, Rule};
use std::fmt::Write;

/// Rows and columns of a matrix.
const MOST: usize = 48;
/// Columns of a terminal.
const WIDTH: usize = 80;
/// Parts that are shown with what they cause.
const PARTS: usize = 10;
/// Rules that are shown with what they touch.
const RULES: usize = 24;
/// Names of parts in one line.
const NAMES: usize = 6;

/// The report.
pub fn report(found: &Found<'_>, paint: Paint) -> String {
    let mut out = format!("{}: independence of {}\n", found.model.name, title(found));
    summary(&mut out, found);
    let _ = writeln!(out, "\n{}", filled(&advice(found), "  "));
    matrix(&mut out, &found.of, paint);
    culprits(&mut out, found, paint);
    rules(&mut out, &found.of.rules, paint);
    let remarks = remarks(found);
    if !remarks.is_empty() {
        out.push('\n');
    }
    for remark in remarks {
        let _ = writeln!(out, "note: {remark}");
    }
    out
}

fn summary(out: &mut String, found: &Found<'_>) {
    let counts = &found.counts;
    let dependent = counts.pairs - counts.commuting;
    let of_pairs = |part: u64| format!("{} ({})", thousands(part), percent(part, counts.pairs));
    let lines = [
        ("pairs", thousands(counts.pairs), "of different instances"),
        ("independent", of_pairs(counts.independent), "neither has an effect on the other"),
        ("commuting", of_pairs(counts.commuting), "the same, or commute wherever both are enabled"),
        ("dependent", of_pairs(dependent), "all other pairs"),
        ("visible", thousands(counts.visible), "instances that write what a property reads"),
        ("merged", thousands(counts.merged), "instances that stand for several firings"),
        ("coarse", thousands(counts.coarse), "instances whose code is too complex to follow"),
    ];
    let width = lines.iter().map(|line| line.1.chars().count()).max().unwrap_or(0);
    out.push('\n');
    for (name, value, meaning) in lines {
        let _ = writeln!(out, "  {name:<12} {value:<width$}  {meaning}");
    }
}

/// A text in lines of the width of a terminal.
fn filled(text: &str, indent: &str) -> String {
    let mut out = indent.to_string();
    let mut column = indent.len();
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > indent.len() && column + 1 + length > WIDTH {
            out.push('\n');
            out.push_str(indent);
            column = indent.len();
        } else if column > indent.len() {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out
}

fn matrix(out: &mut String, of: &Commutation, paint: Paint) {
    if of.instances.len() <= MOST {
        let names: Vec<&str> = of.instances.iter().map(|i| i.name.as_str()).collect();
        let _ = writeln!(out, "\n  {}", paint.strong("matrix of instances"));
        grid(out, &names, &|row, column| match of.relation(row, column) {
            Relation::Same => '╲',
            Relation::Independent => '·',
            Relation::Commutes => '○',
            Relation::Dependent => '█',
        });
        out.push_str("  · independent   ○ commute wherever both are enabled   █ dependent\n");
    } else {
        rule_matrix(out, of, paint);
    }
}

/// Of many instances only the rules are shown, with the part of their pairs that depends.
fn rule_matrix(out: &mut String, of: &Commutation, paint: Paint) {
    let all = || of.rules.iter().filter(|rule| !rule.instances.is_empty());
    // Rules with few instances say least; the order is that of the model.
    let mut sizes: Vec<usize> = all().map(|rule| rule.instances.len()).collect();
    sizes.sort_unstable_by_key(|size| std::cmp::Reverse(*size));
    let least = sizes.get(MOST - 1).copied().unwrap_or(0);
    let mut rest = MOST - sizes.iter().take(MOST).filter(|size| **size > least).count();
    let mut keep = |rule: &&Rule| {
        let equal = rule.instances.len() == least && rest > 0;
        rest -= usize::from(equal);
        equal || rule.instances.len() > least
    };
    let rules: Vec<&Rule> = all().filter(|rule| keep(rule)).collect();
    let names: Vec<String> =
        rules.iter().map(|rule| format!("{} ({})", rule.name, rule.instances.len())).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let heading = "matrix of rules (with their instances): part of the pairs that depend";
    let _ = writeln!(out, "\n  {}", paint.strong(heading));
    grid(out, &names, &|row, column| shade(of, rules[row], rules[column]));
    out.push_str("  · none   ░ few   ▒ some   ▓ most   █ all   ╲ there is no pair\n");
    if sizes.len() > rules.len() {
        let left = sizes.len() - rules.len();
        let _ =
            writeln!(out, "  … and {left} other rules; --rule NAME shows some, --format html all");
    }
}

fn shade(of: &Commutation, a: &Rule, b: &Rule) -> char {
    let pairs = || a.instances.clone().flat_map(|x| b.instances.clone().map(move |y| (x, y)));
    let (mut all, mut dependent) = (0u64, 0u64);
    for relation in pairs().map(|(x, y)| of.relation(x, y)).filter(|r| *r != Relation::Same) {
        all += 1;
        dependent += u64::from(relation == Relation::Dependent);
    }
    match dependent {
        _ if all == 0 => '╲',
        0 => '·',
        d if d == all => '█',
        d if 3 * d < all => '░',
        d if 3 * d < 2 * all => '▒',
        _ => '▓',
    }
}

/// A name of at most so many characters, cut in the middle: the ends tell instances apart.
fn squeezed(name: &str, width: usize) -> String {
    let length = name.chars().count();
    if length <= width {
        return name.to_string();
    }
    let front = width / 2;
    let back = width.saturating_sub(front + 1);
    name.chars().take(front).chain(['…']).chain(name.chars().skip(length - back)).collect()
}

/// Rows with their numbers and names, columns with their numbers.
fn grid(out: &mut String, names: &[&str], cell: &dyn Fn(usize, usize) -> char) {
    let wide = if names.len() <= 20 { 2 } else { 1 };
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let width = longest.min((WIDTH - 6).saturating_sub(wide * names.len()).max(12));
    let digits = |which: &dyn Fn(usize) -> Option<char>| {
        let column = |i: usize| {
            let digit = which(i + 1).unwrap_or(' ');
            format!("{digit:<wide$}")
        };
        let line: String = (0..names.len()).map(column).collect();
        format!("  {:2} {:width$} {line}", "", "").trim_end().to_string()
    };
    let digit = |number: usize| char::from_digit(number as u32 % 10, 10);
    if names.len() > 9 {
        let tens = digits(&|i| if i >= 10 { digit(i / 10) } else { None });
        let _ = writeln!(out, "{tens}");
    }
    let _ = writeln!(out, "{}", digits(&digit));
    for (row, name) in names.iter().enumerate() {
        let cells: String =
            (0..names.len()).map(|column| format!("{:<wide$}", cell(row, column))).collect();
        let name = squeezed(name, width);
        let _ = writeln!(out, "  {:>2} {name:<width$} {}", row + 1, cells.trim_end());
    }
}

fn culprits(out: &mut String, found: &Found<'_>, paint: Paint) {
    let culprits = &found.causes.culprits;
    if culprits.is_empty() {
        return;
    }
    let width = culprits.iter().take(PARTS).map(|c| part_name(&c.part).chars().count()).max();
    let width = width.unwrap_or(0).clamp(20, 44);
    let _ =
        writeln!(out, "\n  {:<width$} {:>11} {:>11}", "what causes it", "dependent", "commuting");
    for culprit in culprits.iter().take(PARTS) {
        let name = shortened(part_name(&culprit.part), width);
        let name = format!("{name:<width$}");
        let _ = writeln!(
            out,
            "  {} {:>11} {:>11}",
            paint.strong(&name),
            thousands(culprit.dependent),
            thousands(culprit.commuting)
        );
        let eg = if culprit.dependent + culprit.commuting == 1 { "" } else { "e.g. " };
        let _ = writeln!(out, "{}", filled(&format!("{eg}{}", culprit.example.text), "      "));
    }
    if culprits.len() > PARTS {
        let rest = culprits.len() - PARTS;
        let _ = writeln!(out, "  … and {rest} other parts; --format json and html have all");
    }
}

fn rules(out: &mut String, rules: &[Rule], paint: Paint) {
    let _ = writeln!(out, "\n  {}", paint.strong("what rules touch"));
    for rule in rules.iter().take(RULES) {
        let count = rule.instances.len();
        let plural = if count == 1 { "" } else { "s" };
        let _ = writeln!(out, "  {}, {} instance{plural}", rule.name, thousands(count as u64));
        let lists = [
            ("guard", &rule.guard),
            ("body", &rule.body),
            ("and", &rule.context),
            ("writes", &rule.writes),
        ];
        for (what, names) in lists.iter().filter(|(_, names)| !names.is_empty()) {
            let shown = names.iter().take(NAMES).cloned().collect::<Vec<_>>().join(", ");
            let rest = names.len().saturating_sub(NAMES);
            let more = if rest > 0 { format!(", … and {rest} more") } else { String::new() };
            let line = filled(&format!("{shown}{more}"), "             ");
            let _ = writeln!(out, "      {what:<6} {}", line.trim_start());
        }
    }
    if rules.len() > RULES {
        let rest = rules.len() - RULES;
        let _ = writeln!(out, "  … and {rest} other rules; --format json and html have all");
    }
    out.push_str("  guard and body: what they read; a[*]: some elements of a\n");
    if rules.iter().any(|rule| !rule.context.is_empty()) {
        out.push_str("  and: read for the sake of priorities and assumptions\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_filled_and_no_word_is_lost() {
        let text = "word ".repeat(60);
        let shown = filled(text.trim_end(), "    ");
        assert!(shown.lines().all(|line| line.len() <= WIDTH && line.starts_with("    word")));
        assert_eq!(shown.split_whitespace().count(), 60);
        assert_eq!(filled(&"x".repeat(200), "  ").lines().count(), 1);
    }

    #[test]
    fn grids_have_a_line_per_row() {
        let names = vec!["a rather long name of a rule that does not fit"; 48];
        let mut out = String::new();
        grid(&mut out, &names, &|row, column| if row == column { '╲' } else { '·' });
        assert_eq!(out.lines().count(), 50);
        assert!(out.lines().all(|line| line.chars().count() <= WIDTH), "{out}");
        grid(&mut String::new(), &[], &|_, _| ' ');
        assert_eq!(squeezed("receive(node: 12)", 11), "recei…: 12)");
        assert_eq!((squeezed("short", 5), squeezed("äöü", 1)), ("short".into(), "…".into()));
    }
}
