//! Lets the extension link on macOS, where undefined symbols need the linker's consent.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
