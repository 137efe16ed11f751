//! Readers from files to tables and from tables to designs; simulators
