//! The arguments of `althing rules` and `conformance`.

use clap::Args;

/// Arguments of `rules`.
#[derive(Debug, Args)]
pub(crate) struct Rules {
    /// A rule's id, such as A-LEASE-01.
    pub(crate) id: Option<String>,
}

/// Arguments of `conformance`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each requirement of WACP stands with the tests that show it, or with the reason why there is none.
In the project's own folder `cargo xtask conformance` adds how each test came out.

Examples:
  althing conformance                              all, and a sum per level
  althing conformance --level 1 --summary          counts, and every deviation")]
pub(crate) struct Conformance {
    /// Only requirements up to this level of the protocol: 1, 2 or 3.
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=3))]
    pub(crate) level: u8,
    /// Only the numbers and the deviations.
    #[arg(long)]
    pub(crate) summary: bool,
}
