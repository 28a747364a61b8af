// The Open Inference Protocol (KServe and Triton call it HTTP v2): its JSON and its binary tensors, from and to those of a
// model. https://github.com/kserve/open-inference-protocol
#pragma once
#include "model.hpp"
#include <nlohmann/json.hpp>

// What an inference request asks.
struct question {
    std::vector<tensor> inputs;       // in the order of the model
    std::vector<std::int32_t> wanted; // outputs
    std::vector<bool> binary;         // of each of these: as bytes behind the JSON
    std::string id;
};
struct message {
    std::string body;
    std::size_t json_size = 0; // where bytes follow: of the part before; else 0
};

nlohmann::json describe(const std::string &name, const gcc2nn_model_v1 &m);
// json_size: of the header Inference-Header-Content-Length; 0: the whole body is JSON. Throws `refused`.
question read_question(const gcc2nn_model_v1 &m, const std::string &body, std::size_t json_size);
message write_answer(const std::string &name, const gcc2nn_model_v1 &m, const question &q, const std::vector<tensor> &outputs);
