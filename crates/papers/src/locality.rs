//! Figs. 1 and 4 of cached-Murphi: what the protocols are like.

use crate::Work;
use crate::child::{Profile, Run, args};
use crate::numbers::{
    agrees, kilobytes, least_memory, least_memory_compacted, like, ratio, state_bytes, thousands,
    times,
};
use crate::printed::{self, Row};
use crate::report::{Met, Table};

/// Unreduced state spaces of at most this many states are profiled as well.
const UNREDUCED: u64 = 3_000_000;

/// Fig. 1: how local transitions are.
pub fn fig1(work: &mut Work) {
    work.report.heading("Cached-Murphi, Fig. 1: transition locality");
    work.report.text(
        "E{Δ(k)} and σ(k) as `ergodic profile` gives them (with `--until-violation` for the three protocols with \
         an error, marked ∗). A row **agrees** if its six means and deviations are the printed ones to the last digit (the printed \
         SumAvg is the sum of rounded figures). \
         Rows of models with scalarsets cannot: the paper's program looked a successor up before it was \
         brought into its normal form, so that many were not found and counted as new (k = 1). *ours* are the true \
         figures; *mistaken* are those of `--symmetry cmurphi --look-up-first`, which has CMurphi's normal form and \
         repeats the mistake: such a row agrees *with the mistake* if these figures are the printed ones. \
         Where multisets are, the paper's program compared them unsorted, which is not repeated. sym.cache3 agrees but \
         for σ(−1), printed 0.104478, which seems to be a misprint of 0.10478; mcslock2 has the figures of a \
         space with 17 more states, and eadash and ldash, too, are nearly equal; why is not known. \
         The last column has SumAvg of the same model without symmetry \
         reduction, where that has at most three million states.",
    );
    let columns = |names: &[&str]| {
        let of = |name: &&str| {
            [format!("{name} paper"), "ours".into(), "ratio".into(), "mistaken".into()]
        };
        let own = names.iter().flat_map(of);
        std::iter::once("protocol".to_string()).chain(own).collect::<Vec<String>>()
    };
    let mut table = Table::new(&columns(&["E(−1)", "E(0)", "E(1)", "SumAvg"]));
    table.head.extend(["agrees".to_string(), "SumAvg, --symmetry off".to_string()]);
    let mut spread = Table::new(&columns(&["σ(−1)", "σ(0)", "σ(1)"]));
    let (mut unreduced, mut agreeing, mut plain, mut mistaken_rows) = (0, 0, 0, 0);
    for row in printed::fig1() {
        let name = format!("{}{}", row.protocol, if row.starred { "∗" } else { "" });
        let found = profile(work, &row, As::Is);
        let profile = match found {
            Ok(profile) => profile,
            Err(problem) => {
                table.row(vec![name, problem]);
                continue;
            }
        };
        let mistaken = profile.reduced.then(|| self::profile(work, &row, As::Fired));
        let mistaken = mistaken.and_then(Result::ok);
        let all_agree = |profile: &Profile| {
            let mut pairs = row.values.iter().zip(profile.values).take(6);
            pairs.all(|(p, ours)| agrees(ours, &p.text))
        };
        let all = all_agree(&profile);
        let repeated = mistaken.as_ref().is_some_and(all_agree);
        let verdict = match (all, repeated, profile.reduced) {
            (true, _, _) => "yes",
            (false, true, _) => "with the mistake",
            (false, false, true) => "no: scalarsets",
            (false, false, false) => "**no**",
        };
        mistaken_rows += usize::from(repeated);
        agreeing += usize::from(all);
        plain += usize::from(!profile.reduced);
        unreduced += usize::from(!all && !profile.reduced);
        let without = if !work.quick && profile.reduced && !row.starred {
            match self::profile(work, &row, As::Unreduced) {
                Ok(whole) if whole.scope != "part" => like(whole.values[6], &row.values[6].text),
                _ => "–".to_string(),
            }
        } else {
            "–".to_string()
        };
        table.row(
            std::iter::once(name.clone())
                .chain(
                    [0, 2, 4, 6]
                        .into_iter()
                        .flat_map(|at| cells(&row, &profile, mistaken.as_ref(), at)),
                )
                .chain([verdict.to_string(), without])
                .collect(),
        );
        let spreads = [1, 3, 5].into_iter();
        let spreads = spreads.flat_map(|at| cells(&row, &profile, mistaken.as_ref(), at));
        spread.row(std::iter::once(name).chain(spreads).collect());
    }
    work.report.table(table);
    work.report.table(spread);
    work.report.goal(
        "Cached-Murphi, Fig. 1: to the printed digits where symmetry plays no part",
        "",
        format!(
            "{agreeing} rows agree, {mistaken_rows} with the mistake; of {plain} rows without reduction, \
             {unreduced} do not"
        ),
        if plain == 0 { Met::Open } else { Met::when(unreduced == 0) },
    );
}

