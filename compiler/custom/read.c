/* Reads a user's source with libclang: which functions are operators, and what their parameters are. Errors are
 * reported at their position, as a compiler would. See source.h; the rules: docs/custom-operators.md. */
#include "compiler/custom/source.h"
#ifdef HAVE_LIBCLANG
#include "compiler/custom/clang.h"
#include "ir/base/embed.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- positions and messages */
struct source_place place_of(CXSourceLocation l, int width) {
    unsigned line, column;
    libclang.getExpansionLocation(l, NULL, &line, &column, NULL); /* the use of a macro, not its definition */
    return (struct source_place){(int)line, (int)column, width};
}
const char *source_string(struct source *s, CXString t) {
    const char *r = libclang.getCString(t);
    r = intern(s->c->names, r ? r : "");
    libclang.disposeString(t);
    return r;
}
static bool is_of_main(const struct source *s, CXSourceLocation l) {
    CXFile file = NULL, main = libclang.getFile(s->tu, s->file->path);
    libclang.getExpansionLocation(l, &file, NULL, NULL, NULL);
    return file && main && libclang.File_isEqual(file, main);
}
/* Forwards the compiler's errors, but not warnings, which are the user's own business. */
static bool tell_errors(struct source *s) {
    CXTranslationUnit tu = s->tu;
    bool ok = true;
    for (unsigned k = 0, n = libclang.getNumDiagnostics(tu); k < n; k++) {
        CXDiagnostic d = libclang.getDiagnostic(tu, k);
        CXSourceLocation l = libclang.getDiagnosticLocation(d);
        if (libclang.getDiagnosticSeverity(d) >= CXDiagnostic_Error) {
            const char *said = source_string(s, libclang.getDiagnosticSpelling(d));
            if (is_of_main(s, l)) source_error(s, place_of(l, 1), "%s", said);
            else diag_at(&s->c->diags, DIAG_ERROR, E_CUSTOM, s->file->path, NULL, "%s", said);
            ok = false;
        }
        libclang.disposeDiagnostic(d);
    }
    return ok;
}

/* ---- functions of the file */
static bool is_function(enum CXCursorKind k) { return k == CXCursor_FunctionDecl || k == CXCursor_FunctionTemplate; }
struct definitions {
    struct source *s;
    VEC(CXCursor) v;
    VEC(const char *) globals;
};
static enum CXChildVisitResult note_definition(CXCursor c, CXCursor parent, CXClientData env) {
    struct definitions *q = env;
    enum CXCursorKind k = libclang.getCursorKind(c);
    (void)parent;
    if (k == CXCursor_LinkageSpec || k == CXCursor_Namespace || k == CXCursor_UnexposedDecl)
        return CXChildVisit_Recurse;
    if (!is_of_main(q->s, libclang.getCursorLocation(c)) || !libclang.isCursorDefinition(c))
        return CXChildVisit_Continue;
    const char *name = source_string(q->s, libclang.getCursorSpelling(c));
    if (is_function(k)) PUSH(&q->s->c->arena, &q->v, c);
    bool global = (k == CXCursor_FunctionDecl || k == CXCursor_VarDecl) &&
                  libclang.getCursorLinkage(c) == CXLinkage_External && strncmp(name, "operator", 8) != 0;
    for (int i = 0; global && i < q->globals.n; i++) global = q->globals.v[i] != name;
    if (global) PUSH(&q->s->c->arena, &q->globals, name);
    return CXChildVisit_Continue;
}
/* Is the file in the folder of the source, or below it? (A macro or <../file.h> can include it too.) */
static bool is_beside(struct source *s, CXFile file) {
    const char *path = file ? source_string(s, libclang.getFileName(file)) : "", *own = s->file->path;
    const char *slash = strrchr(own, '/');
    size_t n = slash ? (size_t)(slash + 1 - own) : 0;
    return *path && (n ? !strncmp(path, own, n) : *path != '/');
}
static enum CXChildVisitResult count_local(CXCursor c, CXCursor parent, CXClientData env) {
    struct source *s = env;
    (void)parent;
    if (libclang.getCursorKind(c) != CXCursor_InclusionDirective || !is_of_main(s, libclang.getCursorLocation(c)))
        return CXChildVisit_Continue;
    CXSourceRange range = libclang.getCursorExtent(c);
    struct source_place at = place_of(libclang.getRangeStart(range), 1), end = place_of(libclang.getRangeEnd(range), 1);
    const char *p = s->file->text;
    for (int line = 1; line < at.line; p++) line += *p == '\n';
    size_t n = strcspn(p, "\n");
    if (!memchr(p, '"', n) && !is_beside(s, libclang.getIncludedFile(c))) return CXChildVisit_Continue;
    at.width = end.line == at.line ? end.column - at.column : 1;
    source_error(s, at, "the source of an operator goes into the output alone: it cannot include files of yours");
    diag_help(&s->c->diags, "put what it needs into the file itself; headers of the system, in <>, are fine");
    return CXChildVisit_Continue;
}

