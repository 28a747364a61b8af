/* A compiled model for C++, of any version from C++17 on; with C++20, `gcc2nn::span` is std::span. Nothing to build.
 *
 *     #include "digits.h"
 *     #include "nn_model.hpp"
 *
 *     gcc2nn::session net(*digits_info());      // or: gcc2nn::session net(gcc2nn::library("./libdigits.so"));
 *     std::vector<float> picture(64);
 *     net.input("picture", picture);
 *     net.run();
 *     gcc2nn::span<const float> scores = net.output<float>("scores");
 *
 * A session is one context with its memory, and is moved, not copied; use one for each thread. What fails throws
 * gcc2nn::error (from the standard library: std::bad_alloc). */
#ifndef NN_MODEL_HPP
#define NN_MODEL_HPP
#include "nn_model.h"
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>
#if __has_include(<version>)
#include <version>
#endif
#ifdef __cpp_lib_span
#include <span>
#endif
#if defined __unix__ || defined __APPLE__
#include <dlfcn.h>
#endif

namespace gcc2nn {

#ifdef __cpp_lib_span
template <class T> using span = std::span<T>;
#else
/* As much of std::span as is needed here. */
template <class T> class span {
    T *first = nullptr;
    std::size_t n = 0;

public:
    using element_type = T;
    constexpr span() = default;
    constexpr span(T *data, std::size_t size) : first(data), n(size) {}
    template <class C, class = decltype(static_cast<T *>(std::declval<C &>().data()))>
    constexpr span(C &&c) : first(c.data()), n(c.size()) {}
    template <std::size_t N> constexpr span(T (&a)[N]) : first(a), n(N) {}
    constexpr T *data() const { return first; }
    constexpr std::size_t size() const { return n; }
    constexpr bool empty() const { return n == 0; }
    constexpr T *begin() const { return first; }
    constexpr T *end() const { return first + n; }
    constexpr T &operator[](std::size_t k) const { return first[k]; }
};
#endif

/* `status` is one of enum nn_status. */
class error : public std::runtime_error {
public:
    int status;
    error(int s, const std::string &text) : std::runtime_error(text), status(s) {}
};

/* Bytes aligned as arenas and weights must be. */
class memory {
    std::unique_ptr<unsigned char[]> raw;
    std::size_t n = 0;

public:
    memory() = default;
    explicit memory(std::size_t size) : raw(new unsigned char[size + NN_ALIGN]), n(size) {}
    unsigned char *data() const {
        if (!raw) return nullptr;
        const auto at = reinterpret_cast<std::uintptr_t>(raw.get());
        return raw.get() + (NN_ALIGN - at % NN_ALIGN) % NN_ALIGN;
    }
    std::size_t size() const { return n; }
};

#if defined __unix__ || defined __APPLE__
/* A shared library with a model; it stays loaded while a copy of this, or a session of it, is there. */
class library {
    std::shared_ptr<void> handle;
    const gcc2nn_model_v1 *found = nullptr;

public:
    explicit library(const std::string &path) : handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), [](void *h) {
        if (h) dlclose(h);
    }) {
        const char *why = handle ? nullptr : dlerror();
        if (!handle) throw error(NN_EARG, why ? why : path + " cannot be loaded");
        const auto exported = reinterpret_cast<gcc2nn_model_v1_fn *>(dlsym(handle.get(), "gcc2nn_model_v1"));
        if (!exported) throw error(NN_EARG, path + " is no model: it does not export gcc2nn_model_v1");
        found = exported();
    }
    const gcc2nn_model_v1 &model() const { return *found; }
};
#endif

/* What a session may be given beside the model; zeros are defaults. */
struct options {
    std::string weights;           /* the weights file, for a model that has one */
    std::string without;           /* instruction sets not to use */
    void *threads = nullptr;       /* an nn_threads, which must live as long as the session */
    void *stream = nullptr;        /* a cudaStream_t */
    std::int64_t max_iterations = 0;
};

/* ONNX's number of an element's type in C++; 0: any type of this size. */
template <class T> constexpr std::int32_t type_of() {
    using U = std::remove_cv_t<T>;
    if constexpr (std::is_same_v<U, float>) return 1;
    else if constexpr (std::is_same_v<U, double>) return 11;
    else if constexpr (std::is_same_v<U, std::int8_t>) return 3;
    else if constexpr (std::is_same_v<U, std::int16_t>) return 5;
    else if constexpr (std::is_integral_v<U> && sizeof(U) == 4) return std::is_signed_v<U> ? 6 : 12; /* int and long may be alike */
    else if constexpr (std::is_integral_v<U> && sizeof(U) == 8) return std::is_signed_v<U> ? 7 : 13;
    else if constexpr (std::is_same_v<U, nn_str>) return 8;
    else if constexpr (std::is_same_v<U, nn_c64>) return 14;
    else if constexpr (std::is_same_v<U, nn_c128>) return 15;
    else return 0; /* bytes, bits of halves: one C++ type stands for several */
}

