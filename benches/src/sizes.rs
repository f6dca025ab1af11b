//! How large the measured inputs are.

use clap::Args;

/// Sizes, and who takes part.
#[derive(Args, Clone, Debug)]
pub struct Sizes {
    /// msm (in G1) and ntt: sizes, as powers of two [default: 16,18,20; with --check those that have goals]
    #[arg(long, value_delimiter = ',', value_name = "LOG,…")]
    sizes: Option<Vec<u32>>,
    /// msm in G2: sizes, as powers of two [default: 15; none where --sizes is given]
    #[arg(long, value_delimiter = ',', value_name = "LOG,…")]
    sizes_g2: Option<Vec<u32>>,
    /// Without peers.
    #[arg(long)]
    pub alone: bool,
    /// Whether goals are judged: the default sizes are then those that have goals.
    #[arg(skip)]
    check: bool,
}

impl Sizes {
    /// With the sizes that have goals by default, where goals are judged.
    pub fn judged(self, check: bool) -> Sizes {
        Sizes { check, ..self }
    }

    fn or(&self, judged: &[u32], shown: &[u32]) -> Vec<u32> {
        match &self.sizes {
            Some(sizes) => sizes.clone(),
            None if self.check => judged.to_vec(),
            None => shown.to_vec(),
        }
    }

    /// Of multiplications in G1.
    pub fn g1(&self) -> Vec<u32> {
        self.or(&[18, 22], &[16, 18, 20])
    }

    /// Of multiplications in G2.
    pub fn g2(&self) -> Vec<u32> {
        match (&self.sizes_g2, &self.sizes) {
            (Some(sizes), _) => sizes.clone(),
            (None, Some(_)) => Vec::new(),
            (None, None) => vec![15],
        }
    }

    /// Of transforms.
    pub fn ntt(&self) -> Vec<u32> {
        self.or(&[20, 22], &[18, 20, 22])
    }
}