/* ---- types */
static enum dtype dtype_of_size(size_t bytes, bool is_signed) {
    switch (bytes) {
    case 1: return is_signed ? I8 : U8;
    case 2: return is_signed ? I16 : U16;
    case 4: return is_signed ? I32 : U32;
    case 8: return is_signed ? I64 : U64;
    default: return NONE;
    }
}
enum dtype clang_dtype(CXType t) {
    t = libclang.getCanonicalType(t);
    switch (t.kind) {
    case CXType_Half:
    case CXType_Float16: return F16;
    case CXType_BFloat16: return BF16;
    case CXType_Float: return F32;
    case CXType_Double: return F64;
    case CXType_Bool: return BOOL;
    case CXType_Char_S:
    case CXType_SChar:
    case CXType_Short:
    case CXType_Int:
    case CXType_Long:
    case CXType_LongLong: return dtype_of_size((size_t)libclang.Type_getSizeOf(t), true);
    case CXType_Char_U:
    case CXType_UChar:
    case CXType_UShort:
    case CXType_UInt:
    case CXType_ULong:
    case CXType_ULongLong: return dtype_of_size((size_t)libclang.Type_getSizeOf(t), false);
    default: return NONE;
    }
}
/* "const float" -> "float" */
static const char *without_const(struct source *s, CXType t) {
    const char *name = source_string(s, libclang.getTypeSpelling(t));
    if (!strncmp(name, "const ", 6)) name += 6;
    size_t n = strlen(name);
    return n > 6 && !strcmp(name + n - 6, " const") ? internn(s->c->names, name, n - 6) : intern(s->c->names, name);
}

