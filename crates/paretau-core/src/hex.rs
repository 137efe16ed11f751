//! Bytes as text.

/// Bytes as hexadecimal digits, two per byte: digests in file names and model files.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_digits_per_byte() {
        assert_eq!(hex(&[0, 10, 255]), "000aff");
    }
}
