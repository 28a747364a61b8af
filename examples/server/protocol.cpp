// JSON and bytes to tensors and back. See protocol.hpp.
#include "protocol.hpp"
#include <cmath>
#include <cstring>
#include <limits>

using nlohmann::json;

namespace {
// ---- types
const char *datatype(std::int32_t onnx) {
    switch (onnx) {
    case 1: return "FP32";
    case 2: return "UINT8";
    case 3: return "INT8";
    case 4: return "UINT16";
    case 5: return "INT16";
    case 6: return "INT32";
    case 7: return "INT64";
    case 9: return "BOOL";
    case 10: return "FP16";
    case 11: return "FP64";
    case 12: return "UINT32";
    case 13: return "UINT64";
    case 16: return "BF16";
    default: return nullptr; // strings, complex numbers, types below a byte: this sample does not serve them
    }
}
// f(T()) with the type of C++; false: JSON has no numbers of this one.
template <class F> bool with_type(std::int32_t onnx, F f) {
    switch (onnx) {
    case 1: return f(float()), true;
    case 2: return f(std::uint8_t()), true;
    case 3: return f(std::int8_t()), true;
    case 4: return f(std::uint16_t()), true;
    case 5: return f(std::int16_t()), true;
    case 6: return f(std::int32_t()), true;
    case 7: return f(std::int64_t()), true;
    case 9: return f(bool()), true;
    case 11: return f(double()), true;
    case 12: return f(std::uint32_t()), true;
    case 13: return f(std::uint64_t()), true;
    default: return false;
    }
}

// Of a request, for a message. What holds others is not printed: how deep it is nested is the client's choice, and printing recurs.
std::string shown(const json &v) { return v.is_structured() ? std::string("an ") + v.type_name() : v.dump().substr(0, 40); }

// ---- numbers
template <class T> T number(const json &v) {
    if constexpr (std::is_same_v<T, bool>) {
        if (v.is_boolean()) return v.get<bool>();
    } else if constexpr (std::is_floating_point_v<T>) {
        if (v.is_number() && std::abs(v.get<double>()) <= static_cast<double>(std::numeric_limits<T>::max())) return static_cast<T>(v.get<double>());
    } else if (v.is_number_unsigned()) {
        if (v.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<T>::max())) return static_cast<T>(v.get<std::uint64_t>());
    } else if (v.is_number_integer() && std::is_signed_v<T>) {
        if (v.get<std::int64_t>() >= static_cast<std::int64_t>(std::numeric_limits<T>::min())) return static_cast<T>(v.get<std::int64_t>());
    }
    throw refused(400, "\"data\" holds " + shown(v) + ", which is no number of the datatype");
}
// Flat or nested, no deeper than the tensor.
template <class T> void flatten(const json &v, std::size_t depth, std::vector<unsigned char> &out) {
    if (!v.is_array()) {
        const T x = number<T>(v);
        const auto *p = reinterpret_cast<const unsigned char *>(&x);
        out.insert(out.end(), p, p + sizeof x);
        return;
    }
    if (depth == 0) throw refused(400, "\"data\" is nested more deeply than \"shape\"");
    for (const json &e : v) flatten<T>(e, depth - 1, out);
}

// ---- requests
const json &member(const json &o, const char *name) {
    if (!o.is_object() || !o.contains(name)) throw refused(400, std::string("\"") + name + "\" is missing");
    return o[name];
}
bool flag(const json &o, const char *name, bool otherwise) {
    const auto parameters = o.find("parameters");
    if (parameters == o.end() || !parameters->is_object() || !parameters->contains(name)) return otherwise;
    const json &v = (*parameters)[name];
    if (!v.is_boolean()) throw refused(400, std::string("parameter \"") + name + "\" is not true or false");
    return v.get<bool>();
}
std::int32_t find(const gcc2nn_tensor_v1 *table, std::int32_t n, const json &name, const char *what) {
    for (std::int32_t k = 0; k < n; k++)
        if (name.is_string() && name.get_ref<const std::string &>() == table[k].name) return k;
    throw refused(400, std::string("the model has no ") + what + " " + shown(name));
}
// `rest` is what the binary tensors before this one have left of the bytes behind the JSON.
tensor read_tensor(const gcc2nn_tensor_v1 &t, const json &o, std::string_view &rest) {
    tensor r;
    const char *type = datatype(t.type);
    if (!type) throw refused(400, std::string("input \"") + t.name + "\" is " + t.shape + ", which is not served");
    if (member(o, "datatype") != type) throw refused(400, std::string("input \"") + t.name + "\" has datatype " + type);
    for (const json &d : member(o, "shape")) r.dims.push_back(number<std::int64_t>(d));
    std::size_t n = 1;
    for (std::int64_t d : r.dims) {
        if (d < 0 || (d > 0 && n > (std::size_t(1) << 40) / static_cast<std::size_t>(d))) throw refused(400, "\"shape\" is impossible");
        n *= static_cast<std::size_t>(d);
    }
    const auto parameters = o.find("parameters");
    if (parameters != o.end() && parameters->is_object() && parameters->contains("binary_data_size")) {
        const auto size = number<std::uint64_t>((*parameters)["binary_data_size"]);
        if (size > rest.size()) throw refused(400, "\"binary_data_size\" is more than the body holds");
        r.bytes.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(size));
        rest.remove_prefix(static_cast<std::size_t>(size));
    } else {
        const json &data = member(o, "data");
        const std::size_t depth = r.dims.empty() ? 1 : r.dims.size();
        if (!with_type(t.type, [&](auto x) { flatten<decltype(x)>(data, depth, r.bytes); }))
            throw refused(400, std::string(type) + " is taken as binary data only");
    }
    if (r.bytes.size() != n * static_cast<std::size_t>(t.element))
        throw refused(400, std::string("input \"") + t.name + "\" holds another number of elements than \"shape\" says");
    return r;
}
} // namespace