/* ---- one operator */
struct reading {
    struct source *s;
    CXCursor fn;
    const char *name;
    struct comment said;
    struct foreign_op *op;
    struct foreign_op_param params[64];
    VEC(const char *) types; /* parameters of the template */
    bool ok;
};
static struct source_place name_place(struct source *s, CXCursor c) {
    return place_of(libclang.getCursorLocation(c), (int)strlen(source_string(s, libclang.getCursorSpelling(c))));
}
static void refuse_param(struct reading *q, CXCursor c, const char *name, const char *why) {
    const char *type = source_string(q->s, libclang.getTypeSpelling(libclang.getCursorType(c)));
    source_error(q->s, name_place(q->s, c), "parameter %s is %s: %s", diag_quote(&q->s->c->arena, name), type, why);
    q->ok = false;
}
static int template_number(const struct reading *q, const char *type) {
    for (int k = 0; k < q->types.n; k++)
        if (!strcmp(q->types.v[k], type)) return k;
    return -1;
}
/* A string for the generated code: its bytes and their number, because it may contain a NUL. */
struct string_fields {
    int n, right;
};
static enum CXChildVisitResult note_field(CXCursor c, CXCursor parent, CXClientData env) {
    struct string_fields *q = env;
    (void)parent;
    if (libclang.getCursorKind(c) != CXCursor_FieldDecl) return CXChildVisit_Continue;
    CXType t = libclang.getCursorType(c), to = libclang.getPointeeType(libclang.getCanonicalType(t));
    CXString said = libclang.getTypeSpelling(t);
    enum CXTypeKind kind = to.kind;
    bool text = (kind == CXType_Char_S || kind == CXType_Char_U) && libclang.isConstQualifiedType(to);
    q->right += q->n == 0 ? text : !strcmp(libclang.getCString(said), "size_t");
    q->n++;
    libclang.disposeString(said);
    return CXChildVisit_Continue;
}
static bool is_string(CXType t) {
    struct string_fields fields = {0, 0};
    t = libclang.getCanonicalType(t);
    if (t.kind != CXType_Record) return false;
    libclang.visitChildren(libclang.getTypeDeclaration(t), note_field, &fields);
    return fields.n == 2 && fields.right == 2;
}
/* The type of an element or of a number: a known one, or a parameter of the template. */
static bool element_type(struct reading *q, CXCursor c, CXType t, struct foreign_op_param *p) {
    const char *spelled = without_const(q->s, t);
    p->of = template_number(q, spelled);
    p->type = p->of >= 0 ? NONE : clang_dtype(t);
    p->c = p->of >= 0 ? NULL : spelled;
    if (p->of >= 0) return true;
    if (p->type == NONE && p->use != FOREIGN_NUMBER && is_string(t)) p->type = STR;
    if (p->type == NONE) {
        refuse_param(q, c, p->name, "an operator takes pointers to numbers, and numbers");
        if (libclang.getCanonicalType(t).kind == CXType_Record)
            diag_help(&q->s->c->diags, "a string is a struct of `const char *p` and `size_t n`, and nothing else");
        return false;
    }
    if (p->type == STR && q->s->file->language == FOREIGN_CUDA)
        return refuse_param(q, c, p->name, "strings lie in the memory of the host, where a GPU reads nothing"), false;
    if (p->use != FOREIGN_NUMBER && (t.kind == CXType_Long || t.kind == CXType_ULong))
        return refuse_param(q, c, p->name, "its elements have another size on other machines; write int64_t"), false;
    return true;
}
static struct comment_param *param_said(struct reading *q, const char *name) {
    for (int k = 0; k < q->said.nparams; k++)
        if (q->said.params[k].name == name) return &q->said.params[k];
    return NULL;
}
static struct comment_attr *attr_said(struct reading *q, const char *name) {
    for (int k = 0; k < q->said.nattrs; k++)
        if (q->said.attrs[k].name == name) return &q->said.attrs[k];
    return NULL;
}
/* A text, or a list with its length. */
static void read_list(struct reading *q, CXCursor c, CXType to, const struct comment_attr *a,
                      struct foreign_op_param *p) {
    struct ctx *ctx = q->s->c;
    enum CXTypeKind kind = libclang.getCanonicalType(to).kind;
    bool text = kind == CXType_Char_S || kind == CXType_Char_U, listed = p->type == I64 || p->type == F32;
    p->attribute = true;
    p->optional = a->optional;
    p->count = a->count;
    p->kind = text ? AT_STRING : p->type == I64 ? AT_INTS : AT_FLOATS;
    if (p->use != FOREIGN_READ) {
        refuse_param(q, c, p->name, "an attribute is not written: it points to what is const");
    } else if (text ? a->count != NULL : !a->count || !listed) {
        refuse_param(q, c, p->name,
                     text       ? "a text has no length of its own: it ends with a 0"
                     : a->count ? "an attribute is a number, a list of ints or floats, or a text"
                                : "a list, whose length no parameter has");
        diag_help(&ctx->diags,
                  text       ? "say `@attr %s`, or `@attr %s = \"words\"`"
                  : a->count ? "`const int64_t *%s` or `const float *%s`, or `const char *`"
                             : "say `@attr %s [n]`, and take its length as `size_t n`",
                  p->name, p->name);
    } else if (text ? a->has_default && !a->text : a->has_default) {
        refuse_param(q, c, p->name, "its default is of another type");
    }
}
/* The 16-bit type that the comment declares. */
static void read_half(struct reading *q, CXCursor c, enum dtype said, struct foreign_op_param *p) {
    if (p->type != U16 && p->type != said)
        refuse_param(q, c, p->name, "its comment says floats of 16 bits, which are uint16_t or _Float16 in C");
    p->type = said;
}
/* What t points to; an array as a parameter is a pointer. */
static CXType pointee(CXType t) {
    CXType canonical = libclang.getCanonicalType(t);
    if (canonical.kind == CXType_ConstantArray || canonical.kind == CXType_IncompleteArray)
        return libclang.getArrayElementType(t.kind == canonical.kind ? t : canonical);
    return libclang.getPointeeType(t.kind == CXType_Pointer ? t : canonical);
}
static bool is_pointer(CXType t) {
    t = libclang.getCanonicalType(t);
    return t.kind == CXType_Pointer || t.kind == CXType_ConstantArray || t.kind == CXType_IncompleteArray;
}
struct param_search {
    struct source *s;
    const char *name;
    bool input;
};
static enum CXChildVisitResult find_param(CXCursor c, CXCursor parent, CXClientData env) {
    struct param_search *q = env;
    (void)parent;
    if (libclang.getCursorKind(c) != CXCursor_ParmDecl || source_string(q->s, libclang.getCursorSpelling(c)) != q->name)
        return CXChildVisit_Continue;
    CXType t = libclang.getCursorType(c);
    if (is_pointer(t) && is_pointer(pointee(t))) t = pointee(t);
    q->input = is_pointer(t) && libclang.isConstQualifiedType(pointee(t));
    return CXChildVisit_Break;
}
static bool is_input(const struct reading *q, const char *name) {
    struct param_search p = {q->s, name, false};
    libclang.visitChildren(q->fn, find_param, &p);
    return p.input;
}
/* Does it differ from one tensor of a list to the next? */
static bool is_list_size(const struct reading *q, const char *name) {
    for (int k = 0; k < q->said.nparams; k++)
        for (int d = 0; d < q->said.params[k].ndims && is_input(q, q->said.params[k].name); d++)
            if (q->said.params[k].dims[d].varies && q->said.params[k].dims[d].name == name) return true;
    return false;
}
/* Does the name have a value: from a dim of an input, an integer attribute, or the length of a list? */
static bool is_size(void *env, const char *name) {
    const struct reading *q = env;
    for (int k = 0; k < q->said.nattrs; k++)
        if (q->said.attrs[k].name == name || q->said.attrs[k].count == name) return true;
    for (int k = 0; k < q->said.nparams; k++) {
        const struct comment_param *p = &q->said.params[k];
        if (p->tensors == name) return true;
        for (int d = 0; d < p->ndims && is_input(q, p->name); d++) {
            const char *stands = p->dims[d].name;
            if (p->dims[d].varies) stands = internf(q->s->c->names, "sum(%s)", stands);
            if (stands == name) return true;
        }
    }
    return false;
}
/* Pointers to tensors, whose number the comment declares. */
static bool read_list_of_tensors(struct reading *q, CXCursor c, enum CXTypeKind of, const struct comment_param *said,
                                 struct foreign_op_param *p) {
    struct diags *d = &q->s->c->diags;
    p->list = true;
    p->tensors = said ? said->tensors : NULL;
    if (attr_said(q, p->name) || of == CXType_Char_S || of == CXType_Char_U) {
        refuse_param(q, c, p->name, "strings of a model may have a 0 in them, so they are no strings of C");
        diag_help(d,
                  "as a tensor they are `const struct word *%s`, with `struct word { const char *p; size_t n; };`; "
                  "lists of texts as attributes are not there",
                  p->name);
    } else if (q->s->file->language == FOREIGN_CUDA) {
        refuse_param(q, c, p->name, "a list of pointers lies in the memory of the host, where a GPU reads nothing");
        diag_help(d, "give the operator's body in C, or as many parameters as there are tensors");
    } else if (!p->tensors) {
        refuse_param(q, c, p->name, "it is a list of tensors, but how many they are is not said");
        diag_help(d, "say it in the comment above the function: `@param %s [count][n, d]`", p->name);
    } else if (said->optional) {
        refuse_param(q, c, p->name, "a list of tensors has at least one: it is not optional");
    } else return true;
    return false;
}
/* The sizes of a dim that differs between the tensors of a list. */
static void read_sizes(struct reading *q, CXCursor c, CXType to, struct foreign_op_param *p) {
    bool read = p->use == FOREIGN_READ;
    p->use = FOREIGN_NUMBER, p->list = true;
    if (!element_type(q, c, to, p) || (read && p->type == I64)) return;
    refuse_param(q, c, p->name, "the sizes that differ from one tensor to the next are `const int64_t *`");
}
static void read_pointer(struct reading *q, CXCursor c, CXType t, struct foreign_op_param *p) {
    CXType to = pointee(t);
    const struct comment_attr *a = attr_said(q, p->name);
    const struct comment_param *said = param_said(q, p->name);
    if (is_pointer(to)) {
        to = pointee(to);
        if (!read_list_of_tensors(q, c, libclang.getCanonicalType(to).kind, said, p)) return;
    }
    p->use = libclang.isConstQualifiedType(to) ? FOREIGN_READ : FOREIGN_WRITTEN;
    if (!p->list && is_list_size(q, p->name)) {
        read_sizes(q, c, to, p);
        return;
    }
    if (!element_type(q, c, to, p)) return;
    if (a) {
        read_list(q, c, to, a, p);
        return;
    }
    if (said && said->type != NONE) read_half(q, c, said->type, p);
    p->optional = said && said->optional;
    if (said && said->shaped) {
        p->shaped = true;
        p->ndims = said->ndims;
        memcpy(p->dims, said->dims, sizeof p->dims);
    } else if (p->use == FOREIGN_WRITTEN) {
        refuse_param(q, c, p->name, "it is written, as what it points to is not const, but no shape is said");
        diag_help(&q->s->c->diags, "say it in the comment above the function: `@param %s [n, d]`; or make it const",
                  p->name);
    }
    if (p->list || !said) return;
    bool varies = said->tensors;
    for (int d = 0; d < p->ndims; d++) varies |= p->dims[d].varies;
    if (!varies) return;
    refuse_param(q, c, p->name, "its comment says a list of tensors");
    diag_help(&q->s->c->diags, "a list is `const float *const *%s`, or `float *const *%s` where it is written", p->name,
              p->name);
}
static void read_number(struct reading *q, CXCursor c, CXType t, struct foreign_op_param *p, bool scalar) {
    p->use = FOREIGN_NUMBER;
    if (!element_type(q, c, t, p)) return;
    struct comment_attr *a = attr_said(q, p->name);
    p->attribute = a != NULL;
    p->kind = dtype_is_int(p->type) ? AT_INT : AT_FLOAT;
    if (dtype_is_half(p->type)) {
        refuse_param(q, c, p->name, "a number is a float or a double, or an integer; only tensors have 16-bit floats");
        return;
    }
    int64_t lo, hi;
    foreign_range(p->type, &lo, &hi);
    if (a && a->has_default && p->type != NONE && dtype_is_int(p->type) &&
        !(a->value >= (double)lo && a->value <= (double)hi && a->value == (double)(int64_t)fmin(a->value, 0x1p62))) {
        refuse_param(q, c, p->name, "its default is no such number");
        return;
    }
    if (a && (a->count || a->text || a->optional)) {
        refuse_param(q, c, p->name,
                     a->count  ? "its comment says a list"
                     : a->text ? "its default is of another type"
                               : "a number is there, or has a default");
        return;
    }
    if (a || scalar) return;
    if (p->type == NONE || !dtype_is_int(p->type) || !is_size(q, p->name)) {
        refuse_param(q, c, p->name, "it is neither a size that the comment names nor an attribute");
        diag_help(&q->s->c->diags, "say `@attr %s`, or name it in a shape: `@param x [%s]`", p->name, p->name);
    }
}
static void read_param(struct reading *q, CXCursor c, bool scalar) {
    enum { MOST = sizeof q->params / sizeof *q->params };
    CXType t = libclang.getCursorType(c);
    struct foreign_op_param *p = &q->params[q->op->n];
    const char *name = source_string(q->s, libclang.getCursorSpelling(c));
    if (q->op->n == MOST || !*name) {
        source_error(q->s, name_place(q->s, c), *name ? "more than 64 parameters" : "a parameter without a name");
        q->ok = false;
        return;
    }
    *p = (struct foreign_op_param){.name = name, .of = -1};
    q->op->n++;
    if (!is_pointer(t)) read_number(q, c, t, p, scalar);
    else if (scalar) refuse_param(q, c, name, "a function that returns a value takes numbers only");
    else read_pointer(q, c, t, p);
}
static enum CXChildVisitResult visit_param(CXCursor c, CXCursor parent, CXClientData env) {
    struct reading *q = env;
    (void)parent;
    if (libclang.getCursorKind(c) == CXCursor_TemplateTypeParameter)
        PUSH(&q->s->c->arena, &q->types, source_string(q->s, libclang.getCursorSpelling(c)));
    else if (libclang.getCursorKind(c) == CXCursor_NonTypeTemplateParameter) {
        source_error(q->s, name_place(q->s, c), "a template of an operator has types as its parameters only");
        q->ok = false;
    } else if (libclang.getCursorKind(c) == CXCursor_ParmDecl) read_param(q, c, q->op->result != NONE);
    return CXChildVisit_Continue;
}
/* Checks that the names in the comment exist. */
static void check_names(struct reading *q) {
    for (int k = 0; k < q->said.nparams + q->said.nattrs; k++) {
        bool attr = k >= q->said.nparams, found = false;
        const char *name = attr ? q->said.attrs[k - q->said.nparams].name : q->said.params[k].name;
        for (int i = 0; i < q->op->n; i++) found |= q->op->params[i].name == name;
        if (found) continue;
        source_error(q->s, attr ? q->said.attrs[k - q->said.nparams].at : q->said.params[k].at,
                     "%s has no parameter %s", q->name, diag_quote(&q->s->c->arena, name));
        q->ok = false;
    }
}
static void check_uses(struct reading *q) {
    int written = 0;
    bool gpu = q->s->file->language == FOREIGN_CUDA;
    for (int k = 0; k < q->op->n; k++) written += q->op->params[k].use == FOREIGN_WRITTEN;
    if (q->op->result == NONE && !written) {
        source_error(q->s, name_place(q->s, q->fn), "%s has no result: no parameter is a pointer to what is not const",
                     q->name);
        q->ok = false;
    }
    for (int k = 0; k < q->types.n && q->ok; k++) {
        bool found = false;
        for (int i = 0; i < q->op->n; i++) found |= foreign_is_input(&q->op->params[i]) && q->op->params[i].of == k;
        if (found) continue;
        source_error(q->s, name_place(q->s, q->fn), "no input of %s has the type %s of its template", q->name,
                     q->types.v[k]);
        q->ok = false;
    }
    if (q->types.n > FOREIGN_TYPES) {
        source_error(q->s, name_place(q->s, q->fn), "a template of more than %d types", FOREIGN_TYPES);
        q->ok = false;
    }
    if (!gpu || q->op->result != NONE || !q->ok) return;
    if (!q->said.grid_at.line) {
        source_error(q->s, name_place(q->s, q->fn), "%s is launched on a GPU, but its comment does not say how",
                     q->name);
        diag_help(&q->s->c->diags, "say how many blocks, and threads of each: `@grid n` and `@block 128`");
        q->ok = false;
    } else if (q->said.each) {
        source_error(q->s, q->said.each_at, "@each is for functions of the CPU: a GPU has its grid");
        q->ok = false;
    }
}
/* Checks that lists have a length: only it says where they end. */
static void check_lists(struct reading *q) {
    const struct foreign_op_param *last[FOREIGN_NUMBER] = {NULL};
    for (int k = 0; k < q->op->n && q->ok; k++) {
        const struct foreign_op_param *p = &q->op->params[k];
        if (p->use == FOREIGN_NUMBER || p->attribute) continue;
        if (last[p->use]) {
            source_error(q->s, name_place(q->s, q->fn), "%s %s of %s stands behind the list %s",
                         p->use == FOREIGN_READ ? "input" : "result", p->name, q->name, last[p->use]->name);
            diag_help(&q->s->c->diags, "a list of any number of tensors comes last, and there is one");
            q->ok = false;
        }
        if (p->list) last[p->use] = p;
    }
}
/* Checks that sizes of results and of the grid, and formulas among the dims of inputs, use only names with a value. */
static void check_sizes(struct reading *q) {
    const char *missing = NULL;
    struct source_place at = q->said.grid_at;
    for (int k = 0; k < 6 && !missing; k++) missing = formula_unnamed(q->said.grid[k], is_size, q);
    for (int k = 0; k < q->said.nparams && !missing; k++) {
        const struct comment_param *p = &q->said.params[k];
        at = p->at;
        for (int d = 0; d < p->ndims && !missing; d++) {
            if (p->dims[d].value) missing = formula_unnamed(p->dims[d].value, is_size, q);
            else if (!(p->dims[d].varies ? is_list_size(q, p->dims[d].name) : is_size(q, p->dims[d].name)))
                missing = p->dims[d].name;
        }
    }
    if (!missing) return;
    source_error(q->s, at, "size %s is that of no input, and no attribute", diag_quote(&q->s->c->arena, missing));
    q->ok = false;
}
static void check_each(struct reading *q) {
    bool read = false, written = false;
    if (!q->said.each) return;
    for (int k = 0; k < q->op->n; k++) {
        const struct foreign_op_param *p = &q->op->params[k];
        bool first = p->ndims && p->dims[0].name == q->said.each && !p->dims[0].varies;
        if (p->use == FOREIGN_WRITTEN && !first) {
            source_error(q->s, q->said.each_at, "result %s has not %s as its first dim, so calls would meet in it",
                         p->name, q->said.each);
            q->ok = false;
            return;
        }
        read |= p->use == FOREIGN_READ && first, written |= p->use == FOREIGN_WRITTEN;
    }
    if (!read || !written) {
        source_error(q->s, q->said.each_at, "no input has %s as its first dim", q->said.each);
        q->ok = false;
    }
}
static struct op *row_of(struct reading *q, const char *op) {
    struct ctx *c = q->s->c;
    const char *colon = strrchr(op, ':');
    const char *domain = internn(c->names, op, (size_t)(colon - op));
    if (!strcmp(domain, "ai.onnx")) domain = "";
    struct op *row = NEW(&c->arena, struct op);
    struct op_slot *ins = NEWN(&c->arena, struct op_slot, q->op->n + 1);
    struct op_slot *outs = NEWN(&c->arena, struct op_slot, q->op->n + 2);
    struct op_attr *attrs = NEWN(&c->arena, struct op_attr, q->op->n + 1);
    int nins = 0, nouts = 0, nattrs = 0;
    for (int k = 0; k < q->op->n; k++) {
        const struct foreign_op_param *p = &q->op->params[k];
        uint64_t types = p->type == NONE ? TS_NUM & ~(TSET(F16) | TSET(BF16)) : TSET(p->type);
        struct op_slot slot = {p->name, types, p->list ? VARIADIC : p->optional ? OPTIONAL : 0};
        const struct comment_attr *a = attr_said(q, p->name);
        if (p->use == FOREIGN_WRITTEN) outs[nouts++] = slot;
        else if (foreign_is_input(p) || (q->op->result != NONE && !a)) ins[nins++] = slot;
        else if (a)
            attrs[nattrs++] = (struct op_attr){.name = p->name,
                                               .kind = p->kind,
                                               .flags = a->has_default || a->optional ? 0 : A_REQUIRED,
                                               .i = (int64_t)a->value,
                                               .f = (float)a->value,
                                               .s = a->text};
    }
    if (q->op->result != NONE) outs[nouts++] = (struct op_slot){"y", TSET(q->op->result), 0};
    *row = (struct op){.domain = domain,
                       .name = intern(c->names, colon + 1),
                       .since = 1,
                       .first = 1,
                       .attrs = attrs,
                       .ins = ins,
                       .outs = outs,
                       .define = op_foreign,
                       .as = arena_printf(&c->arena, "custom %s", op),
                       .spec = arena_printf(&c->arena, "%s of %s", q->name, q->s->file->path),
                       .flags = q->op->value ? 0 : OP_FOREIGN,
                       .foreign = q->op};
    return row;
}
/* DOMAIN:NAME of words. */
static bool is_op_name(const char *s) {
    const char *colon = strrchr(s, ':');
    if (!colon || colon == s || !colon[1]) return false;
    for (const char *p = s; *p; p++)
        if (p != colon && !in_word(*p) && *p != '.' && *p != '-') return false;
    return true;
}
/* A formula is inlined where it is used; any other function is called for each cell, which a note says. */
static void read_scalars(struct reading *q) {
    struct source *s = q->s;
    struct source_place at;
    const char *why;
    q->op->value = c_formula_or(s, q->fn, &why, &at);
    if (q->op->value) return;
    if (s->file->language == FOREIGN_CUDA) {
        source_error(s, at, "%s", why);
        diag_help(&s->c->diags, "for a GPU a function of scalars must be a formula; others are kernels, __global__");
        q->ok = false;
        return;
    }
    source_tell(s, DIAG_NOTE, at, "%s is called for each element, not inlined: %s", q->name, why);
}
/* "mine::norm" */
static const char *qualified(struct source *s, CXCursor c) {
    const char *name = source_string(s, libclang.getCursorSpelling(c));
    for (CXCursor up = libclang.getCursorSemanticParent(c); libclang.getCursorKind(up) == CXCursor_Namespace;
         up = libclang.getCursorSemanticParent(up)) {
        const char *space = source_string(s, libclang.getCursorSpelling(up));
        if (*space) name = internf(s->c->names, "%s::%s", space, name);
    }
    return name;
}
static bool read_operator(struct source *s, CXCursor fn, custom_op_list *out) {
    struct reading reading = {.s = s, .fn = fn, .ok = true}, *q = &reading;
    const char *comment = source_string(s, libclang.Cursor_getRawCommentText(fn));
    struct source_place at = place_of(libclang.getRangeStart(libclang.Cursor_getCommentRange(fn)), 1);
    q->name = source_string(s, libclang.getCursorSpelling(fn));
    if (!*comment && !libclang.Location_isFromMainFile(libclang.getCursorLocation(fn))) {
        source_error(s, name_place(s, fn), "%s comes from a macro, so that no comment is its own", q->name);
        diag_help(&s->c->diags, "declare the function before, with its comment: `/** @param x [n] */ void f(...);`");
        return false;
    }
    q->op = NEW(&s->c->arena, struct foreign_op);
    q->op->params = q->params;
    if (!comment_read(s, comment, at, &q->said)) return false;
    const char *op = s->op ? s->op : q->said.op;
    if (!is_op_name(op)) {
        source_error(s, q->said.op_at.line ? q->said.op_at : name_place(s, fn),
                     "%s is no operator: DOMAIN:NAME expected", diag_quote(&s->c->arena, op));
        return false;
    }
    CXType returns = libclang.getCursorResultType(fn);
    if (libclang.getCanonicalType(returns).kind != CXType_Void) {
        q->op->result = clang_dtype(returns);
        if (q->op->result == NONE || dtype_is_half(q->op->result)) {
            source_error(s, name_place(s, fn), "%s returns %s: an operator returns nothing, or a number%s", q->name,
                         source_string(s, libclang.getTypeSpelling(returns)),
                         q->op->result == NONE ? "" : "; only tensors have 16-bit floats");
            return false;
        }
    }
    if (libclang.Cursor_isVariadic(fn)) {
        source_error(s, name_place(s, fn), "%s takes any number of arguments (...): an operator's are known", q->name);
        return false;
    }
    libclang.visitChildren(fn, visit_param, q);
    if (q->ok) check_names(q), check_sizes(q), check_uses(q), check_lists(q), check_each(q);
    if (!q->ok) return false;
    q->op->params = arena_copy(&s->c->arena, q->params, sizeof q->params);
    q->op->ntypes = q->types.n, q->op->types = q->types.v;
    q->op->op = op;
    q->op->word = internf(s->c->names, "op_%s", c_word(s->c, strrchr(op, ':') + 1));
    q->op->each = q->said.each;
    memcpy(q->op->grid, q->said.grid, sizeof q->op->grid);
    struct foreign_body body = {s->file, qualified(s, fn)};
    *(s->file->language == FOREIGN_CUDA ? &q->op->gpu : &q->op->cpu) = body;
    if (q->op->result != NONE) read_scalars(q);
    if (!q->ok) return false;
    struct custom_op r = {q->op, row_of(q, op), s, name_place(s, fn)};
    PUSH(&s->c->arena, out, r);
    return true;
}

