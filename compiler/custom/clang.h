/* libclang functions shared by the readers of sources. Private to compiler/custom/, where libclang is built in. */
#ifndef NN_COMPILER_CUSTOM_CLANG_H
#define NN_COMPILER_CUSTOM_CLANG_H
#include "compiler/custom/source.h"
#include <clang-c/Index.h>

/* What is called of it. It is loaded when the first source is read, by clang.c: linked, its LLVM would make every start
 * of gcc2nn ten times as long. Lines are broken by hand: clang-format breaks them anew at each run. */
// clang-format off
#define CLANG_FUNCTIONS(F) \
    F(Cursor_Evaluate) F(Cursor_getArgument) F(Cursor_getCommentRange) F(Cursor_getNumArguments) \
    F(Cursor_getRawCommentText) F(Cursor_getStorageClass) F(Cursor_isNull) F(Cursor_isVariadic) \
    F(EvalResult_dispose) F(EvalResult_getAsDouble) F(EvalResult_getAsLongLong) F(EvalResult_getKind) \
    F(File_isEqual) F(Location_isFromMainFile) F(Type_getSizeOf) F(createIndex) F(disposeDiagnostic) F(disposeIndex) \
    F(disposeString) F(disposeTranslationUnit) F(equalCursors) F(getArrayElementType) F(getCString) \
    F(getCanonicalType) F(getCursorDefinition) F(getCursorExtent) F(getCursorKind) F(getCursorLinkage) \
    F(getCursorLocation) F(getCursorReferenced) F(getCursorResultType) F(getCursorSemanticParent) \
    F(getCursorSpelling) F(getCursorType) F(getDiagnostic) F(getDiagnosticLocation) F(getDiagnosticSeverity) \
    F(getDiagnosticSpelling) F(getExpansionLocation) F(getFile) F(getFileName) F(getIncludedFile) F(getNullCursor) \
    F(getNumDiagnostics) F(getPointeeType) F(getRangeEnd) F(getRangeStart) F(getSpellingLocation) \
    F(getTranslationUnitCursor) F(getTypeDeclaration) F(getTypeSpelling) F(isConstQualifiedType) F(isCursorDefinition) F(isExpression) \
    F(parseTranslationUnit2) F(visitChildren)
// clang-format on
struct clang_library {
#define CLANG_FUNCTION(name) __typeof__(clang_##name) *name;
    CLANG_FUNCTIONS(CLANG_FUNCTION)
#undef CLANG_FUNCTION
};
extern struct clang_library libclang;
bool clang_load(struct ctx *c); /* false: a diagnostic says why it cannot be */

struct source_place place_of(CXSourceLocation l, int width);
const char *source_string(struct source *s, CXString t); /* interns and disposes of t */
enum dtype clang_dtype(CXType t);                        /* of a numeric type; NONE: it is not one */
/* The result of a function of sizes for these arguments. NULL after a diagnostic: its body is not a formula. */
const struct formula *c_formula(struct source *s, CXCursor fn, const struct formula *const *args, int nargs);
/* The same of a function of scalars, whose parameters stand for themselves, by name; without an error: NULL, and *why
 * at *at says what is in the way. */
const struct formula *c_formula_or(struct source *s, CXCursor fn, const char **why, struct source_place *at);
#endif
