//! Archives held against a log: their files, manifests and stubs.

use althing_kernel::Blob;
use althing_kernel::archive::{Number, is_archivable, may_be_archivable};
use sha2::Digest as _;
use std::collections::BTreeMap;

use crate::archive::{ArchiveRecord, Archives, Checked, Stage, check_files, damaged};
use crate::commit::Commit;
use crate::entry::Entry;
use crate::error::{LogError, LogErrorKind};
use crate::log::LogReader;
use crate::stub::Stub;

/// Bytes of a log to read at a time.
const READ_BYTES: usize = 4 << 20;

/// Stubs found in the store for one archive.
#[derive(Default)]
struct StubTally {
    stubs: sha2::Sha256,
    count: u64,
}

/// Reads every archive of a log and compares it with its manifest, and the stubs in the log with
/// both. The error names every missing archive.
pub fn inspect(log: &mut dyn LogReader, archives: &Archives) -> Result<Vec<Checked>, LogError> {
    let archive_records = log.archive_records()?;
    let mut found = Vec::with_capacity(archive_records.len());
    let mut missing: Vec<String> = Vec::new();
    for archive_record in &archive_records {
        match check_files(archives, archive_record) {
            Ok(checked) => found.push(checked),
            Err(error) if error.kind == LogErrorKind::ArchiveMissing => missing.push(error.message),
            Err(error) => return Err(error),
        }
    }
    if !missing.is_empty() {
        return Err(LogError::new(LogErrorKind::ArchiveMissing, missing.join("; ")));
    }
    let left = walk(log, &archive_records)?;
    for Checked { archive_record, manifest } in &found {
        // While entries are being moved, some lines are still in the store.
        if archive_record.stage == Stage::Moving {
            continue;
        }
        let left = left.get(&archive_record.number);
        let count = left.map_or(0, |left| left.count);
        let stubs = left.map_or_else(sha2::Sha256::new, |left| left.stubs.clone());
        let stubs = Blob::from_digest(stubs.finalize().into());
        if count != manifest.count || stubs != manifest.stubs {
            let message = "what stands in the store for its entries was changed";
            return Err(damaged(archive_record.number, message));
        }
    }
    Ok(found)
}

/// Walks all stubs of a log. A stub must match its entry, if that can still be read, and only
/// entries that may be archived have stubs.
fn walk(
    log: &mut dyn LogReader,
    archive_records: &[ArchiveRecord],
) -> Result<BTreeMap<Number, StubTally>, LogError> {
    let mut left: BTreeMap<Number, StubTally> = BTreeMap::new();
    let mut after = 0;
    loop {
        let raw = log.raw_tail(after, READ_BYTES)?;
        if raw.is_empty() {
            return Ok(left);
        }
        if !raw.iter().any(Commit::has_stubs) {
            after = raw.last().map_or(after, |commit| commit.last);
            continue;
        }
        // A compaction may replace more entries by stubs in between, but never the other way round.
        let full = log.tail(after, READ_BYTES)?;
        for (raw, full) in raw.iter().zip(&full) {
            after = raw.last;
            for ((seq, line), entry) in (raw.first..).zip(raw.slots()).zip(full.slots()) {
                if Stub::is_in(line) {
                    let stub = read(seq, line, entry)?;
                    let of_archive = left.entry(stub.archive).or_default();
                    of_archive.stubs.update(line.as_bytes());
                    of_archive.stubs.update(b"\n");
                    of_archive.count += 1;
                    is_known(log, archive_records, seq, &stub)?;
                }
            }
        }
    }
}

fn wrong(seq: u64, what: &str) -> LogError {
    LogError::new(LogErrorKind::Corrupt, format!("entry {seq}: {what}"))
}

fn read(seq: u64, line: &str, entry: &str) -> Result<Stub, LogError> {
    let stub = Stub::read(line).map_err(|error| wrong(seq, &error.to_string()))?;
    if Stub::is_in(entry) {
        let may = may_be_archivable(stub.kind);
        let what = "an entry of its kind is never archived";
        return if may { Ok(stub) } else { Err(wrong(seq, what)) };
    }
    let entry = Entry::read(entry).map_err(|error| wrong(seq, &error.to_string()))?;
    let fits = entry.seq == seq && Stub::of(stub.archive, &entry).as_ref() == Some(&stub);
    if fits && is_archivable(&entry.stamped.draft.event) {
        Ok(stub)
    } else {
        Err(wrong(seq, "what stands for it in the store is not what its archive says"))
    }
}

/// Whether the store knows the archive that a stub names. Asks again, since it may be new.
fn is_known(
    log: &mut dyn LogReader,
    archive_records: &[ArchiveRecord],
    seq: u64,
    stub: &Stub,
) -> Result<(), LogError> {
    let known = |archive_records: &[ArchiveRecord]| {
        archive_records.iter().any(|archive_record| archive_record.number == stub.archive)
    };
    if known(archive_records) || known(&log.archive_records()?) {
        return Ok(());
    }
    let what =
        format!("it is said to be in archive {}, which the store does not know", stub.archive);
    Err(wrong(seq, &what))
}
