//! Builds lib@NAME@.a in Cargo's folder by the Makefile beside this file; CC and CFLAGS are those of the environment.
use std::{env, process::Command};

fn main() {
    let source = env::var("CARGO_MANIFEST_DIR").expect("cargo names the folder");
    let out = env::var("OUT_DIR").expect("cargo names a folder for what is built");
    let done = Command::new("make")
        .args(["-f", &format!("{source}/Makefile"), &format!("SRC={source}"), "lib@NAME@.a"])
        .env_remove("MAKEFLAGS")
        .env_remove("MAKELEVEL")
        .current_dir(&out)
        .status()
        .expect("make, which builds the library, cannot be started");
    assert!(done.success(), "make could not build lib@NAME@.a");
    println!("cargo:rustc-link-search=native={out}");
    println!("cargo:rustc-link-lib=static=@NAME@");
    println!("cargo:rustc-link-lib=m");
    println!("cargo:rerun-if-changed=@NAME@.c");
    println!("cargo:rerun-if-changed=manifest.json");
}
