//! A person decides: who is asked what, by which door the answer comes, and what the model hears
//! meanwhile.

mod asking;
mod desk;
mod gates;
mod withholding;
