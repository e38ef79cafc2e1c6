//! Checksummed frames: what stands in our files.
//!
//! A frame is a length (32 bits), a CRC-32 of the length and the payload, and the payload. Frames
//! follow each other without gaps, so a file can be read through, and each can be read alone from
//! its offset.

use crate::{DiskError, File};

/// Bytes before the payload.
pub const HEADER: usize = 8;
/// No payload is larger.
pub const MAX_PAYLOAD: usize = 1 << 30;

/// The checksum of a whole file, read piece by piece.
#[derive(Clone, Debug, Default)]
pub struct Checksum(crc32fast::Hasher);

impl Checksum {
    /// Takes the next piece.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The sum of all pieces.
    pub fn finish(self) -> u32 {
        self.0.finalize()
    }
}

fn checksum(len: [u8; 4], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&len);
    hasher.update(payload);
    hasher.finalize()
}

/// Fills in the header of a frame whose payload stands behind [`HEADER`] bytes of room.
///
/// # Panics
/// If there is no room for a header, or the payload is larger than [`MAX_PAYLOAD`].
pub fn seal(frame: &mut [u8]) {
    assert!(frame.len() >= HEADER && frame.len() - HEADER <= MAX_PAYLOAD, "a frame has a size");
    let (header, payload) = frame.split_at_mut(HEADER);
    let len = (payload.len() as u32).to_le_bytes();
    header[..4].copy_from_slice(&len);
    header[4..].copy_from_slice(&checksum(len, payload).to_le_bytes());
}

/// Appends a payload as a frame; returns its offset. `buffer` is working memory.
pub fn append(file: &File, payload: &[u8], buffer: &mut Vec<u8>) -> Result<u64, DiskError> {
    buffer.clear();
    buffer.resize(HEADER, 0);
    buffer.extend_from_slice(payload);
    seal(buffer);
    file.append(buffer)
}

/// Reads the frame at `offset` into `payload`; returns the offset behind it.
pub fn read(file: &File, offset: u64, payload: &mut Vec<u8>) -> Result<u64, DiskError> {
    let mut header = [0; HEADER];
    file.read_at(&mut header, offset)?;
    let len = [header[0], header[1], header[2], header[3]];
    let sum = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
    let size = u32::from_le_bytes(len) as usize;
    let end = offset + HEADER as u64 + size as u64;
    if size > MAX_PAYLOAD || end > file.len() {
        let text = format!("the frame at byte {offset} claims {size} bytes, more than there are");
        return Err(DiskError::damaged(file.path(), text));
    }
    payload.clear();
    payload.resize(size, 0);
    file.read_at(payload, offset + HEADER as u64)?;
    if checksum(len, payload) != sum {
        let text = format!("the checksum of the frame at byte {offset} is wrong");
        return Err(DiskError::damaged(file.path(), text));
    }
    Ok(end)
}

