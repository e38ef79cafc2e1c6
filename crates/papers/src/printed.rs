//! What the papers print: facts, copied from them, that our figures are put beside.
//!
//! * *Cached-Murphi*: E. Tronci, G. Della Penna, B. Intrigila, M. Venturini Zilli, "Exploiting
//!   Transition Locality in Automatic Verification" (CHARME 2001), Figs. 1 and 4 to 7.
//! * *Hash compaction*: U. Stern, D. L. Dill, "Improved Probabilistic Verification by Hash Compaction"
//!   (CHARME 1995), Tables 1 and 2; its figures are plots without numbers.
//! * *Serial-Murphi*: G. Della Penna, B. Intrigila, I. Melatti, E. Tronci, M. Venturini Zilli, "Integrating
//!   RAM and Disk Based Verification within the Murphi Verifier" (CHARME 2003), Table 1.
//!
//! The large tables are text files beside this one; lines that begin with `#` say what they are.

/// A number as it is printed, with its mark.
#[derive(Clone, Debug, PartialEq)]
pub struct Printed {
    /// The digits, as they stand there.
    pub text: String,
    /// The number.
    pub value: f64,
    /// How the search ended.
    pub mark: Mark,
}

/// How a search with a cache ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// By itself: everything was visited.
    Ended,
    /// It was stopped, and everything had been visited (∗).
    StoppedAll,
    /// It was stopped, and not everything had been visited (∞).
    StoppedPart,
    /// It was stopped while it found the states of the last level; whether all of them is not known.
    StoppedLast,
}

impl Mark {
    /// The mark as the papers print it.
    pub fn sign(self) -> &'static str {
        match self {
            Mark::Ended => "",
            Mark::StoppedAll => "∗",
            Mark::StoppedPart => "∞",
            Mark::StoppedLast => "?",
        }
    }
}

impl Printed {
    fn parse(text: &str) -> Option<Printed> {
        let digits = text.trim_end_matches(['*', '∞']);
        let mark = match text.chars().last()? {
            '*' => Mark::StoppedAll,
            '∞' => Mark::StoppedPart,
            _ => Mark::Ended,
        };
        Some(Printed { text: digits.to_string(), value: digits.parse().ok()?, mark })
    }

    /// The number and its mark.
    pub fn shown(&self) -> String {
        format!("{}{}", self.text, self.mark.sign())
    }
}

/// A row of a table: its name and its numbers.
#[derive(Clone, Debug)]
pub struct Row {
    /// The protocol.
    pub protocol: String,
    /// What is counted (`states`, `rules` …), if the table has several rows per protocol.
    pub kind: String,
    /// Whether the protocol has an error, where the paper says so.
    pub starred: bool,
    /// The numbers.
    pub values: Vec<Printed>,
}

/// The rows of a table; lines that are none are left out.
fn rows(text: &str, with_kind: bool) -> Vec<Row> {
    let mut out = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { continue };
        let kind = if with_kind { words.next().unwrap_or_default() } else { "" };
        let values: Option<Vec<Printed>> = words.map(Printed::parse).collect();
        let Some(values) = values else { continue };
        out.push(Row {
            protocol: name.trim_end_matches('*').to_string(),
            kind: kind.to_string(),
            starred: name.ends_with('*'),
            values,
        });
    }
    out
}

/// Fig. 1 of cached-Murphi: E and σ for k = −1, 0, 1, and their sum.
pub fn fig1() -> Vec<Row> {
    rows(include_str!("printed/fig1.txt"), false)
}

/// Fig. 4 of cached-Murphi: bytes, states, rules, longest queue, diameter; M, g, T twice.
pub fn fig4() -> Vec<Row> {
    rows(include_str!("printed/fig4.txt"), false)
}

/// Fig. 5 of cached-Murphi: full states in the cache.
pub fn fig5() -> Vec<Row> {
    rows(include_str!("printed/fig5.txt"), true)
}

/// Fig. 6 of cached-Murphi: 40 bits of each state in the cache.
pub fn fig6() -> Vec<Row> {
    rows(include_str!("printed/fig6.txt"), true)
}

/// Table 1 of Serial-Murphi.
pub fn serial() -> Vec<Row> {
    rows(include_str!("printed/serial.txt"), true)
}

/// The number at a place of a row.
pub fn find<'a>(table: &'a [Row], protocol: &str, kind: &str, at: usize) -> Option<&'a Printed> {
    table.iter().find(|row| row.protocol == protocol && row.kind == kind)?.values.get(at)
}

/// The protocols of a table, each once, in its order.
pub fn protocols(table: &[Row]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for row in table {
        if out.last() != Some(&row.protocol) {
            out.push(row.protocol.clone());
        }
    }
    out
}

/// Where the classic models have a protocol.
pub fn file_of(protocol: &str) -> Option<&'static str> {
    include_str!("printed/models.txt")
        .lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(name, file)| *name == protocol && *file != "-")
        .map(|(_, file)| file)
}

/// The memory of the columns of Figs. 5 and 6, in parts of M(p).
pub const ALPHAS: [f64; 10] = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1];

/// The memory of the columns of Serial-Murphi's Table 1.
pub const SERIAL_ALPHAS: [f64; 3] = [0.5, 0.4, 0.3];

/// A row of Fig. 7 of cached-Murphi.
pub struct Fig7 {
    /// Megabytes in all.
    pub megabytes: u64,
    /// Entries of the cache.
    pub entries: u64,
    /// States visited.
    pub visited: u64,
    /// Seconds.
    pub seconds: f64,
    /// Collision rate.
    pub rate: f64,
    /// Longest queue.
    pub queue: u64,
}

