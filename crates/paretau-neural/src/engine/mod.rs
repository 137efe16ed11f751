//! The engine: layers with explicit forward and backward passes, an optimiser, and nothing that knows of treatments.
//!
//! A pass writes into buffers that live as long as the training run, so that a step in full swing allocates nothing.
//! Work is cut by shape alone, so that every number of threads gives the same bits.

pub mod activation;
pub mod adam;
mod batch_norm;
pub mod dropout;
pub mod input;
mod layer_norm;
pub mod layout;
pub mod mode;
pub mod net;
mod norm;
pub mod pass;

pub use activation::Activation;
pub use adam::{Adam, AdamRates};
pub use dropout::Dropout;
pub use input::{Input, InputWork};
pub use layout::{Block, Kind, Layout, Move};
pub use mode::Mode;
pub use net::{Net, NetShape, NetWork};
pub use norm::Norm;
