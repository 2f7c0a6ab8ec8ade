//! Rows of a Postgres server. A table or query is described before it is run; its rows are read in one read-only transaction, as a
//! stream that waits for whoever takes them. The only place that names the driver.
//!
//! No caller has to be in a runtime, nor out of one: each connection has a thread of its own.

mod arrays;
mod asking;
mod cells;
mod connect;
mod describe;
mod failure;
mod making;
mod numeric;
mod reading;
mod select;
mod snapshot;
mod thread;
mod tls;
mod types;

pub use self::asking::Where;
pub use self::describe::Column;
pub use self::describe::Described;
pub use self::describe::describe;
pub use self::reading::Reading;
pub use self::reading::Rows;
pub use self::snapshot::Snapshot;
pub use self::types::Cell;
pub use self::types::Found;
