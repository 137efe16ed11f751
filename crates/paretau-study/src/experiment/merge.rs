//! Records of several folders, of shards that ran on several machines say, put together in a new one.

use std::path::{Path, PathBuf};

use paretau_core::{Error, Event, Observer, Result};

use super::cell::{Cell, Shard};
use super::plan::Plan;
use super::records::{Record, StudyRecords, read};
use super::results::{PLAN, check_folder, write, write_plan};
use super::runner::RunReport;

/// Puts the records of the folders into `out`, a folder without a run, and writes its tables. Folders of different plans are
/// refused; the same cell in two folders must have the same scores.
pub fn merge(folders: &[PathBuf], out: &Path, observer: &dyn Observer) -> Result<RunReport> {
    let mut plan: Option<(Plan, &Path)> = None;
    let mut records: Vec<(Record, &Path)> = vec![];
    let mut places = std::collections::HashMap::new();
    for folder in folders {
        let path = folder.join(PLAN);
        let text = std::fs::read_to_string(&path).map_err(|source| Error::Io { path: path.clone(), source })?;
        let own = Plan::parse(&text, &path)?;
        match &plan {
            Some((first, place)) if *first != own => {
                return Err(Error::unfit(format!(
                    "{} and {} are runs of different plans and cannot be merged",
                    place.display(),
                    folder.display()
                )));
            }
            Some(_) => {}
            None => plan = Some((own, folder)),
        }
        let lines = read(folder)?;
        for message in lines.damaged {
            observer.event(&Event::Note { message });
        }
        for record in lines.records {
            let Some(&at) = places.get(&record.key) else {
                places.insert(record.key.clone(), records.len());
                records.push((record, folder));
                continue;
            };
            let (earlier, place): &(Record, &Path) = &records[at];
            match (&earlier.error, &record.error) {
                (Some(_), None) => records[at] = (record, folder),
                (None, None) if earlier.scores != record.scores || earlier.rows != record.rows => {
                    return Err(Error::unfit(format!(
                        "{} and {} hold different scores of one cell ({}): their data differ",
                        place.display(),
                        folder.display(),
                        record.key
                    )));
                }
                _ => {}
            }
        }
    }
    let Some((plan, _)) = plan else { return Err(Error::unfit("name at least one folder of a run")) };
    check_folder(&plan, out)?;
    let cells = Cell::all(&plan);
    let mut study = StudyRecords::open(out, false, Shard::WHOLE, &cells)?;
    write_plan(&plan, out)?;
    for (record, _) in records {
        study.append(record)?;
    }
    let all = study.of(&cells);
    write(&plan, &all, out)?;
    let failed = all.iter().filter(|record| record.error.is_some()).count();
    Ok(RunReport { cells: cells.len(), done: all.len(), kept: 0, failed })
}
