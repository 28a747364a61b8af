/* Weights of symbolic: packed as the kernels read them, words of 32 bits, little endian. */
#include "symbolic_kernels.h"

#if defined __BYTE_ORDER__ && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the weights are little endian"
#endif

const union symbolic_weights_data symbolic_weights = {{
    0x45574e4eu, 0x54484749u, 0x00000001u, 0x00000001u, 0x00000080u, 0x00000000u, 0x1293312fu, 0xf964605eu,
    0x00000000u, 0x00000000u, 0x00000000u, 0x00000000u, 0x00000000u, 0x00000000u, 0x00000000u, 0x00000000u,
    0x3f800000u, 0x40000000u, 0x40400000u, 0x00000000u, 0x00000000u, 0x00000000u, 0x00000000u, 0x00000000u,
    0x00000000u, 0x00000000u, 0x00000000u, 0x00000000u, 0x00000000u, 0x00000000u, 0x00000000u, 0x00000000u,
}};
