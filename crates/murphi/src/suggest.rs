//! The name that was probably meant.

/// The candidate nearest to a misspelled name, if one is near enough.
pub(crate) fn nearest<'a>(
    wrong: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let limit = (wrong.chars().count() / 3).max(1);
    candidates
        .filter(|c| *c != wrong)
        .map(|c| (distance(wrong, c), c))
        .filter(|(d, _)| *d <= limit)
        .min()
        .map(|(_, c)| c)
}

/// How many insertions, deletions, replacements and swaps of neighbours turn one name into the
/// other; letters that differ in case only count as one step for the whole name.
fn distance(a: &str, b: &str) -> usize {
    if a.eq_ignore_ascii_case(b) {
        return 1;
    }
    let a: Vec<char> = a.chars().take(64).collect();
    let b: Vec<char> = b.chars().take(64).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        let names = || ["Node", "Home", "value", "ValueCount"].into_iter();
        assert_eq!(nearest("Nodes", names()), Some("Node"));
        assert_eq!(nearest("VALUE", names()), Some("value"));
        assert_eq!(nearest("Hoem", names()), Some("Home"));
        assert_eq!(nearest("ValeuCont", names()), Some("ValueCount"));
        assert_eq!(nearest("xyz", names()), None);
        assert_eq!(nearest("", names()), None);
    }
}
