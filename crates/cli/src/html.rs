//! What all pages have in common: a frame that needs nothing but itself, tiles, and tables that can be
//! sorted.
//!
//! Everything that comes from a model goes through [`escape`], or through [`data`] into a script.

use crate::chart::{STYLE, escape};
use crate::text::thousands;
use std::fmt::Write;

/// How a page looks.
const PAGE_STYLE: &str = "
body { margin: 0 auto; padding: 24px 20px 64px; max-width: 1080px; color: var(--ink); background: var(--paper);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 24px; margin: 0 0 2px; overflow-wrap: anywhere; } h2 { font-size: 17px; margin: 32px 0 4px; }
p { margin: 4px 0 10px; color: var(--faint); } .part { color: var(--s2); font-weight: 600; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(220px, 1fr)); gap: 10px; margin: 18px 0; }
.tiles div { background: var(--panel); border-radius: 8px; padding: 10px 14px; }
.tiles b { display: block; font-size: 21px; font-variant-numeric: tabular-nums; } .tiles span { color: var(--faint); font-size: 13px; }
.pair { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 440px), 1fr)); gap: 8px 28px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th, td { text-align: right; padding: 4px 10px; border-bottom: 1px solid var(--grid); font-variant-numeric: tabular-nums; white-space: nowrap; }
th { cursor: pointer; color: var(--faint); font-weight: 600; user-select: none; } th:hover { color: var(--ink); }
th[aria-sort=ascending]::after { content: ' ▲'; } th[aria-sort=descending]::after { content: ' ▼'; }
th.t, td.t { text-align: left; } td.t { white-space: normal; overflow-wrap: anywhere; }
td.bar { min-width: 120px; width: 22%; } td.bar i { display: block; height: 10px; border-radius: 3px; background: var(--s0); }
details summary { cursor: pointer; color: var(--faint); margin: 8px 0; }
";

/// Sorts a table when one of its heads is clicked.
const SCRIPT: &str = "
for (const th of document.querySelectorAll('th')) th.addEventListener('click', () => {
  const table = th.closest('table'), body = table.tBodies[0], at = th.cellIndex;
  const down = th.getAttribute('aria-sort') !== 'descending';
  for (const other of table.querySelectorAll('th')) other.removeAttribute('aria-sort');
  th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  const key = row => { const v = row.cells[at].dataset.v; return v === undefined ? row.cells[at].textContent : Number(v); };
  const rows = [...body.rows].sort((a, b) => { const x = key(a), y = key(b);
    return (typeof x === 'number' ? x - y : x.localeCompare(y)) * (down ? -1 : 1); });
  body.append(...rows);
});
";

/// Rows of a table; longer ones are cut.
pub const ROWS: usize = 2000;

/// The beginning of a page about a model, with styles of its own.
pub fn head(name: &str, what: &str, style: &str) -> String {
    let name = escape(name);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{name} – {what}</title>\n\
         <style>{STYLE}{PAGE_STYLE}{style}</style>\n</head>\n<body>\n<h1>{name}</h1>\n"
    )
}

/// What the page is about, and whether that is to be taken with care.
pub fn subtitle(out: &mut String, text: &str, care: bool) {
    let class = if care { " class=\"part\"" } else { "" };
    let _ = writeln!(out, "<p{class}>{}</p>", escape(text));
}

/// The end of a page: how it was made, and scripts of its own.
pub fn end(out: &mut String, how: &str, script: &str) {
    let tool = concat!("ergodic ", env!("CARGO_PKG_VERSION"));
    let how = escape(how);
    let _ =
        writeln!(out, "<p>{tool}, {how}</p>\n<script>{SCRIPT}{script}</script>\n</body>\n</html>");
}

/// Figures with their titles.
pub fn tiles(out: &mut String, tiles: &[(String, String)]) {
    out.push_str("<div class=\"tiles\">");
    for (value, title) in tiles {
        let _ = write!(out, "<div><b>{value}</b><span>{title}</span></div>");
    }
    out.push_str("</div>\n");
}

/// Data for scripts: nothing in it can end the element.
pub fn data(out: &mut String, id: &str, value: &serde_json::Value) {
    let text = value.to_string().replace('<', "\\u003c");
    let _ = writeln!(out, "<script type=\"application/json\" id=\"{id}\">{text}</script>");
}

/// Begins a table; a star marks a column of text.
pub fn table_head(out: &mut String, titles: &[&str]) {
    out.push_str("<div class=\"wide\"><table><thead><tr>");
    for title in titles {
        let class = if title.starts_with('*') { " class=\"t\"" } else { "" };
        let _ = write!(out, "<th{class}>{}</th>", title.trim_start_matches('*'));
    }
    out.push_str("</tr></thead><tbody>\n");
}

/// Ends a table of so many rows, of which [`ROWS`] at most were written.
pub fn table_end(out: &mut String, rows: usize) {
    out.push_str("</tbody></table></div>\n");
    if rows > ROWS {
        let _ = writeln!(
            out,
            "<p>… and {} more; the JSON form has all.</p>",
            thousands((rows - ROWS) as u64)
        );
    }
}

/// A number that can be sorted by.
pub fn number_cell(out: &mut String, value: u64) {
    let _ = write!(out, "<td data-v=\"{value}\">{}</td>", thousands(value));
}
