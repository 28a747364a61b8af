/* TOML by toml++. See toml_read.h. Nothing of the library, and no exception, leaves this file. */
#include "compiler/toml_read.h"
extern "C" {
#include "ir/base/arena.h"
}
#include <algorithm>
#include <charconv>
#include <cstring>
#include <toml++/toml.h>

namespace {
const int MOST_KEYS = 64; /* of one path */
struct item {
    struct toml_entry e;
    item *before;
};
struct reader {
    struct arena *a;
    item *last;
    int n, depth;
    const char *path[MOST_KEYS];
};
const char *copy(reader &r, std::string_view s) {
    char *out = static_cast<char *>(arena_alloc(r.a, s.size() + 1));
    std::memcpy(out, s.data(), s.size());
    return out;
}
void add(reader &r, const toml::node &n, toml_kind kind, const char *text, bool in_array) {
    item *i = static_cast<item *>(arena_alloc(r.a, sizeof *i));
    const void *path = arena_copy(r.a, r.path, static_cast<size_t>(r.depth) * sizeof *r.path);
    i->e = {static_cast<const char *const *>(path), r.depth, kind, in_array, text,
            static_cast<int>(n.source().begin.line)};
    i->before = r.last, r.last = i, r.n++;
}
template <typename T> void add_number(reader &r, const toml::node &n, T v, bool in_array) {
    char text[64];
    const char *end = std::to_chars(text, text + sizeof text, v).ptr;
    add(r, n, TOML_NUMBER, copy(r, std::string_view(text, static_cast<size_t>(end - text))), in_array);
}
/* A string with a zero byte would be cut short. */
void add_value(reader &r, const toml::node &n, bool in_array) {
    auto s = n.as_string();
    if (s && s->get().find('\0') == std::string_view::npos) add(r, n, TOML_STRING, copy(r, s->get()), in_array);
    else if (auto i = n.as_integer()) add_number(r, n, i->get(), in_array);
    else if (auto f = n.as_floating_point()) add_number(r, n, f->get(), in_array);
    else if (auto b = n.as_boolean()) add(r, n, TOML_BOOL, b->get() ? "true" : "false", in_array);
    else add(r, n, TOML_OTHER, "", in_array);
}
void visit(reader &r, const toml::node &n) {
    auto table = n.as_table();
    if (table && r.depth < MOST_KEYS) {
        add(r, n, TOML_TABLE, nullptr, false);
        for (auto &&[key, value] : *table) {
            r.path[r.depth++] = copy(r, key.str());
            visit(r, value);
            r.depth--;
        }
    } else if (auto array = n.as_array()) {
        for (auto &&value : *array) add_value(r, value, true);
        if (array->empty()) add(r, n, TOML_OTHER, "", true);
    } else {
        add_value(r, n, false);
    }
}
/* Tables are sorted by key: as they stand in the file messages come in the order of lines. */
struct toml_list in_order(reader &r) {
    struct toml_entry *v = NEWN(r.a, struct toml_entry, r.n);
    int k = r.n;
    for (item *i = r.last; i; i = i->before) v[--k] = i->e;
    std::stable_sort(v, v + r.n, [](const toml_entry &x, const toml_entry &y) { return x.line < y.line; });
    return {v, r.n, 0, nullptr};
}
struct toml_list failed(reader &r, unsigned line, std::string_view why) {
    return {nullptr, 0, static_cast<int>(line), copy(r, why)};
}
} // namespace

extern "C" struct toml_list toml_read(struct arena *a, const char *text, size_t size) {
    reader r = {};
    r.a = a;
    try {
        visit(r, toml::parse(std::string_view(text, size)));
        return in_order(r);
    } catch (const toml::parse_error &e) {
        return failed(r, e.source().begin.line, e.description());
    } catch (const std::exception &e) { return failed(r, 1, e.what()); }
}
