/* The names of the loops and buffers that strategies make, by purpose; they are spelled only here. A loop that is one
 * of several of its kind, or belongs to a copy, is prefixed or suffixed (loop_in). The digits of tiles on GPUs all are,
 * and are named in gpu_product.c and gpu_warp.c. */
#ifndef NN_LOWER_SCHEDULE_ROLES_H
#define NN_LOWER_SCHEDULE_ROLES_H
// clang-format off
#define ROLES(X) \
    /* a result, and what reads it in tiles */ \
    X(panels,        "yo",     "panels of lanes of the result") \
    X(panel_cell,    "yi",     "cells of a panel") \
    X(row_tiles,     "wo",     "tiles of rows") \
    X(tile_row,      "wi",     "rows of a tile") \
    X(row_groups,    "ho",     "groups of rows that share a panel") \
    X(group_row,     "hi",     "rows of a group") \
    X(out_vectors,   "yj",     "vectors of a tile that is stored") \
    X(out_lane,      "yv",     "their lanes") \
    X(stored_pieces, "sj",     "pieces of a panel that lie side by side in the result") \
    X(stored_lane,   "sv",     "cells of a piece") \
    X(panel_groups,  "yg",     "groups of what is summed, in panels of its factor") \
    X(channels,      "cb",     "blocks of channels") \
    X(channel,       "cv",     "channels of a block") \
    X(narrow,        "less",   "before loops of the copy for fewer cells than a vector has") \
    X(lone,          "one",    "before loops of the copy for a single row") \
    /* a sum */ \
    X(chunks,        "kq",     "chunks of the sum, whose partial sums wait in the result") \
    X(blocks,        "kb",     "blocks of the sum") \
    X(block_cells,   "kg",     "cells of a block, of which an instruction takes several") \
    X(straight,      "ki",     "steps of a block, of which some are written out") \
    X(steps,         "ko",     "iterations of the innermost loop that stays one; on GPUs: tiles of the sum") \
    X(unrolled,      "ku",     "steps of an iteration") \
    X(group_parts,   "kp",     "parts of what one instruction takes, whose cells lie side by side") \
    X(group_cell,    "kk",     "cells that one instruction multiplies and adds") \
    X(sum_vectors,   "aj",     "vectors of accumulators") \
    X(sum_lane,      "av",     "their lanes") \
    /* cells and rows */ \
    X(flat,          "flat",   "innermost axes that are one in memory") \
    X(cells,         "cells",  "vectors of cells that lie side by side, tiles of those that are read across") \
    X(lane,          "lane",   "cells of a vector") \
    X(part,          "part",   "parts of an axis: pieces, or as long as a step of an operand that is read across") \
    X(along,         "along",  "cells of a part") \
    X(strips,        "strips", "strips of the axis along which cells of an operand lie side by side") \
    X(strip,         "strip",  "cells of a strip") \
    X(few,           "few",    "cells of a tile that is read across") \
    X(rows,          "rows",   "vectors of rows") \
    X(part_vectors,  "u",      "vectors of partial sums, in the loops of a stage") \
    X(part_lane,     "v",      "their lanes") \
    X(grid_block,    "block",  "blocks of threads, in the loops of a stage or nest") \
    X(grid_thread,   "thread", "threads of a block") \
    X(tiles,         "t",      "tiles of a transform, along the axis whose number follows") \
    X(tile_cell,     "p",      "cells of such a tile") \
    X(tile_phase,    "f",      "phases, between whose cells those of the others lie") \
    /* buffers */ \
    X(sum,           "acc",    "the accumulators of a sum that is the result itself") \
    X(tile,          "tile",   "what follows a sum, in lanes, before it is stored") \
    X(turned,        "turned", "before the name of an operand, squares of which are transposed") \
    X(partial,       "part",   "partial sums, before the number of their stage") \
    X(halved,        "lanes",  "one vector of partial sums, before the number of their stage")

struct roles {
#define ROLE(member, name, meaning) const char *member;
    ROLES(ROLE)
#undef ROLE
};
// clang-format on
extern const struct roles role;
#endif