/// How a row is profiled.
#[derive(Clone, Copy, PartialEq)]
enum As {
    /// With exact symmetry.
    Is,
    /// Without.
    Unreduced,
    /// With the paper's normal form and its mistake.
    Fired,
}

fn profile(work: &mut Work, row: &Row, how: As) -> Result<Profile, String> {
    let file = printed::file_of(&row.protocol).ok_or("not available")?;
    let mut flags = Vec::new();
    if row.starred {
        flags.push("--until-violation".to_string());
    }
    match how {
        As::Is => {}
        As::Unreduced => {
            flags.extend(args("--symmetry off --max-states"));
            flags.push(UNREDUCED.to_string());
        }
        As::Fired => flags.extend(args("--symmetry cmurphi --look-up-first")),
    }
    work.ergodic.profile(file, &flags)
}

/// Printed, ours, ratio, and with the mistake.
fn cells(row: &Row, profile: &Profile, mistaken: Option<&Profile>, at: usize) -> [String; 4] {
    let Some(printed) = row.values.get(at) else { return [const { String::new() }; 4] };
    let ours = profile.values[at];
    let shown = |value: f64| like(value, &printed.text);
    let mistaken = mistaken.map_or("–".to_string(), |mistaken| shown(mistaken.values[at]));
    [printed.text.clone(), shown(ours), times(ratio(ours, printed.value)), mistaken]
}

/// Fig. 4: sizes, and the memory that Murphi needs.
pub fn fig4(work: &mut Work) {
    work.report.heading("Cached-Murphi, Fig. 4: sizes and minimum memory M(p)");
    work.report.text(
        "M(p) is the least memory in which Murphi 3.1 completes p. It makes room for N states and g·N places in \
         its queue; a state takes its bytes (bits rounded up to words of four bytes) and a word of four bytes, \
         or five bytes in all with hash compaction; a place in the queue is a pointer of four bytes. The least \
         N is the number of states and the least g·N the longest queue, so \
         **M(p) = states · (bytes + 4) + 4 · queue** with `-b` and **5 · states + 4 · queue** with `-b -c`. From \
         the paper's own counts that gives its kilobytes (rounded up; g was tried in coarse steps), and \
         m = 200, 150 and 130 MB in Fig. 7 are 5 + 4·0.1 bytes for each of SizeC entries. \
         So M(p) has room for just the reachable states, and a cache with α·M(p) has α·states entries. \
         Where our counts are smaller, it is because our canonical forms are exact, and the normal form of \
         the paper leaves some equivalent states apart.",
    );
    let mut counts = Table::new(&[
        "protocol",
        "bytes paper",
        "ours",
        "states paper",
        "ours",
        "ratio",
        "rules paper",
        "ours",
        "ratio",
        "queue paper",
        "ours",
        "ratio",
        "diameter paper",
        "ours",
    ]);
    let mut memory = Table::new(&[
        "protocol",
        "M -b paper (KB)",
        "by the formula",
        "from our counts",
        "ratio",
        "M -b -c paper (KB)",
        "by the formula",
        "from our counts",
        "ratio",
        "T -b paper (s)",
        "ours (s)",
        "ratio",
    ]);
    let (mut equal, mut rows) = (0, 0);
    for row in printed::fig4() {
        let ours = printed::file_of(&row.protocol)
            .ok_or_else(|| "not available".to_string())
            .and_then(|file| work.ergodic.in_memory(file, &[]));
        match ours {
            Ok(run) => {
                rows += 1;
                equal += usize::from(fig4_row(&row, &run, &mut counts, &mut memory));
            }
            Err(problem) => counts.row(vec![row.protocol.clone(), problem]),
        }
    }
    work.report.table(counts);
    work.report.table(memory);
    work.report.goal(
        "Cached-Murphi, Fig. 4: the paper's states, rules and diameter, or fewer by exact symmetry",
        "",
        format!("{equal} of {rows} rows"),
        if rows == 0 { Met::Open } else { Met::when(equal == rows) },
    );
}

