//! What a part of a search holds, as records of words: so it goes into a checkpoint and comes back.
//!
//! Whoever saves a search knows no store and no reduction. A part that cannot give its states back
//! hands out records instead, and takes them back in the same order. The first record is a *head*: the
//! kind of the part and its numbers, which say all that is to be known about its size, so that it
//! comes back as it was, whatever memory there is then. The others hold *tables*, as runs of words;
//! zeros are left out, because tables can be large and nearly empty.
//!
//! Files, checksums and versions are not known here: what comes back is what was handed out, or it
//! is of another part. Taking a record back must not panic, whatever it holds.

/// Takes the records of a part.
pub type Put<'a> = dyn FnMut(&[u64]) -> Result<(), String> + 'a;

/// Words of a record, about.
const RECORD_WORDS: usize = 1 << 16;
/// Words that are left out together, if all are zero.
const GROUP: usize = 8;

/// A record that came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// The numbers of the part.
    Head(&'a [u64]),
    /// Runs of a table, for [`take_table`]; and which table it is.
    Table(usize, &'a [u64]),
}

/// What a head begins with, and the number of the first table.
const HEAD: u64 = 0;
const FIRST_TABLE: u64 = 1;

/// The name of a kind as a word; names have at most eight letters.
fn word(kind: &str) -> u64 {
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(kind.bytes()).for_each(|(to, from)| *to = from);
    u64::from_le_bytes(bytes)
}

/// Hands out the head of a part.
pub fn put_head(kind: &str, numbers: &[u64], put: &mut Put<'_>) -> Result<(), String> {
    put(&[&[HEAD, word(kind)], numbers].concat())
}

/// Hands out a table of `len` words.
pub fn put_table(
    table: usize,
    len: usize,
    word: impl Fn(usize) -> u64,
    put: &mut Put<'_>,
) -> Result<(), String> {
    let begin = vec![table as u64 + FIRST_TABLE];
    let mut record = begin.clone();
    // Where the number of words of the last run stands.
    let mut run = None;
    for start in (0..len).step_by(GROUP) {
        let end = len.min(start + GROUP);
        if (start..end).all(|i| word(i) == 0) {
            run = None;
            continue;
        }
        let count = *run.get_or_insert_with(|| {
            record.extend([start as u64, 0]);
            record.len() - 1
        });
        record.extend((start..end).map(&word));
        record[count] += (end - start) as u64;
        if record.len() >= RECORD_WORDS {
            put(&record)?;
            record.clone_from(&begin);
            run = None;
        }
    }
    if record.len() > begin.len() { put(&record) } else { Ok(()) }
}

/// What a record of a part of this kind is.
pub fn parse<'a>(kind: &str, record: &'a [u64]) -> Result<Record<'a>, String> {
    match record {
        [HEAD, found, numbers @ ..] if *found == word(kind) => Ok(Record::Head(numbers)),
        [HEAD, found, ..] => {
            let name = found.to_le_bytes().map(|b| if b.is_ascii_graphic() { b } else { b' ' });
            let name = String::from_utf8_lossy(&name).trim().to_string();
            Err(format!("it was saved with another kind of table (\"{name}\", not \"{kind}\")"))
        }
        [table, runs @ ..] if *table >= FIRST_TABLE => {
            Ok(Record::Table((*table - FIRST_TABLE) as usize, runs))
        }
        _ => Err(SENSELESS.to_string()),
    }
}

/// What is wrong with a record that nobody can have handed out.
pub const SENSELESS: &str = "a record of its table makes no sense";

/// Calls `set` with place and value of the words of a table of `len` words, but for zeros that were left
/// out. A word that `set` does not take is an error.
pub fn take_table(
    mut runs: &[u64],
    len: usize,
    mut set: impl FnMut(usize, u64) -> bool,
) -> Result<(), String> {
    let mut take = || {
        while let Some((&[start, count], rest)) = runs.split_first_chunk::<2>() {
            let (start, count) = (usize::try_from(start).ok()?, usize::try_from(count).ok()?);
            let (words, rest) = rest.split_at_checked(count)?;
            if start.checked_add(count)? > len {
                return None;
            }
            let taken = words.iter().enumerate().all(|(i, word)| set(start + i, *word));
            runs = if taken { rest } else { return None };
        }
        runs.is_empty().then_some(())
    };
    take().ok_or_else(|| SENSELESS.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(words: &[u64]) -> Vec<Vec<u64>> {
        let mut records = Vec::new();
        let put: &mut Put<'_> = &mut |record| {
            records.push(record.to_vec());
            Ok(())
        };
        put_head("counts", &[7, 8], put).unwrap();
        put_table(3, words.len(), |i| words[i], put).unwrap();
        records
    }

    fn back(records: &[Vec<u64>], len: usize) -> Result<Vec<u64>, String> {
        let mut words = vec![0; len];
        for record in records {
            match parse("counts", record)? {
                Record::Head(numbers) => assert_eq!(numbers, [7, 8]),
                Record::Table(3, runs) => take_table(runs, len, |i, word| {
                    words[i] = word;
                    true
                })?,
                Record::Table(..) => return Err("another table".to_string()),
            }
        }
        Ok(words)
    }

    #[test]
    fn tables_come_back_and_zeros_take_no_room() {
        let sparse =
            |step: u64| (0..300_003).map(move |i| i * u64::from(u64::is_multiple_of(i, step)));
        for words in [
            Vec::new(),
            vec![0; 100],
            vec![5],
            sparse(1).collect(),
            sparse(7).collect(),
            sparse(1000).collect(),
        ] {
            let records = records(&words);
            assert_eq!(back(&records, words.len()).unwrap(), words);
            let written: usize = records.iter().map(Vec::len).sum();
            let groups = words.chunks(GROUP).filter(|group| group.iter().any(|w| *w != 0)).count();
            assert!(written <= 100 + groups * (GROUP + 2), "{written} words for {groups} groups");
            assert!(records.iter().all(|record| record.len() <= RECORD_WORDS + GROUP + 2));
        }
    }

    #[test]
    fn what_nobody_handed_out_is_refused() {
        let good = records(&[1; 50]);
        for bad in
            [&[][..], &[1, 40, 11], &[4, 0, 60], &[4, u64::MAX, 1, 1], &[4, 3], &[4, 49, 2, 1, 1]]
        {
            let result = back(&[good[0].clone(), bad.to_vec()], 50);
            assert!(result.is_err(), "{bad:?}");
        }
        assert!(take_table(&[0, 1, 9], 50, |_, word| word != 9).is_err());
        let why = parse("bits", &good[0]).unwrap_err();
        assert!(why.contains("\"counts\", not \"bits\""), "{why}");
    }
}
