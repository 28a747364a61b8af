/* Non-maximum suppression after a detector: of overlapping boxes, the one with the greatest score is kept. See
 * surgeon.h. */
#include "compiler/surgeon.h"
#include <math.h>
#include <string.h>

/* "boxes=NAME,scores=NAME,iou=0.5,score=0.25,max=100,format=xyxy"; omitted values are NULL. */
enum { BOXES, SCORES, IOU, SCORE, MAX, FORMAT, KEYS };
static const char *const keys[] = {"boxes", "scores", "iou", "score", "max", "format"};
struct wish {
    const char *text[KEYS];
};
static const char *const option = "nms";

static int key_at(const char *s, size_t *n) {
    for (int k = 0; k < KEYS; k++) {
        *n = strlen(keys[k]);
        if (!strncmp(s, keys[k], *n) && s[*n] == '=') return k;
    }
    return -1;
}
/* Up to the comma before the next key: names of models may contain commas. */
static const char *value_end(const char *s) {
    size_t n;
    const char *comma = strchr(s, ',');
    while (comma && key_at(comma + 1, &n) < 0) comma = strchr(comma + 1, ',');
    return comma ? comma : s + strlen(s);
}
static bool parse(struct surgery *s, const char *word, struct wish *w) {
    *w = (struct wish){0};
    for (const char *at = word, *end; *at; at = end + (*end == ',')) {
        size_t n;
        int k = key_at(at, &n);
        if (k < 0)
            return surgery_wrong(s, option,
                                 "`%s` does not begin with one of boxes= scores= iou= score= max= format=", at);
        if (w->text[k]) return surgery_wrong(s, option, "%s is given twice", keys[k]);
        end = value_end(at + n + 1);
        w->text[k] = internn(s->c->names, at + n + 1, (size_t)(end - at) - n - 1);
    }
    if (w->text[BOXES] && w->text[SCORES]) return true;
    surgery_wrong(s, option, "it needs boxes=OUTPUT and scores=OUTPUT");
    diag_help(&s->c->diags, "such as --nms=boxes=boxes,scores=scores,iou=0.5,score=0.25,max=100");
    return false;
}
static bool share(struct surgery *s, const struct wish *w, int key, double otherwise, double *v) {
    const char *text = w->text[key], *end = text;
    *v = text ? text_read_f64(text, &end) : otherwise;
    if (!text || (end != text && !*end && *v >= 0 && *v <= 1)) return true;
    return surgery_wrong(s, option, "%s=%s is not a number from 0 to 1", keys[key], text);
}