/// Adds the rows of a protocol; returns whether its counts are the paper's, or smaller by symmetry.
fn fig4_row(row: &Row, run: &Run, counts: &mut Table, memory: &mut Table) -> bool {
    let value = |at: usize| row.values.get(at).map_or(0.0, |printed| printed.value);
    let text = |at: usize| row.values.get(at).map_or(String::new(), |printed| printed.text.clone());
    let whole = |at: usize| thousands(value(at) as u64);
    let part = |ours: u64, at: usize| match ratio(ours as f64, value(at)) {
        Some(1.0) => "1".to_string(),
        other => other.map_or("–".to_string(), |ratio| format!("{ratio:.4}")),
    };
    let bytes = state_bytes(run.state_bits);
    counts.row(vec![
        row.protocol.clone(),
        whole(0),
        bytes.to_string(),
        whole(1),
        thousands(run.states),
        part(run.states, 1),
        whole(2),
        thousands(run.transitions),
        part(run.transitions, 2),
        whole(3),
        thousands(run.max_frontier),
        part(run.max_frontier, 3),
        text(4),
        run.depth.to_string(),
    ]);
    let (printed_states, printed_queue) = (value(1) as u64, value(3) as u64);
    let ours = kilobytes(least_memory(run.states, bytes, run.max_frontier));
    let compacted = kilobytes(least_memory_compacted(run.states, run.max_frontier));
    memory.row(vec![
        row.protocol.clone(),
        whole(5),
        thousands(kilobytes(least_memory(printed_states, value(0) as u64, printed_queue))),
        thousands(ours),
        part(ours, 5),
        whole(8),
        thousands(kilobytes(least_memory_compacted(printed_states, printed_queue))),
        thousands(compacted),
        part(compacted, 8),
        text(7),
        format!("{:.4}", run.seconds),
        times(ratio(run.seconds, value(7))),
    ]);
    let same = run.states == printed_states && run.transitions == value(2) as u64;
    let fewer = run.states < printed_states && run.transitions < value(2) as u64;
    (same || fewer) && run.depth == value(4) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_printed_ours_and_ratio() {
        let rows = printed::fig4();
        let Some(row) = rows.iter().find(|row| row.protocol == "adash") else { return };
        let (mut counts, mut memory) = (Table::new(&["x"; 14]), Table::new(&["x"; 12]));
        let mut run = Run {
            states: 10_466,
            transitions: 137_708,
            depth: 37,
            max_frontier: 734,
            state_bits: 1126,
            ..Run::default()
        };
        assert!(fig4_row(row, &run, &mut counts, &mut memory));
        assert_eq!(counts.rows[0][1..6], ["144", "144", "10,466", "10,466", "1"]);
        assert_eq!(memory.rows[0][1..5], ["1,516", "1,516", "1,516", "1"]);
        run.states = 10_467;
        assert!(!fig4_row(row, &run, &mut counts, &mut memory));
    }

    #[test]
    fn figures_stand_in_neighbouring_columns() {
        let rows = printed::fig1();
        let profile = Profile {
            values: [0.0, 0.0, 0.0, 0.0, 0.919_780_2, 0.135_434, 0.919_780_2],
            ..Profile::default()
        };
        let mut mistaken = profile.clone();
        mistaken.values[4] = 0.958_173_8;
        let shown = cells(&rows[0], &profile, Some(&mistaken), 4);
        assert_eq!(shown, ["0.958174", "0.91978", "0.96", "0.958174"]);
        assert_eq!(cells(&rows[0], &profile, None, 0), ["0", "0", "1.00", "–"]);
    }
}