class session {
    struct given { /* elements of an input */
        const void *data = nullptr;
        std::size_t bytes = 0;
    };
    struct state { /* what the context points to keeps its place when a session is moved */
        std::shared_ptr<void> keep;
        const gcc2nn_model_v1 *model = nullptr;
        gcc2nn_config_v1 config = {};
        std::string without;
        memory context, arena, weights;
        bool opened = false, ran = false;
        std::vector<std::int64_t> symbols;
        std::vector<given> inputs;
        std::vector<gcc2nn_result_v1> results;
        std::vector<memory> room;

        ~state() {
            if (opened) model->close(context.data());
        }
    };
    std::unique_ptr<state> s;

    static int grow(void *user, std::size_t need, void **arena, std::size_t *size) {
        state &s = *static_cast<state *>(user);
        try {
            s.arena = memory(need > 2 * *size ? need : 2 * *size);
        } catch (const std::bad_alloc &) {
            return 0;
        }
        s.config.arena = *arena = s.arena.data();
        s.config.arena_size = *size = s.arena.size();
        return 1;
    }
    void check(int status) const {
        if (status == NN_OK) return;
        std::string text = std::string(s->model->name) + ": " + s->model->status_text(status);
        if (s->opened) {
            nn_error e = {};
            s->model->error(s->context.data(), &e);
            if (e.what) text += std::string(": ") + e.what;
            if (e.where) text += std::string(" at ") + e.where;
        }
        throw error(status, text);
    }
    static std::size_t count(const std::int64_t *dims, std::int32_t rank) {
        std::int64_t n = 1;
        for (std::int32_t k = 0; k < rank; k++) n *= dims[k];
        return static_cast<std::size_t>(n);
    }
    static std::int32_t number(const gcc2nn_tensor_v1 *table, std::int32_t n, std::string_view name, const char *what) {
        for (std::int32_t k = 0; k < n; k++)
            if (name == table[k].name) return k;
        throw error(NN_EARG, "the model has no " + std::string(what) + " \"" + std::string(name) + "\"");
    }
    template <class T> static void same_type(const gcc2nn_tensor_v1 &t) {
        if (sizeof(T) != static_cast<std::size_t>(t.element) || (type_of<T>() != 0 && type_of<T>() != t.type))
            throw error(NN_EARG, "\"" + std::string(t.name) + "\" is " + t.shape + ", of another type than was given");
    }
    const gcc2nn_tensor_v1 &input_at(std::int32_t k) const {
        if (k < 0 || k >= s->model->inputs) throw error(NN_EARG, "the model has no such input");
        return s->model->input[k];
    }
    const gcc2nn_result_v1 &result_at(std::int32_t k) const {
        if (k < 0 || k >= s->model->outputs) throw error(NN_EARG, "the model has no such output");
        if (!s->ran) throw error(NN_EARG, "the model has not been run");
        return s->results[static_cast<std::size_t>(k)];
    }
    /* By the sizes as they are now: they may be set behind the inputs. */
    void check_input(std::int32_t k, std::size_t bytes) const {
        const gcc2nn_tensor_v1 &t = input_at(k);
        std::int64_t dims[GCC2NN_RANK] = {};
        check(s->model->input_dims(k, s->symbols.data(), dims));
        const std::size_t want = count(dims, t.rank) * static_cast<std::size_t>(t.element);
        if (bytes != want)
            throw error(NN_EARG, "\"" + std::string(t.name) + "\" is " + t.shape + ": " + std::to_string(want) + " bytes, not " +
                                     std::to_string(bytes));
    }
    void init() {
        s->opened = true;
        check(s->model->init(s->context.data(), &s->config));
    }
    /* An arena that does for the symbols as they are. */
    void reserve() {
        std::size_t need = 0;
        check(s->model->arena(s->symbols.data(), &need));
        const bool on_device = (s->model->flags & GCC2NN_DEVICE) != 0;
        if (!on_device && (!s->opened || need > s->arena.size())) {
            s->arena = memory(need);
            s->config.arena = s->arena.data();
            s->config.arena_size = s->arena.size();
            init();
        } else if (!s->opened) {
            init();
        }
    }

public:
    explicit session(const gcc2nn_model_v1 &model, const options &o = {}) : s(new state) {
        s->model = &model;
        s->context = memory(model.context_bytes);
        s->without = o.without;
        if (!o.without.empty()) s->config.without = s->without.c_str();
        s->config.threads = o.threads;
        s->config.stream = o.stream;
        s->config.max_iterations = o.max_iterations;
        s->config.grow = grow;
        s->config.user = s.get();
        if (model.weights_bytes > 0) {
            std::ifstream file(o.weights, std::ios::binary);
            s->weights = memory(model.weights_bytes);
            if (!file.read(reinterpret_cast<char *>(s->weights.data()), static_cast<std::streamsize>(s->weights.size())))
                throw error(NN_EWEIGHTS, "the weights cannot be read from \"" + o.weights + "\"");
            s->config.weights = s->weights.data();
            s->config.weights_size = s->weights.size();
        }
        for (std::int32_t k = 0; k < model.symbols; k++) s->symbols.push_back(model.symbol[k].typical);
        s->inputs.resize(static_cast<std::size_t>(model.inputs));
        s->results.resize(static_cast<std::size_t>(model.outputs));
        s->room.resize(static_cast<std::size_t>(model.outputs));
    }
#if defined __unix__ || defined __APPLE__
    explicit session(const library &from, const options &o = {}) : session(from.model(), o) {
        s->keep = std::make_shared<library>(from);
    }
#endif
    const gcc2nn_model_v1 &model() const { return *s->model; }

