//! The figures: how long decisions take, how requests end, how many are open, over a range of time.
//!
//! Read `chosen` first, the range and the filters of the address; then `reading`, which requests
//! are counted and which are left out; `numbers`, what is computed of them; and `show`, the page
//! with its charts and tables. `chart` draws, and knows nothing of requests.

mod chart;
mod chosen;
mod numbers;
mod reading;
mod show;
mod tables;
mod times;

pub(crate) use show::show;