json describe(const std::string &name, const gcc2nn_model_v1 &m) {
    json o = {{"name", name}, {"versions", json::array({m.hash})}, {"platform", std::string("gcc2nn_") + m.target}};
    for (int side = 0; side < 2; side++) {
        json list = json::array();
        for (std::int32_t k = 0; k < (side ? m.outputs : m.inputs); k++) {
            const gcc2nn_tensor_v1 &t = side ? m.output[k] : m.input[k];
            json shape = json::array();
            for (std::int32_t d = 0; d < t.rank; d++) shape.push_back(t.dims[d].size);
            list.push_back({{"name", t.name}, {"datatype", datatype(t.type) ? datatype(t.type) : "unserved"}, {"shape", shape}});
        }
        o[side ? "outputs" : "inputs"] = list;
    }
    return o;
}

question read_question(const gcc2nn_model_v1 &m, const std::string &body, std::size_t json_size) {
    if (json_size > body.size()) throw refused(400, "Inference-Header-Content-Length is more than the body holds");
    const std::string_view whole = body, text = json_size ? whole.substr(0, json_size) : whole;
    std::string_view rest = json_size ? whole.substr(json_size) : std::string_view();
    const json o = json::parse(text.begin(), text.end(), nullptr, false);
    if (o.is_discarded()) throw refused(400, "the body is not JSON");
    question q;
    q.inputs.resize(static_cast<std::size_t>(m.inputs));
    std::vector<bool> seen(q.inputs.size());
    for (const json &t : member(o, "inputs")) {
        const auto k = static_cast<std::size_t>(find(m.input, m.inputs, member(t, "name"), "input"));
        if (seen[k]) throw refused(400, std::string("input \"") + m.input[k].name + "\" is given twice");
        seen[k] = true;
        q.inputs[k] = read_tensor(m.input[k], t, rest);
    }
    for (std::size_t k = 0; k < seen.size(); k++)
        if (!seen[k]) throw refused(400, std::string("input \"") + m.input[k].name + "\" is missing");
    if (!rest.empty()) throw refused(400, "more bytes follow the JSON than its inputs have");
    const bool binary = flag(o, "binary_data_output", false);
    if (o.contains("outputs"))
        for (const json &t : o["outputs"]) {
            const std::int32_t k = find(m.output, m.outputs, member(t, "name"), "output");
            for (std::int32_t other : q.wanted) // else a short request could have an answer of any length
                if (other == k) throw refused(400, std::string("output \"") + m.output[k].name + "\" is given twice");
            q.wanted.push_back(k);
            q.binary.push_back(flag(t, "binary_data", binary));
        }
    else
        for (std::int32_t k = 0; k < m.outputs; k++) q.wanted.push_back(k), q.binary.push_back(binary);
    for (std::int32_t k : q.wanted)
        if (!datatype(m.output[k].type)) throw refused(400, std::string("output \"") + m.output[k].name + "\" is " + m.output[k].shape + ", which is not served");
    if (o.contains("id") && o["id"].is_string()) q.id = o["id"];
    return q;
}

message write_answer(const std::string &name, const gcc2nn_model_v1 &m, const question &q, const std::vector<tensor> &outputs) {
    json o = {{"model_name", name}, {"model_version", m.hash}}, list = json::array();
    std::string bytes;
    if (!q.id.empty()) o["id"] = q.id;
    for (std::size_t k = 0; k < q.wanted.size(); k++) {
        const gcc2nn_tensor_v1 &t = m.output[q.wanted[k]];
        const tensor &v = outputs[static_cast<std::size_t>(q.wanted[k])];
        json one = {{"name", t.name}, {"datatype", datatype(t.type)}, {"shape", v.dims}};
        json data = json::array();
        const bool text = !q.binary[k] && with_type(t.type, [&](auto x) {
            for (std::size_t i = 0; i < v.bytes.size(); i += sizeof x) {
                std::memcpy(&x, v.bytes.data() + i, sizeof x);
                data.push_back(x);
            }
        });
        if (text) {
            one["data"] = std::move(data);
        } else { // also what JSON has no numbers for
            one["parameters"] = {{"binary_data_size", v.bytes.size()}};
            bytes.append(v.bytes.begin(), v.bytes.end());
        }
        list.push_back(std::move(one));
    }
    o["outputs"] = std::move(list);
    message r{o.dump(-1, ' ', false, json::error_handler_t::replace), 0};
    if (!bytes.empty()) r.json_size = r.body.size();
    r.body += bytes;
    return r;
}