/// The payload of a frame that was read, header and all, from `offset` of `file` as part of
/// something larger. It is an error if `frame` is not exactly one good frame.
pub fn check<'a>(file: &File, offset: u64, frame: &'a [u8]) -> Result<&'a [u8], DiskError> {
    let damaged = |text: String| DiskError::damaged(file.path(), text);
    let Some((header, payload)) = frame.split_first_chunk::<HEADER>() else {
        return Err(damaged(format!("there is no whole frame at byte {offset}")));
    };
    let len = [header[0], header[1], header[2], header[3]];
    let sum = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
    if u32::from_le_bytes(len) as usize != payload.len() || checksum(len, payload) != sum {
        return Err(damaged(format!("the checksum of the frame at byte {offset} is wrong")));
    }
    Ok(payload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dir::copy;
    use crate::{Dir, Fault, Faulty, Trouble};
    use std::sync::Arc;

    fn on(fault: Option<Fault>) -> Dir {
        match fault {
            None => Dir::fresh(&std::env::temp_dir()).unwrap(),
            Some(fault) => {
                Dir::fresh_on(Arc::new(Faulty::new(fault)), &std::env::temp_dir()).unwrap()
            }
        }
    }

    fn payloads() -> Vec<Vec<u8>> {
        (0..200usize).map(|i| (0..i * 7).map(|b| (b * i) as u8).collect()).collect()
    }

    fn round_trip(dir: &Dir) -> Result<(), DiskError> {
        let file = dir.create("frames")?;
        let mut buffer = Vec::new();
        for payload in payloads() {
            append(&file, &payload, &mut buffer)?;
        }
        let mut at = 0;
        for expected in payloads() {
            at = read(&file, at, &mut buffer)?;
            assert_eq!(buffer, expected, "damaged data passed as good");
        }
        assert_eq!(at, file.len());
        Ok(())
    }

    #[test]
    fn frames_come_back() {
        round_trip(&on(None)).unwrap();
        round_trip(&on(Some(Fault::ShortWrites(3)))).unwrap();
        round_trip(&on(Some(Fault::ShortReads(1)))).unwrap();
    }

    #[test]
    fn faults_are_errors_never_data() {
        let error = round_trip(&on(Some(Fault::FullAfter(10_000)))).unwrap_err();
        assert_eq!(error.trouble, Trouble::Full);
        assert!(error.to_string().contains("another directory with --disk DIR"), "{error}");
        let elsewhere = on(Some(Fault::FullAfter(10_000))).called("--dir DIR");
        let error = round_trip(&elsewhere).unwrap_err().to_string();
        assert!(error.contains("another directory with --dir DIR"), "{error}");
        assert!(!error.contains("--disk"), "{error}");
        for number in 0..400 {
            // A flipped bit in an empty read changes nothing.
            if let Err(error) = round_trip(&on(Some(Fault::FlipOnRead(number)))) {
                assert_eq!(error.trouble, Trouble::Damaged, "{error}");
            }
        }
        assert!(round_trip(&on(Some(Fault::FlipOnRead(50)))).is_err());
        for number in [0, 7, 199] {
            round_trip(&on(Some(Fault::FailRead(number)))).unwrap_err();
            round_trip(&on(Some(Fault::FailWrite(number)))).unwrap_err();
        }
    }

    #[test]
    fn directories_are_removed_unless_kept() {
        let dir = on(None);
        let path = dir.path().to_owned();
        let file = dir.create("x").unwrap();
        drop(dir);
        assert!(path.exists(), "a file keeps its directory");
        drop(file);
        assert!(!path.exists());
        let dir = on(None);
        dir.keep();
        let path = dir.path().to_owned();
        dir.replace("name", b"one").unwrap();
        dir.replace("name", b"two").unwrap();
        drop(dir);
        assert_eq!(std::fs::read(path.join("name")).unwrap(), b"two");
        std::fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn files_go_from_one_directory_to_another() {
        let (one, two, three) = (on(None), on(None), on(None));
        let file = one.create("x").unwrap();
        file.append(b"hello").unwrap();
        file.share_with(two.path()).unwrap();
        let from = two.path().join(file.name());
        drop((file, one));
        let whole = three.adopt("y", &from).unwrap();
        let mut bytes = [0; 5];
        whole.read_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"hello");
        let missing = three.adopt("y", &two.path().join("z")).unwrap_err();
        assert_eq!(missing.trouble, Trouble::Missing);
        // A device without links, or another file system, makes copies.
        assert_eq!(copy(&three, &from, &three.create("z").unwrap(), u64::MAX).unwrap(), 5);
    }

    #[test]
    fn errors_name_the_place() {
        let error = Dir::fresh(std::path::Path::new("/proc/none")).unwrap_err();
        assert!(error.to_string().contains("/proc/none"), "{error}");
        let dir = on(None);
        let error = dir.open("nothing").unwrap_err();
        assert_eq!(error.trouble, Trouble::Missing);
    }
}
