// A model that is served: its library, a queue of requests, and the thread that runs them together. What stands in the queue
// at a time becomes one run, if the model has a size that is the first dimension of all its tensors: the batch.
#pragma once
#include "nn_model.hpp"
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

struct options {
    std::int64_t most = 32;                     // rows of a batch
    std::chrono::microseconds delay{2000};      // how long the first request of a batch waits for others
    std::size_t queue = 1024;                   // requests that may wait; more are refused
};

struct tensor {
    std::vector<std::int64_t> dims;
    std::vector<unsigned char> bytes; // elements, row-major
};

// The client's mistake, or the server's load; `status` is HTTP's.
class refused : public std::runtime_error {
public:
    int status;
    refused(int s, const std::string &why) : std::runtime_error(why), status(s) {}
};

class served {
public:
    // weights: the file of a model that has its weights in one; else empty.
    served(const std::string &library, const std::string &weights, const options &o);
    ~served(); // answers what is in the queue
    served(const served &) = delete;
    served &operator=(const served &) = delete;

    const gcc2nn_model_v1 &model() const { return from.model(); }
    int batch_symbol() const { return batch; } // -1: each request is a run
    // One tensor for each input. Throws `refused` when they do not fit, or when too many wait; the future does when the run fails.
    std::future<std::vector<tensor>> submit(std::vector<tensor> inputs);
    std::uint64_t requests() const { return answered; }
    std::uint64_t runs() const { return executed; }

private:
    // The library's file, open: its name for dlopen is this descriptor's, for by the name of a path that is loaded already
    // the old library would be found again, whatever the file is by now.
    struct file {
        int descriptor;
        explicit file(const std::string &path);
        ~file();
        std::string name() const { return "/proc/self/fd/" + std::to_string(descriptor); }
    };
    struct job {
        std::vector<tensor> inputs;
        std::vector<std::int64_t> symbols;
        std::int64_t rows;
        std::chrono::steady_clock::time_point since;
        std::promise<std::vector<tensor>> answer;
    };
    file opened;
    gcc2nn::library from;
    gcc2nn::session session;
    options given;
    int batch = -1;
    std::int64_t most = 1;
    std::mutex lock;
    std::condition_variable come;
    std::deque<job> waiting;
    bool stopping = false;
    std::atomic<std::uint64_t> answered{0}, executed{0};
    std::thread worker;

    void find_batch();
    std::vector<std::int64_t> symbols_of(const std::vector<tensor> &inputs) const;
    bool goes_with(const job &first, const job &j, std::int64_t rows) const;
    std::vector<job> next();
    void work();
    void run(std::vector<job> &jobs);
};
