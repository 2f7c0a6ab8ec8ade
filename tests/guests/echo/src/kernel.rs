//! A numeric kernel over plain slices, so that a benchmark can include this file and run it outside the sandbox.

/// `out = sqrt((a² + b²) · (1 + a·b/7)² + 1) − (3a³ − 2b² + a)/1024`, row by row.
///
/// # Panics
/// On slices of different lengths.
pub fn kernel(a: &[f64], b: &[f64], out: &mut [f64]) {
    assert!(a.len() == b.len() && a.len() == out.len());
    for ((a, b), out) in a.iter().zip(b).zip(out) {
        let scale = 1.0 + a * b / 7.0;
        let polynomial = (3.0 * a * a + 1.0) * a - 2.0 * b * b;
        *out = ((a * a + b * b) * scale * scale + 1.0).sqrt() - polynomial / 1024.0;
    }
}