    /* Sets a size that the caller chooses, such as "batch"; those that are not set have their typical value. */
    void symbol(std::string_view name, std::int64_t value) {
        for (std::int32_t k = 0; k < s->model->symbols; k++) {
            const gcc2nn_symbol_v1 &y = s->model->symbol[k];
            if (name != y.name) continue;
            if (value < y.least || value > y.most)
                throw error(NN_EDIMS, "\"" + std::string(name) + "\" may be " + std::to_string(y.least) + " to " + std::to_string(y.most));
            s->symbols[static_cast<std::size_t>(k)] = value;
            return;
        }
        throw error(NN_EARG, "the model has no size \"" + std::string(name) + "\"");
    }
    /* Elements of an input, row-major. They stay the caller's, and must be there in run. */
    template <class T> void input(std::int32_t k, span<const T> elements) {
        same_type<T>(input_at(k));
        input_bytes(k, elements.data(), elements.size() * sizeof(T));
    }
    template <class C> void input(std::int32_t k, const C &elements) {
        input(k, span<const std::remove_cv_t<std::remove_pointer_t<decltype(std::data(elements))>>>(std::data(elements), std::size(elements)));
    }
    template <class C> void input(std::string_view name, const C &elements) {
        input(number(s->model->input, s->model->inputs, name, "input"), elements);
    }
    /* The same for elements of a type that is known at run time only. */
    void input_bytes(std::int32_t k, const void *elements, std::size_t bytes) {
        check_input(k, bytes);
        s->inputs[static_cast<std::size_t>(k)] = given{elements, bytes};
    }
    void run() {
        std::vector<const void *> inputs;
        s->ran = false;
        for (std::size_t k = 0; k < s->inputs.size(); k++) {
            check_input(static_cast<std::int32_t>(k), s->inputs[k].bytes);
            inputs.push_back(s->inputs[k].data);
        }
        reserve();
        for (std::size_t k = 0; k < s->results.size(); k++) {
            const gcc2nn_tensor_v1 &t = s->model->output[k];
            s->results[k].capacity = 0;
            if (t.found) continue;
            check(s->model->output_dims(static_cast<std::int32_t>(k), s->symbols.data(), s->results[k].dims));
            s->results[k].capacity = count(s->results[k].dims, t.rank);
            const std::size_t bytes = s->results[k].capacity * static_cast<std::size_t>(t.element);
            if (!s->room[k].data() || s->room[k].size() < bytes) s->room[k] = memory(bytes);
            s->results[k].data = s->room[k].data();
        }
        check(s->model->run(s->context.data(), s->symbols.data(), inputs.data(), s->results.data()));
        s->ran = true;
    }
    /* What the last run gave; valid until the next one. */
    template <class T> span<const T> output(std::int32_t k) const {
        const gcc2nn_result_v1 &r = result_at(k);
        same_type<T>(s->model->output[k]);
        return {static_cast<const T *>(r.data), count(r.dims, s->model->output[k].rank)};
    }
    template <class T> span<const T> output(std::string_view name) const {
        return output<T>(number(s->model->output, s->model->outputs, name, "output"));
    }
    const void *output_bytes(std::int32_t k) const { return result_at(k).data; }
    span<const std::int64_t> dims(std::int32_t k) const { return {result_at(k).dims, static_cast<std::size_t>(s->model->output[k].rank)}; }
};

} // namespace gcc2nn
#endif
