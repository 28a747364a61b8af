//! `@NAME@`, a neural network made by gcc2nn: the structures of `nn_model.h`, which says what they mean, and the function
//! that gives this model's. All of it is unsafe and the caller's duty, as in C; a model of another library has the same
//! structures.
#![no_std]
#![allow(non_camel_case_types)]
use core::ffi::{c_char, c_int, c_void};

pub const GCC2NN_RANK: usize = 32;
pub const GCC2NN_DEVICE: i32 = 1;
pub const GCC2NN_REGION: i32 = 2;
pub const GCC2NN_THREADS: i32 = 4;
/// Arena and weights are aligned to so many bytes.
pub const NN_ALIGN: usize = 64;

pub const NN_OK: c_int = 0;
pub const NN_EARG: c_int = 1;
pub const NN_EARENA: c_int = 2;
pub const NN_EDIMS: c_int = 3;
pub const NN_EFAULT: c_int = 4;
pub const NN_EFUEL: c_int = 5;
pub const NN_ECAP: c_int = 6;
pub const NN_EWEIGHTS: c_int = 7;
pub const NN_EDEVICE: c_int = 8;
pub const NN_ETARGET: c_int = 9;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nn_error {
    pub what: *const c_char,
    pub location: *const c_char,
    pub need: usize,
    pub values: [i64; 2],
}

/// An element of a string tensor.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nn_str {
    pub p: *const c_char,
    pub n: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gcc2nn_dim_v1 {
    pub size: i64,
    pub symbol: i64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gcc2nn_tensor_v1 {
    pub name: *const c_char,
    pub shape: *const c_char,
    /// ONNX's number of it.
    pub dtype: i32,
    pub element: i32,
    pub rank: i32,
    pub found: i32,
    pub next: i32,
    pub dims: *const gcc2nn_dim_v1,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gcc2nn_symbol_v1 {
    pub name: *const c_char,
    pub least: i64,
    pub most: i64,
    pub typical: i64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gcc2nn_config_v1 {
    pub arena: *mut c_void,
    pub arena_size: usize,
    pub weights: *const c_void,
    pub weights_size: usize,
    pub max_iterations: i64,
    pub grow: Option<unsafe extern "C" fn(*mut c_void, usize, *mut *mut c_void, *mut usize) -> c_int>,
    pub user: *mut c_void,
    pub threads: *mut c_void,
    pub stream: *mut c_void,
    pub without: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gcc2nn_result_v1 {
    pub data: *mut c_void,
    pub capacity: usize,
    pub dims: [i64; GCC2NN_RANK],
}

#[repr(C)]
pub struct gcc2nn_model_v1 {
    pub name: *const c_char,
    pub target: *const c_char,
    pub compiler: *const c_char,
    pub source: *const c_char,
    pub hash: *const c_char,
    pub inputs: i32,
    pub outputs: i32,
    pub symbols: i32,
    pub flags: i32,
    pub input: *const gcc2nn_tensor_v1,
    pub output: *const gcc2nn_tensor_v1,
    pub symbol: *const gcc2nn_symbol_v1,
    pub context_bytes: usize,
    pub weights_bytes: usize,
    pub arena: unsafe extern "C" fn(*const i64, *mut usize) -> c_int,
    pub input_dims: unsafe extern "C" fn(i32, *const i64, *mut i64) -> c_int,
    pub output_dims: unsafe extern "C" fn(i32, *const i64, *mut i64) -> c_int,
    pub init: unsafe extern "C" fn(*mut c_void, *const gcc2nn_config_v1) -> c_int,
    pub run: unsafe extern "C" fn(*mut c_void, *const i64, *const *const c_void, *mut gcc2nn_result_v1) -> c_int,
    pub variant: unsafe extern "C" fn(*const c_void) -> c_int,
    pub error: unsafe extern "C" fn(*const c_void, *mut nn_error),
    pub status_text: unsafe extern "C" fn(c_int) -> *const c_char,
    pub close: unsafe extern "C" fn(*mut c_void),
}

extern "C" {
    pub fn @NAME@_info() -> *const gcc2nn_model_v1;
    pub fn @NAME@_sizeof() -> usize;
}