/* ---- boxes as [batch, n, 4], scores as [batch, classes, n] */
static struct value *op(struct surgery *s, const char *name, struct value *a, struct value *b) {
    return surgery_node(s, option, name, (struct value *[]){a, b}, b ? 2 : 1)->outs.v[0];
}
static struct value *turned(struct surgery *s, struct value *v) { /* exchanges axes 1 and 2 */
    static const int64_t perm[] = {0, 2, 1};
    struct value *y = op(s, "Transpose", v, NULL);
    node_set_attr(y->def, (struct attr){.name = "perm", .kind = AT_INTS, .n = 3, .u.is = perm});
    const expr dims[] = {v->type.dims[0], v->type.dims[2], v->type.dims[1]};
    y->type = type_tensor(s->c, v->type.dtype, dims, 3);
    return y;
}
/* Inserts an axis of 1 in front of axis `at`. */
static struct value *deeper(struct surgery *s, struct value *v, int64_t at) {
    struct value *y = op(s, "Unsqueeze", v, graph_ints(s->g, &at, 1));
    expr dims[4];
    for (int k = 0, from = 0; k < v->type.rank + 1; k++) dims[k] = k == at ? x_int(s->c, 1) : v->type.dims[from++];
    y->type = type_tensor(s->c, v->type.dtype, dims, v->type.rank + 1);
    return y;
}
static bool is_floats(struct surgery *s, const struct value *v, const char *name) {
    const struct type *t = &v->type;
    if (t->kind == TY_TENSOR && t->rank >= 1 && t->rank <= 3 && t->dtype == F32) return true;
    return surgery_wrong(s, option, "%s is %s, and must be f32 of one to three axes", diag_quote(&s->c->arena, name),
                         type_text(s->c, t));
}
static struct value *boxes_of(struct surgery *s, struct value *v, const char *name) {
    const struct type *t = &v->type;
    if (!is_floats(s, v, name)) return NULL;
    bool last = t->rank >= 2 && x_is(t->dims[t->rank - 1], 4), first = t->rank >= 2 && x_is(t->dims[t->rank - 2], 4);
    if (!last && !first)
        return surgery_wrong(s, option, "%s is %s: boxes have four numbers along one of the last two axes",
                             diag_quote(&s->c->arena, name), type_text(s->c, t)),
               NULL;
    if (t->rank == 2) v = deeper(s, v, 0);
    return last ? v : turned(s, v);
}
static struct value *scores_of(struct surgery *s, struct value *v, const char *name, const struct value *boxes,
                               bool batched) {
    if (!is_floats(s, v, name)) return NULL;
    const struct type was = v->type;
    if (!batched && v->type.rank < 3) v = deeper(s, v, 0);
    if (v->type.rank == 2) v = deeper(s, v, 1);
    const expr n = boxes->type.dims[1];
    if (v->type.rank == 3 && v->type.dims[0] == boxes->type.dims[0]) {
        if (v->type.dims[2] == n)
            return v; /* already as ONNX needs it; preferred if there are as many classes as
                       * boxes */
        if (v->type.dims[1] == n) return turned(s, v);
    }
    surgery_wrong(s, option, "the scores %s, %s, do not fit boxes %s", diag_quote(&s->c->arena, name),
                  type_text(s->c, &was), type_text(s->c, &boxes->type));
    diag_help(&s->c->diags, "they are [batch, classes, n] or [batch, n, classes] for boxes [batch, n, 4]");
    return NULL;
}

/* ---- the nodes */
bool surgery_nms(struct surgery *s, const char *word) {
    static const int64_t batch_and_box[] = {0, 2};
    struct wish w;
    double iou, score;
    int64_t most = 100;
    if (!parse(s, word, &w) || !share(s, &w, IOU, 0.5, &iou) || !share(s, &w, SCORE, 0.25, &score)) return false;
    const char *format = w.text[FORMAT] ? w.text[FORMAT] : "xyxy";
    bool centre = !strcmp(format, "cxcywh");
    if (!centre && strcmp(format, "xyxy") != 0)
        return surgery_wrong(s, option, "format=%s is not xyxy or cxcywh", format);
    if (w.text[MAX] && !surgery_number(w.text[MAX], 1, INT32_MAX, &most))
        return surgery_wrong(s, option, "max=%s is not a number of 1 or more", w.text[MAX]);
    int b = surgery_output(s, option, w.text[BOXES]), p = b < 0 ? -1 : surgery_output(s, option, w.text[SCORES]);
    if (p < 0) return false;
    struct value *given = s->g->top->results.v[b], *boxes = boxes_of(s, given, w.text[BOXES]);
    struct value *scores =
        boxes ? scores_of(s, s->g->top->results.v[p], w.text[SCORES], boxes, given->type.rank == 3) : NULL;
    if (!scores) return false;
    struct value *const ins[] = {boxes, scores, graph_ints(s->g, &most, 1), graph_scalar_f32(s->g, "", iou),
                                 graph_scalar_f32(s->g, "", score)};
    struct node *nms = surgery_node(s, option, "NonMaxSuppression", ins, 5);
    node_set_int(nms, "center_point_box", centre);
    struct value *where = nms->outs.v[0], *columns = op(s, "Gather", where, graph_ints(s->g, batch_and_box, 2));
    node_set_int(columns->def, "axis", 1);
    region_set_result(s->g->top, b, op(s, "GatherND", boxes, columns));
    region_set_result(s->g->top, p, op(s, "GatherND", scores, where));
    return surgery_indices(s, option, where, w.text[BOXES]);
}
