//! What commutes, as one page with the matrix as a picture.
//!
//! The picture is drawn by a script (`picture.js`) from compact data: a row is runs of small numbers,
//! each of which stands for a kind of reason and a part of the state. Without scripts the tables are
//! still there.

use super::{Found, advice, part_name, remarks, title};
use crate::chart::escape;
use crate::html::{self, ROWS, number_cell, table_end, table_head};
use crate::text::{percent, thousands};
use ergodic_driver::independence::{Relation, Rule, Why};
use serde_json::{Value, json};
use std::fmt::Write;

const STYLE: &str = "
:root { --independent: #e6eaf1; --commutes: #86aeea; --dependent: #2b4a86; }
@media (prefers-color-scheme: dark) { :root { --independent: #232c3c; --commutes: #3f69b0; --dependent: #b9d0fb; } }
.scroll { overflow: auto; max-height: 92vh; } .box { position: relative; display: inline-block; }
.box canvas { display: block; cursor: crosshair; } .box i { position: absolute; pointer-events: none;
  background: var(--s2); opacity: 0.28; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; align-items: center; margin: 6px 0 10px; font-size: 14px; }
.legend span::before { content: ''; display: inline-block; width: 12px; height: 12px; border-radius: 2px; margin-right: 6px;
  background: var(--key); vertical-align: -1px; }
.legend label { margin-left: auto; color: var(--faint); } .legend input { vertical-align: middle; width: 120px; }
#why { position: sticky; bottom: 0; min-height: 3em; margin: 8px 0; padding: 8px 14px; border-radius: 8px; background: var(--panel);
  overflow-wrap: anywhere; border: 1px solid var(--grid); }
code { font: 13px ui-monospace, monospace; white-space: nowrap; }
.lead { color: var(--ink); } td.eg { min-width: 19em; }
";

const SCRIPT: &str = include_str!("picture.js");

/// The page.
pub fn page(found: &Found<'_>) -> String {
    let mut out = html::head(&found.model.name, "independence", STYLE);
    html::subtitle(&mut out, &format!("Independence of {}", title(found)), false);
    tiles(&mut out, found);
    let _ = writeln!(out, "<p class=\"lead\">{}</p>", escape(&advice(found)));
    for remark in remarks(found) {
        let _ = writeln!(out, "<p>Note: {}.</p>", escape(&remark));
    }
    picture(&mut out, found);
    culprits(&mut out, found);
    rules(&mut out, found);
    html::end(&mut out, "from the text of the model alone: no state was visited", SCRIPT);
    out
}

fn tiles(out: &mut String, found: &Found<'_>) {
    let counts = &found.counts;
    let dependent = counts.pairs - counts.commuting;
    let title =
        |pairs: u64, what: &str| format!("{what}, {} of all pairs", percent(pairs, counts.pairs));
    let tiles = [
        (thousands(found.of.instances.len() as u64), "rule instances".to_string()),
        (thousands(counts.pairs), "pairs of different instances".to_string()),
        (thousands(counts.independent), title(counts.independent, "independent")),
        (thousands(counts.commuting), title(counts.commuting, "commute where both are enabled")),
        (thousands(dependent), title(dependent, "dependent")),
        (thousands(counts.visible), "instances that write what a property reads".to_string()),
        (thousands(counts.merged), "instances that stand for several firings".to_string()),
        (thousands(counts.coarse), "instances too complex to follow".to_string()),
    ];
    html::tiles(out, &tiles);
}

fn picture(out: &mut String, found: &Found<'_>) {
    out.push_str(
        "<h2>Matrix</h2>\n<p>Every rule instance against every other. Point at a cell, tap it, or use \
         the arrow keys to see why.</p>\n<div class=\"legend\">\
         <span style=\"--key: var(--independent)\">independent</span>\
         <span style=\"--key: var(--commutes)\">commute wherever both are enabled</span>\
         <span style=\"--key: var(--dependent)\">dependent</span>\
         <label>zoom <input id=\"size\" type=\"range\" min=\"1\" max=\"16\" step=\"0.5\" value=\"1\"/></label></div>\n\
         <div class=\"scroll\"><div class=\"box\"><canvas id=\"matrix\" tabindex=\"0\" role=\"img\" \
         aria-label=\"which rule instances commute\"></canvas><i id=\"row\" hidden></i>\
         <i id=\"column\" hidden></i></div></div>\n\
         <div id=\"why\" aria-live=\"polite\">No cell is chosen.</div>\n",
    );
    html::data(out, "matrix-data", &data(found));
}

/// Kinds of reasons, in the order of [`Why`], with places for the writer, the other and the part: as
/// the sentences of the analysis, which a test compares.
const TEMPLATES: [(Why, &str); 7] = [
    (Why::Same, "`{w}` is one instance"),
    (Why::BothWrite, "`{w}` and `{o}` both write `{p}`"),
    (Why::Guard, "`{w}` writes `{p}`, which the guard of `{o}` reads"),
    (Why::Body, "`{w}` writes `{p}`, which the body of `{o}` reads"),
    (
        Why::Priority,
        "`{w}` writes `{p}`, which decides whether rules that have priority over `{o}` are enabled",
    ),
    (
        Why::Assumption,
        "`{w}` writes `{p}`, on which an assumption depends that `{o}` can make false",
    ),
    (Why::Coarse, "`{w}` and `{o}` touch so much of the state that their parts are not told apart"),
];

/// What the picture is drawn from.
fn data(found: &Found<'_>) -> Value {
    let causes = &found.causes;
    let template = |why: Why| TEMPLATES.iter().position(|(known, _)| *known == why).unwrap_or(0);
    let rules = found.of.rules.iter();
    json!({
        "names": found.of.instances.iter().map(|i| &i.name).collect::<Vec<_>>(),
        "rules": rules.map(|r| json!([r.name, r.instances.start, r.instances.len()]))
            .collect::<Vec<_>>(),
        "parts": causes.parts,
        "templates": TEMPLATES.map(|(_, text)| text),
        "causes": causes.list.iter()
            .map(|(why, part, first)| json!([template(*why), part, u8::from(*first)]))
            .collect::<Vec<_>>(),
        "rows": rows(found),
    })
}

/// Each row up to the diagonal, as runs of equal codes: `code` or `code*length`, in base 36.
fn rows(found: &Found<'_>) -> Vec<String> {
    let codes = found.of.pairs().zip(&found.causes.of_pairs).map(|((a, b), cause)| {
        let commutes = u64::from(found.of.relation(a, b) == Relation::Commutes);
        (a, cause.map_or(0, |cause| 1 + 2 * u64::from(cause) + commutes))
    });
    let mut rows: Vec<Vec<(u64, u64)>> = vec![Vec::new(); found.of.instances.len()];
    for (row, code) in codes {
        match rows[row].last_mut() {
            Some(run) if run.0 == code => run.1 += 1,
            _ => rows[row].push((code, 1)),
        }
    }
    let shown = |(code, length): &(u64, u64)| match length {
        1 => base_36(*code),
        _ => format!("{}*{}", base_36(*code), base_36(*length)),
    };
    rows.iter().map(|row| row.iter().map(shown).collect::<Vec<_>>().join(" ")).collect()
}

fn base_36(mut number: u64) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit((number % 36) as u32, 36));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

fn culprits(out: &mut String, found: &Found<'_>) {
    out.push_str(
        "<h2>What causes dependencies</h2>\n<p>Parts of the state that keep pairs from being \
         independent; <code>a[*]</code> stands for the elements of <code>a</code>. A pair counts once, \
         for the first part that was found.</p>\n",
    );
    table_head(out, &["*part", "parts", "dependent pairs", "commuting pairs", "*for example"]);
    let culprits = &found.causes.culprits;
    for culprit in culprits.iter().take(ROWS) {
        let _ = write!(
            out,
            "<tr><td class=\"t\"><code>{}</code></td>",
            escape(part_name(&culprit.part))
        );
        number_cell(out, culprit.parts as u64);
        number_cell(out, culprit.dependent);
        number_cell(out, culprit.commuting);
        let _ = writeln!(out, "<td class=\"t eg\">{}</td></tr>", escape(&culprit.example.text));
    }
    table_end(out, culprits.len());
}

fn rules(out: &mut String, found: &Found<'_>) {
    out.push_str(
        "<h2>What rules touch</h2>\n<p>All instances of a rule together. Where rules have priorities or \
         the model has assumptions, what those read is read as well.</p>\n",
    );
    table_head(
        out,
        &["*rule", "instances", "visible", "*guard reads", "*body reads", "*also read", "*writes"],
    );
    let rules = &found.of.rules;
    for rule in rules.iter().take(ROWS) {
        let own = &found.of.instances[rule.instances.clone()];
        let _ = write!(out, "<tr><td class=\"t\">{}</td>", escape(&rule.name));
        number_cell(out, own.len() as u64);
        number_cell(out, own.iter().filter(|instance| instance.visible).count() as u64);
        touched(out, rule);
        out.push_str("</tr>\n");
    }
    table_end(out, rules.len());
}

/// Names of parts in one cell of a table; more are cut.
const NAMES: usize = 40;

fn touched(out: &mut String, rule: &Rule) {
    for names in [&rule.guard, &rule.body, &rule.context, &rule.writes] {
        let code = |name: &String| format!("<code>{}</code>", escape(name));
        let shown = names.iter().take(NAMES).map(code).collect::<Vec<_>>().join(", ");
        let more = if names.len() > NAMES { ", …" } else { "" };
        let _ = write!(out, "<td class=\"t\">{shown}{more}</td>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ergodic_driver::independence::Commutation;
    use ergodic_driver::{LoadOptions, load_text};

    const MODEL: &str = "
        var x: 0..3; y: 0..3; z: 0..3; a: array [0..1] of 0..3;
        startstate x := 0; y := 0; z := 0; a[0] := 0; a[1] := 0; end;
        ruleset i: 0..1 do rule \"step\" a[i] < 3 ==> a[i] := a[i] + 1; end; end;
        rule \"{o}\" a[0] = 3 ==> x := a[1]; end;
        rule \"`{p}`\" x = 2 ==> y := x; end;
        rule \"w\" y > x ==> x := y; end;
        rule \"alone\" z < 3 ==> z := z + 1; end;
        assume \"small\" y + z < 5;";

    fn filled(template: &str, words: [&str; 3]) -> String {
        let mut out = String::new();
        for (i, piece) in template.split(['{', '}']).enumerate() {
            let word = ["w", "o", "p"].iter().position(|key| *key == piece);
            out.push_str(if i % 2 == 1 { word.map_or("?", |at| words[at]) } else { piece });
        }
        out
    }

    #[test]
    fn templates_say_what_the_analysis_says() {
        let model = load_text("a.m", MODEL.to_string(), &LoadOptions::default()).expect("a model");
        let of = Commutation::new(&model, &[]).expect("all rules");
        let mut kinds = Vec::new();
        for (a, b) in of.pairs().chain([(0, 0)]) {
            let Some(cause) = of.cause(a, b) else { continue };
            let (_, template) =
                TEMPLATES.iter().find(|(why, _)| *why == cause.why).expect("every kind");
            let name = |i: usize| of.instances[i].name.as_str();
            let words = [name(cause.writer), name(cause.other), &cause.part];
            assert_eq!(filled(template, words), cause.text);
            kinds.push(cause.why);
        }
        for why in [Why::Same, Why::BothWrite, Why::Guard, Why::Body, Why::Assumption] {
            assert!(kinds.contains(&why), "{why:?} is not among {kinds:?}");
        }
    }

    #[test]
    fn numbers_are_those_of_scripts() {
        assert_eq!([0, 35, 36, 1295, 1296].map(base_36), ["0", "z", "10", "zz", "100"]);
    }
}
