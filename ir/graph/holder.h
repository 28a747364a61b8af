/* Sequences, optionals and maps that a model takes or gives. In both IRs the tensors that they hold stand for them, as
 * parameters and results of their own (docs/adr/0005); what is said here is which of those belong together. */
#ifndef NN_IR_HOLDER_H
#define NN_IR_HOLDER_H
#include "ir/base/text.h"
#include "ir/base/vec.h"
#include <stdbool.h>

/* What one input or output of a model is. A map is two tensors, keys [n] and values [n]; maps, a sequence of such with
 * the same keys, are keys [n] and values [count,n]. Keys that the model gives ascend. */
enum value_kind {
    VALUE_TENSOR,
    VALUE_SEQUENCE,
    VALUE_OPTIONAL,
    VALUE_OPTIONAL_SEQUENCE,
    VALUE_MAP,
    VALUE_MAPS,
    VALUE_KINDS
};
const char *value_kind_name(enum value_kind k); /* "sequence", "optional_sequence" */
bool value_kind_is_map(enum value_kind k);      /* or several */
/* What the i-th tensor of such a value is called where the whole is called `name`: name_0, or name_keys. */
const char *value_part(struct interner *in, const char *name, enum value_kind k, int i);

enum { HOLDER_MAX = 1024 }; /* tensors of one */
struct holder {
    const char *name;
    enum value_kind kind; /* TENSOR only in lists of all inputs or outputs */
    bool present;         /* false: an optional that holds nothing */
    bool packed;  /* a sequence whose length the run finds, as two tensors: the cells of all elements, one behind
                     the other, and their shapes, i64[count, rank] */
    bool asked;   /* an optional of which the run knows whether it is there, says the first of its tensors, a bool */
    int first, n; /* its tensors, among the inputs or the outputs */
};
/* In the model's order: `first` never falls, and nothing belongs to two. */
typedef struct {
    struct holder *v;
    int n, cap;
} holders;

/* What a model keeps from one run to the next: an input, the output that is its next value, and what it is before the
 * first run (NULL: zeros; one element stands for all). The caller hands it on; `run` and `verify` begin with the first
 * value. */
struct tensor;
struct state {
    int input, output;
    const struct tensor *init;
};
typedef struct {
    struct state *v;
    int n, cap;
} states;

/* Is h sound for a program of n inputs, or outputs? */
bool holders_fit(const holders *h, int n);
/* One line each, as both texts have it: `takes sequence "x" 2 at 0`; instead of the count `none` for what is not there,
 * and `packed`; in front of it `maybe` for what is asked. word: takes or gives. */
void holders_print(struct text *out, const char *word, const holders *h, void (*quoted)(struct text *t, const char *s));
#endif
