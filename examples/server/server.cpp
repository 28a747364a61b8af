// Serves compiled models over HTTP, by the Open Inference Protocol (v2), with dynamic batches.
//
//     server [--host=127.0.0.1] [--port=8000] [--max-batch=32] [--delay-us=2000] NAME=LIBRARY[,WEIGHTS]...
//
// A model is loaded again by POST /v2/repository/models/NAME/load, from the file that its library is by then: requests that
// have come are answered by the old one, those that come are by the new one. --port=0 takes any; the first line says which.
#include "protocol.hpp"
#include <csignal>
#include <cstdio>
#include <httplib.h>
#include <map>
#include <memory>
#include <shared_mutex>

using nlohmann::json;

namespace {
struct place {
    std::string library, weights;
    std::shared_ptr<served> model; // nullptr: unloaded
};
struct repository {
    options given;
    std::map<std::string, place> models; // the names never change
    std::shared_mutex lock;

    std::shared_ptr<served> get(const std::string &name) {
        std::shared_lock<std::shared_mutex> hold(lock);
        const auto found = models.find(name);
        if (found == models.end()) throw refused(404, "there is no model \"" + name + "\"");
        if (!found->second.model) throw refused(400, "the model \"" + name + "\" is not loaded");
        return found->second.model;
    }
    void load(const std::string &name, bool there) {
        const auto found = models.find(name);
        if (found == models.end()) throw refused(404, "there is no model \"" + name + "\"");
        place &p = found->second;
        auto next = there ? std::make_shared<served>(p.library, p.weights, given) : nullptr;
        std::unique_lock<std::shared_mutex> hold(lock);
        p.model.swap(next);
        hold.unlock(); // the old one goes when its last request is answered
    }
};

httplib::Server *running;
void stop(int) { running->stop(); }

void fail(httplib::Response &r, int status, const std::string &why) {
    r.status = status;
    r.set_content(json{{"error", why}}.dump(-1, ' ', false, json::error_handler_t::replace), "application/json");
}
// A handler whose exceptions are answers.
template <class F> httplib::Server::Handler answered(F f) {
    return [f](const httplib::Request &q, httplib::Response &r) {
        try {
            f(q, r);
        } catch (const refused &e) {
            fail(r, e.status, e.what());
        } catch (const std::exception &e) {
            fail(r, 500, e.what());
        }
    };
}
void infer(repository &all, const httplib::Request &q, httplib::Response &r) {
    const std::string name = q.matches[1];
    const std::shared_ptr<served> model = all.get(name);
    std::size_t json_size = 0;
    if (q.has_header("Inference-Header-Content-Length")) {
        const std::string value = q.get_header_value("Inference-Header-Content-Length");
        if (value.empty() || value.size() > 15 || value.find_first_not_of("0123456789") != std::string::npos || (json_size = std::stoull(value)) == 0)
            throw refused(400, "Inference-Header-Content-Length is no size");
    }
    question asked = read_question(model->model(), q.body, json_size);
    const std::vector<tensor> outputs = model->submit(std::move(asked.inputs)).get();
    const message m = write_answer(name, model->model(), asked, outputs);
    if (m.json_size) r.set_header("Inference-Header-Content-Length", std::to_string(m.json_size));
    r.set_content(m.body, m.json_size ? "application/octet-stream" : "application/json");
}
void routes(httplib::Server &http, repository &all) {
    const auto ok = [](const httplib::Request &, httplib::Response &r) { r.set_content("{}", "application/json"); };
    const auto say = [](httplib::Response &r, const json &o) { r.set_content(o.dump(-1, ' ', false, json::error_handler_t::replace), "application/json"); };
    http.Get("/v2", [say](const httplib::Request &, httplib::Response &r) {
        say(r, {{"name", "gcc2nn"}, {"version", "1"}, {"extensions", {"binary_tensor_data", "model_repository", "statistics"}}});
    });
    http.Get("/v2/health/live", ok);
    http.Get("/v2/health/ready", ok);
    http.Get(R"(/v2/models/([^/]+)/ready)", answered([&all, ok](const auto &q, auto &r) { all.get(q.matches[1]), ok(q, r); }));
    http.Get(R"(/v2/models/([^/]+))", answered([&all, say](const auto &q, auto &r) { say(r, describe(q.matches[1], all.get(q.matches[1])->model())); }));
    http.Get(R"(/v2/models/([^/]+)/stats)", answered([&all, say](const auto &q, auto &r) {
                 const auto model = all.get(q.matches[1]);
                 say(r, {{"model_stats", {{{"name", std::string(q.matches[1])}, {"version", model->model().hash},
                                           {"inference_count", model->requests()}, {"execution_count", model->runs()}}}}});
             }));
    http.Post(R"(/v2/models/([^/]+)/infer)", answered([&all](const auto &q, auto &r) { infer(all, q, r); }));
    http.Post(R"(/v2/repository/models/([^/]+)/(load|unload))", answered([&all, ok](const auto &q, auto &r) {
                  all.load(q.matches[1], q.matches[2] == "load");
                  ok(q, r);
              }));
}
bool option(const char *word, const char *name, std::string &value) {
    const std::string begin = std::string("--") + name + "=";
    if (std::strncmp(word, begin.c_str(), begin.size()) != 0) return false;
    value = word + begin.size();
    return true;
}
long whole(const std::string &value, long most) {
    char *end;
    const long v = std::strtol(value.c_str(), &end, 10);
    if (value.empty() || *end || v < 0 || v > most) throw std::runtime_error("`" + value + "` is not a number from 0 to " + std::to_string(most));
    return v;
}
int serve(int argc, char **argv) {
    repository all;
    std::string host = "127.0.0.1", value;
    int port = 8000;
    for (int k = 1; k < argc; k++) {
        const std::string word = argv[k];
        const auto equals = word.find('=');
        if (option(argv[k], "host", value)) host = value;
        else if (option(argv[k], "port", value)) port = static_cast<int>(whole(value, 65535));
        else if (option(argv[k], "max-batch", value)) all.given.most = std::max(1L, whole(value, 1 << 20));
        else if (option(argv[k], "delay-us", value)) all.given.delay = std::chrono::microseconds(whole(value, 60000000));
        else if (word[0] == '-' || equals == std::string::npos || equals == 0) throw std::runtime_error("`" + word + "` is not NAME=LIBRARY[,WEIGHTS]");
        else {
            const auto comma = word.find(',', equals);
            const std::string weights = comma == std::string::npos ? "" : word.substr(comma + 1);
            all.models[word.substr(0, equals)] = {word.substr(equals + 1, comma - equals - (comma == std::string::npos ? 0 : 1)), weights, nullptr};
        }
    }
    if (all.models.empty()) throw std::runtime_error("no model was given: server NAME=LIBRARY[,WEIGHTS]...");
    for (auto &m : all.models) all.load(m.first, true);
    httplib::Server http;
    routes(http, all);
    http.set_payload_max_length(std::size_t(256) << 20);
    http.new_task_queue = [] { return new httplib::ThreadPool(64); }; // requests that wait for a batch hold a thread each
    socket_t listening = INVALID_SOCKET;
    http.set_socket_options([&listening](socket_t s) {
        const int yes = 1;
        setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        listening = s;
    });
    if (port == 0) port = http.bind_to_any_port(host.c_str());
    else if (!http.bind_to_port(host.c_str(), port)) port = -1;
    if (port < 0) throw std::runtime_error("cannot listen on " + host);
    listen(listening, SOMAXCONN); // Debian's library lets five clients wait, which a burst of them is more than
    running = &http;
    std::signal(SIGINT, stop);
    std::signal(SIGTERM, stop);
    std::printf("listening on %s:%d\n", host.c_str(), port);
    std::fflush(stdout);
    return http.listen_after_bind() ? 0 : 1;
}
} // namespace

int main(int argc, char **argv) {
    try {
        return serve(argc, argv);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "server: %s\n", e.what());
        return 2;
    }
}
