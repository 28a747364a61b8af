// Batching: requests to runs of the model and back. See model.hpp.
#include "model.hpp"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

namespace {
std::size_t elements(const std::int64_t *dims, std::size_t rank) {
    std::size_t n = 1;
    for (std::size_t k = 0; k < rank; k++) n *= static_cast<std::size_t>(dims[k]);
    return n;
}
} // namespace

served::file::file(const std::string &path) : descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor < 0) throw std::system_error(errno, std::generic_category(), path);
}
served::file::~file() { close(descriptor); }

served::served(const std::string &library, const std::string &weights, const options &o)
    : opened(library), from(opened.name()), session(from, gcc2nn::options{weights, "", nullptr, nullptr, 0}), given(o) {
    find_batch();
    worker = std::thread(&served::work, this);
}
served::~served() {
    {
        std::lock_guard<std::mutex> hold(lock);
        stopping = true;
    }
    come.notify_all();
    worker.join();
}

// The symbol that is the first dimension of every input and output.
void served::find_batch() {
    const gcc2nn_model_v1 &m = model();
    std::int64_t found = -1;
    for (std::int32_t k = 0; k < m.inputs + m.outputs; k++) {
        const gcc2nn_tensor_v1 &t = k < m.inputs ? m.input[k] : m.output[k - m.inputs];
        const std::int64_t symbol = t.rank > 0 && !t.found ? t.dims[0].symbol : -1;
        if (symbol < 0 || (k > 0 && symbol != found)) return;
        found = symbol;
    }
    if (found < 0 || m.symbol[found].least > 1) return;
    batch = static_cast<int>(found);
    most = std::min(given.most, m.symbol[found].most);
}

std::vector<std::int64_t> served::symbols_of(const std::vector<tensor> &inputs) const {
    const gcc2nn_model_v1 &m = model();
    std::vector<std::int64_t> value(static_cast<std::size_t>(m.symbols), -1);
    for (std::size_t k = 0; k < inputs.size(); k++) {
        const gcc2nn_tensor_v1 &t = m.input[k];
        const std::string name = std::string("input \"") + t.name + "\"";
        bool fits = inputs[k].dims.size() == static_cast<std::size_t>(t.rank);
        for (std::size_t d = 0; fits && d < inputs[k].dims.size(); d++) {
            const gcc2nn_dim_v1 &dim = t.dims[d];
            const std::int64_t n = inputs[k].dims[d];
            fits = dim.size < 0 ? n >= 0 : n == dim.size;
            if (dim.symbol < 0 || !fits) continue;
            std::int64_t &v = value[static_cast<std::size_t>(dim.symbol)];
            fits = v < 0 || v == n;
            v = n;
            const gcc2nn_symbol_v1 &s = m.symbol[dim.symbol];
            if (n < s.least || n > s.most)
                throw refused(400, name + ": \"" + s.name + "\" may be " + std::to_string(s.least) + " to " + std::to_string(s.most));
        }
        if (!fits) throw refused(400, name + " has another shape than " + t.shape);
    }
    for (std::size_t k = 0; k < value.size(); k++)
        if (value[k] < 0) value[k] = m.symbol[k].typical; // of no input alone
    return value;
}

std::future<std::vector<tensor>> served::submit(std::vector<tensor> inputs) {
    job j{std::move(inputs), {}, 1, std::chrono::steady_clock::now(), {}};
    j.symbols = symbols_of(j.inputs);
    if (batch >= 0) j.rows = j.symbols[static_cast<std::size_t>(batch)];
    auto future = j.answer.get_future();
    {
        std::lock_guard<std::mutex> hold(lock);
        if (waiting.size() >= given.queue) throw refused(503, "too many requests wait");
        waiting.push_back(std::move(j));
    }
    come.notify_one();
    return future;
}

bool served::goes_with(const job &first, const job &j, std::int64_t rows) const {
    if (batch < 0 || rows + j.rows > most) return false;
    for (std::size_t k = 0; k < j.symbols.size(); k++)
        if (static_cast<int>(k) != batch && j.symbols[k] != first.symbols[k]) return false;
    return true;
}

// The requests of the next run, in the order in which they came; none: the end.
std::vector<served::job> served::next() {
    std::unique_lock<std::mutex> hold(lock);
    come.wait(hold, [this] { return stopping || !waiting.empty(); });
    std::vector<job> jobs;
    if (waiting.empty()) return jobs;
    const auto enough = [this] {
        std::int64_t rows = 0;
        for (const job &j : waiting) rows += j.rows;
        return stopping || rows >= most;
    };
    if (batch >= 0) come.wait_until(hold, waiting.front().since + given.delay, enough);
    std::int64_t rows = 0;
    while (!waiting.empty() && (jobs.empty() || goes_with(jobs.front(), waiting.front(), rows))) {
        rows += waiting.front().rows;
        jobs.push_back(std::move(waiting.front()));
        waiting.pop_front();
    }
    return jobs;
}

void served::work() {
    for (;;) {
        std::vector<job> jobs = next();
        if (jobs.empty()) return;
        try {
            run(jobs);
        } catch (...) {
            for (job &j : jobs) j.answer.set_exception(std::current_exception());
        }
        answered += jobs.size();
        executed++;
    }
}

void served::run(std::vector<job> &jobs) {
    const gcc2nn_model_v1 &m = model();
    std::int64_t rows = 0;
    for (const job &j : jobs) rows += j.rows;
    for (std::int32_t k = 0; k < m.symbols; k++)
        session.symbol(m.symbol[k].name, k == batch ? rows : jobs.front().symbols[static_cast<std::size_t>(k)]);
    std::vector<gcc2nn::memory> all; // of each input, the rows of all requests
    for (std::size_t k = 0; k < static_cast<std::size_t>(m.inputs); k++) {
        std::size_t size = 0;
        for (const job &j : jobs) size += j.inputs[k].bytes.size();
        all.emplace_back(size);
        unsigned char *to = all.back().data();
        for (const job &j : jobs) {
            if (!j.inputs[k].bytes.empty()) std::memcpy(to, j.inputs[k].bytes.data(), j.inputs[k].bytes.size());
            to += j.inputs[k].bytes.size();
        }
        session.input_bytes(static_cast<std::int32_t>(k), all.back().data(), size);
    }
    session.run();
    std::vector<std::vector<tensor>> answers(jobs.size());
    for (std::int32_t k = 0; k < m.outputs; k++) {
        const gcc2nn::span<const std::int64_t> dims = session.dims(k);
        const unsigned char *at = static_cast<const unsigned char *>(session.output_bytes(k));
        for (std::size_t j = 0; j < jobs.size(); j++) {
            tensor t;
            t.dims.assign(dims.begin(), dims.end());
            if (batch >= 0) t.dims[0] = jobs[j].rows;
            const std::size_t bytes = elements(t.dims.data(), t.dims.size()) * static_cast<std::size_t>(m.output[k].element);
            t.bytes.assign(at, at + bytes);
            at += bytes;
            answers[j].push_back(std::move(t));
        }
    }
    for (std::size_t j = 0; j < jobs.size(); j++) jobs[j].answer.set_value(std::move(answers[j]));
}