/// Fig. 7 of cached-Murphi.
pub const FIG7: [Fig7; 3] = [
    Fig7 {
        megabytes: 200,
        entries: 38_836_153,
        visited: 44_780_625,
        seconds: 19_349.80,
        rate: 0.17024,
        queue: 16_215_144,
    },
    Fig7 {
        megabytes: 150,
        entries: 29_127_121,
        visited: 46_369_727,
        seconds: 19_975.79,
        rate: 0.373_777,
        queue: 16_239_606,
    },
    Fig7 {
        megabytes: 130,
        entries: 25_243_507,
        visited: 48_933_778,
        seconds: 21_769.69,
        rate: 0.484_372,
        queue: 16_264_901,
    },
];

/// The constants of Fig. 7.
pub const FIG7_CONSTANTS: [&str; 5] =
    ["NumInitiators=2", "NumResponders=1", "NumIntruders=2", "NetworkSize=2", "MaxKnowledge=10"];

/// The sizes of Table 1 of hash compaction, in bytes.
pub const TABLE1_BYTES: [(f64, &str); 7] = [
    (100e6, "100 M"),
    (200e6, "200 M"),
    (500e6, "500 M"),
    (1e9, "1 G"),
    (2e9, "2 G"),
    (5e9, "5 G"),
    (10e9, "10 G"),
];

/// The rows of Table 1 of hash compaction: omission probability, and bits for each size.
pub const TABLE1: [(f64, [&str; 7]); 5] = [
    (0.001, ["38.2", "39.3", "40.6", "41.6", "42.6", "44.0", "45.0"]),
    (0.01, ["35.0", "36.1", "37.4", "38.4", "39.4", "40.8", "41.8"]),
    (0.1, ["31.8", "32.8", "34.2", "35.2", "36.2", "37.5", "38.5"]),
    (0.5, ["29.2", "30.2", "31.6", "32.6", "33.6", "34.9", "35.9"]),
    (0.99, ["26.6", "27.6", "29.0", "30.0", "31.0", "32.3", "33.3"]),
];

/// Table 2 of hash compaction: example, states, seconds in full and with 5 bytes.
pub const TABLE2: [(&str, u64, f64, f64); 3] = [
    ("Peterson", 6_698_326, 3187.0, 3232.0),
    ("SCI", 1_179_942, 4254.0, 4396.0),
    ("cache3", 2_093_231, 4303.0, 4436.0),
];

/// Fig. 6 of hash compaction: states and slots of the SCI example.
pub const SCI_STATES: u64 = 109_080;
/// Slots of its table.
pub const SCI_SLOTS: u64 = 116_531;

/// What Tables 1 and 2 of "State-space caching revisited" say of a search that stores all states.
pub struct Searched {
    /// States.
    pub states: u64,
    /// Known states that were reached.
    pub matched: u64,
    /// Transitions.
    pub transitions: u64,
    /// The longest stack.
    pub depth: u64,
    /// Seconds.
    pub seconds: f64,
}

/// A row of such a table, without the name.
const fn searched(
    states: u64,
    matched: u64,
    transitions: u64,
    depth: u64,
    seconds: f64,
) -> Searched {
    Searched { states, matched, transitions, depth, seconds }
}

/// The protocols of "State-space caching revisited": without sleep sets (Algorithm 1, Table 1), and with
/// them (Algorithm 2, Table 2).
pub const SLEEPING: [(&str, Searched, Searched); 4] = [
    (
        "PFTP",
        searched(409_257, 771_265, 1_180_522, 5044, 219.4),
        searched(409_257, 183_638, 592_895, 4786, 505.4),
    ),
    ("URP", searched(15_378, 27_709, 43_087, 202, 6.9), searched(15_378, 1884, 17_262, 202, 13.8)),
    (
        "MULOG3",
        searched(100_195, 254_183, 354_378, 119, 35.2),
        searched(100_195, 3736, 103_931, 119, 80.8),
    ),
    (
        "DTP",
        searched(251_409, 397_058, 648_467, 545, 97.8),
        searched(251_409, 11_152, 262_561, 545, 206.4),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Every transition leads to a new state or to a known one.
    #[test]
    fn the_transitions_of_the_caching_paper_are_its_states_and_matches() {
        for (protocol, without, with) in &SLEEPING {
            for row in [without, with] {
                assert_eq!(row.states + row.matched, row.transitions, "{protocol}");
            }
        }
    }

    #[test]
    fn the_tables_are_whole() {
        assert_eq!((fig1().len(), fig4().len()), (20, 20));
        assert!(fig1().iter().all(|row| row.values.len() == 7));
        assert!(fig4().iter().all(|row| row.values.len() == 11));
        assert_eq!((fig5().len(), fig6().len(), serial().len()), (80, 60, 27));
        assert!(fig5().iter().chain(&fig6()).all(|row| row.values.len() == 10));
        assert_eq!(fig1().iter().filter(|row| row.starred).count(), 3);
        for row in fig1() {
            assert_eq!(file_of(&row.protocol).is_some(), row.protocol != "kerb");
        }
    }

    #[test]
    fn marks_are_read() {
        let table = fig5();
        let found = find(&table, "n.peterson", "states", 4).cloned();
        let expected = Printed { text: "4.366".to_string(), value: 4.366, mark: Mark::StoppedAll };
        assert_eq!(found, Some(expected));
        let found = find(&table, "sci", "coll", 9).map(Printed::shown);
        assert_eq!(found.as_deref(), Some("0.912∞"));
        assert_eq!(find(&table, "sci", "coll", 10), None);
    }

    #[test]
    fn the_sums_of_fig_1_are_those_of_its_columns() {
        for row in fig1() {
            let v: Vec<f64> = row.values.iter().map(|printed| printed.value).collect();
            assert!((v[0] + v[2] + v[4] - v[6]).abs() < 2e-5, "{}", row.protocol);
        }
    }
}