/* ---- which functions */
/* SparseAttention and sparse_attention count as the same name. */
static bool same_name(const char *a, const char *b) {
    for (;; a++, b++) {
        while (*a == '_') a++;
        while (*b == '_') b++;
        char x = *a >= 'A' && *a <= 'Z' ? (char)(*a - 'A' + 'a') : *a,
             y = *b >= 'A' && *b <= 'Z' ? (char)(*b - 'A' + 'a') : *b;
        if (x != y) return false;
        if (!x) return true;
    }
}
static bool has_op(struct source *s, CXCursor fn) {
    const char *comment = source_string(s, libclang.Cursor_getRawCommentText(fn));
    return strstr(comment, "@op ") || strstr(comment, "\\op ");
}
/* --op names the operator, so it must be a single function. */
static bool read_wanted(struct source *s, struct definitions *q, custom_op_list *out) {
    const char *name = strrchr(s->op, ':') ? strrchr(s->op, ':') + 1 : s->op, *all = "";
    int found = -1, external = -1, externals = 0;
    for (int k = 0; k < q->v.n; k++) {
        const char *f = source_string(s, libclang.getCursorSpelling(q->v.v[k]));
        bool global = libclang.getCursorLinkage(q->v.v[k]) == CXLinkage_External;
        if (found < 0 && (s->wanted ? !strcmp(f, s->wanted) : same_name(f, name))) found = k;
        if (global) external = k, externals++;
        all = format(s->c, "%s%s%s", all, k ? ", " : "", f);
    }
    if (found < 0 && !s->wanted && externals == 1) found = external;
    if (found >= 0) return read_operator(s, q->v.v[found], out);
    diag_at(&s->c->diags, DIAG_ERROR, E_CUSTOM, s->file->path, NULL, "it defines no function %s%s",
            diag_quote(&s->c->arena, s->wanted ? s->wanted : name), *all ? format(s->c, "; there are %s", all) : "");
    if (*all) diag_help(&s->c->diags, "say which one: --op %s=%s:FUNCTION", s->op, s->file->path);
    return false;
}
static bool read_all(struct source *s, struct definitions *q, custom_op_list *out) {
    bool any = false, ok = true;
    for (int k = 0; k < q->v.n; k++)
        if (has_op(s, q->v.v[k])) any = true, ok &= read_operator(s, q->v.v[k], out);
    if (any) return ok;
    diag_at(&s->c->diags, DIAG_ERROR, E_CUSTOM, s->file->path, NULL, "no function of it says which operator it is");
    diag_help(&s->c->diags, "write `@op DOMAIN:NAME` into the comment above the function");
    return false;
}
static const struct formula *function_named(struct source *s, const char *name, const struct formula *const *args,
                                            int n, struct source_place at) {
    struct definitions q = {.s = s};
    libclang.visitChildren(libclang.getTranslationUnitCursor(s->tu), note_definition, &q);
    for (int k = 0; k < q.v.n; k++)
        if (!strcmp(source_string(s, libclang.getCursorSpelling(q.v.v[k])), name)) {
            if (libclang.Cursor_getNumArguments(q.v.v[k]) == n) return c_formula(s, q.v.v[k], args, n);
            source_error(s, at, "%s takes %d arguments, not %d", name, libclang.Cursor_getNumArguments(q.v.v[k]), n);
            return NULL;
        }
    source_error(s, at, "there is no function %s in this file", diag_quote(&s->c->arena, name));
    return NULL;
}
bool source_read(struct source *s, custom_op_list *out) {
    enum { FLAGS = 6 };
#if defined __x86_64__ || defined __i386__ /* older libclang has _Float16 only with this */
#define HALVES "-Xclang", "-target-feature", "-Xclang", "+avx512fp16"
#else
#define HALVES NULL
#endif
    static const char *const flags[FOREIGN_LANGUAGES][FLAGS] = {
        [FOREIGN_C] = {"-xc", "-std=gnu99", HALVES},
        [FOREIGN_CPP] = {"-xc++", "-std=c++17", HALVES},
        [FOREIGN_CUDA] = {"-xc++", "-std=c++17", "-DNN_CUDA_EMU", "-include", "/gcc2nn/cuda_emu.h"}};
    struct CXUnsavedFile files[2] = {{s->file->path, s->file->text, s->file->n}};
    int nfiles = 1, nflags = 0;
    for (size_t k = 0; k < nn_embedded_count; k++)
        if (!strcmp(nn_embedded[k].path, "templates/cuda_emu/cuda_emu.h"))
            files[nfiles++] =
                (struct CXUnsavedFile){"/gcc2nn/cuda_emu.h", (const char *)nn_embedded[k].data, nn_embedded[k].size};
    bool halves = strstr(s->file->text, "_Float16"); /* without _Float16 the source keeps its own tests of CPU
                                                      * features */
    while (nflags < (halves || s->file->language == FOREIGN_CUDA ? FLAGS : 2) && flags[s->file->language][nflags])
        nflags++;
    if (!clang_load(s->c)) return false;
    CXIndex index = libclang.createIndex(0, 0);
    CXTranslationUnit tu = NULL;
    bool ok =
        libclang.parseTranslationUnit2(index, s->file->path, flags[s->file->language], nflags, files, (unsigned)nfiles,
                                       CXTranslationUnit_DetailedPreprocessingRecord, &tu) == CXError_Success;
    if (!ok) diag_at(&s->c->diags, DIAG_ERROR, E_CUSTOM, s->file->path, NULL, "libclang cannot read it");
    s->tu = tu;
    s->function = function_named;
    struct definitions q = {.s = s};
    int errors = s->c->diags.errors;
    if (ok) libclang.visitChildren(libclang.getTranslationUnitCursor(tu), count_local, s);
    ok = ok && s->c->diags.errors == errors && tell_errors(s);
    if (ok) libclang.visitChildren(libclang.getTranslationUnitCursor(tu), note_definition, &q);
    PUSH(&s->c->arena, &q.globals, NULL);
    s->file->globals = q.globals.v;
    ok = ok && (s->op ? read_wanted : read_all)(s, &q, out);
    if (tu) libclang.disposeTranslationUnit(tu);
    s->tu = NULL;
    libclang.disposeIndex(index);
    return ok;
}
#else
bool source_read(struct source *s, custom_op_list *out) {
    (void)out;
    diag_at(&s->c->diags, DIAG_ERROR, E_ENV, NULL, NULL,
            "this gcc2nn was built without libclang, which reads operators");
    diag_help(&s->c->diags, "install libclang-14-dev and build gcc2nn again");
    return false;
}
#endif
