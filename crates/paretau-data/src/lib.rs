//! From files to tables, from tables to designs, and simulators that make both.
//!
//! The way through: [`read`] (or [`BatchReader`], in constant memory) gives a [`Table`] of named columns;
//! [`assign`] gives its columns their roles and takes the truth out; an [`Encoder`], fitted on training
//! rows only and stored with the model, turns feature columns into the matrix that a learner can take.
//! [`TableWriter`] writes results. [`SIMULATORS`] lists the processes with a known truth.

mod blocks;
mod calendar;
pub mod catalog;
mod encoder;
mod fold;
mod interner;
mod join;
mod numbers;
mod profile;
mod read;
mod roles;
pub mod simulate;
mod table;
mod wire;
mod write;

pub use blocks::{BlockFacts, Census, ForestFacts, RowBlocks, SAMPLED_ROWS, ScratchFile};
pub use calendar::format_iso as iso_date;
pub use catalog::{DATASETS, Dataset, data_folder};
pub use encoder::{Encoder, EncoderPolicy, TransformReport};
pub use numbers::{Numbers, NumbersIter};
pub use profile::{ColumnProfile, profile};
pub use read::{
    BadMark, BatchReader, DataFiles, DateOrder, Format, Notation, Part, Position, ReadOptions, Watch,
    default_max_memory, news_files, read, read_stream, read_watched,
};
pub use roles::{Assigned, LeftOut, RoleSpec, arms_of, assign, assign_all_arms, parse_list};
pub use simulate::{SIMULATORS, Simulated, Simulator, simulator};
pub use table::{ColumnData, Doubt, Field, FilePart, Kind, Reading, Source, SparseBlock, Table, TableColumn, Text};
pub use wire::{from_ipc, tables_to_ipc, to_ipc};
pub use write::{TableWriter, check_writable, write_atomically, write_table};
