"""client.py FOLDER: starts the server in FOLDER, asks it as clients of the Open Inference Protocol do, and holds the answers to those
of the same libraries called from Python. Uses Triton's own client too, if `pip install tritonclient[http]` was done.
"""
import concurrent.futures
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import threading

import numpy as np
from nn_model import Model

FOLDER = sys.argv[1]
rng = np.random.default_rng(1)


def library(name):
    return os.path.join(FOLDER, name, f"lib{name}.so")


class Client:
    def __init__(self, port):
        self.port = port

    def ask(self, method, path, body=None, headers=None, status=200):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body if isinstance(body, bytes) or body is None else json.dumps(body), headers or {})
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        assert answer.status == status, (path, answer.status, data)
        size = answer.getheader("Inference-Header-Content-Length")
        return (json.loads(data[:int(size)]), data[int(size):]) if size else json.loads(data)

    def infer(self, model, picture):
        """(version, scores), by JSON."""
        value = self.ask("POST", f"/v2/models/{model}/infer", {"id": "7", "inputs": [
            {"name": "picture", "datatype": "FP32", "shape": picture.shape, "data": picture.tolist()}]})
        assert value["id"] == "7" and value["model_name"] == model
        output, = value["outputs"]
        return value["model_version"], np.array(output["data"], np.float32).reshape(output["shape"])

    def stats(self, model):
        return self.ask("GET", f"/v2/models/{model}/stats")["model_stats"][0]


def pictures(n):
    return rng.random((n, 1, 8, 8), np.float32)


def facts(c):
    c.ask("GET", "/v2/health/live")
    c.ask("GET", "/v2/models/digits/ready")
    value = c.ask("GET", "/v2/models/digits_int8")
    assert value["inputs"] == [{"name": "picture", "datatype": "FP32", "shape": [-1, 1, 8, 8]}], value
    print("two models:", ", ".join(c.ask("GET", f"/v2/models/{m}")["platform"] + " " + m for m in ("digits", "digits_int8")))


def answers(c, models):
    for name, model in models.items():
        for n in 1, 3, 64:
            x = pictures(n)
            version, scores = c.infer(name, x)
            assert version == model.hash and np.array_equal(scores, model.run(x)[0]), name


def binary(c, models):
    """Tensors as bytes behind the JSON, both ways."""
    x = pictures(2)
    head = json.dumps({"inputs": [{"name": "picture", "datatype": "FP32", "shape": [2, 1, 8, 8], "parameters": {"binary_data_size": x.nbytes}}],
                       "outputs": [{"name": "scores", "parameters": {"binary_data": True}}]}).encode()
    value, data = c.ask("POST", "/v2/models/digits/infer", head + x.tobytes(), {"Inference-Header-Content-Length": str(len(head))})
    assert value["outputs"][0]["parameters"]["binary_data_size"] == 80 == len(data)
    assert np.array_equal(np.frombuffer(data, np.float32).reshape(2, 10), models["digits"].run(x)[0])


def batches(c, models):
    """Requests that come together are run together, and each gets its own rows."""
    before, xs = c.stats("digits"), [pictures(1 + k % 3) for k in range(200)]
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        got = list(pool.map(lambda x: c.infer("digits", x)[1], xs))
    for x, scores in zip(xs, got):
        assert np.array_equal(scores, models["digits"].run(x)[0])
    after = c.stats("digits")
    requests, runs = (after[k] - before[k] for k in ("inference_count", "execution_count"))
    assert requests == 200 and runs < 50, (requests, runs)
    print(f"{requests} requests in {runs} runs")


def mistakes(c):
    x = pictures(1)
    good = {"name": "picture", "datatype": "FP32", "shape": [1, 1, 8, 8], "data": x.ravel().tolist()}
    for change, text in (({"shape": [1, 8, 8]}, "another shape than"), ({"shape": [2, 1, 8, 8]}, "number of elements"),
                         ({"shape": [64, 1]}, "another shape than"), ({"datatype": "INT8"}, "has datatype FP32"), ({"name": "pixels"}, "no input"),
                         ({"data": ["a"] * 64}, "no number"), ({"shape": [-1, 1, 8, 8]}, "impossible"), ({"data": [[[[[1]]]]]}, "nested"), ({"data": 1e39}, "holds 1e+39"),
                         ({"shape": [65, 1, 8, 8], "data": [0] * 65 * 64}, "may be 1 to 64"), ({"shape": [1 << 40] * 4}, "impossible")):
        error = c.ask("POST", "/v2/models/digits/infer", {"inputs": [{**good, **change}]}, status=400)["error"]
        assert text in error, (change, error)
    for body, headers, text in ((b"{", {}, "not JSON"), (b"[]", {}, "is missing"), (b"[" * 100000, {}, "not JSON"), ({"inputs": []}, {}, "is missing"),
                                (b"{}", {"Inference-Header-Content-Length": "9"}, "more than the body"),
                                (b"{}", {"Inference-Header-Content-Length": "-1"}, "no size"),
                                ({"inputs": [good, good]}, {}, "given twice")):
        assert text in c.ask("POST", "/v2/models/digits/infer", body, headers, status=400)["error"], body
    deep = '{"a":' * 100000 + "1" + "}" * 100000
    for key in "name", "datatype", "shape", "data":
        body = json.dumps({"inputs": [{**good, key: "deep"}]}).replace('"deep"', deep).encode()
        c.ask("POST", "/v2/models/digits/infer", body, status=400)
    wanted = {"inputs": [good], "outputs": [{"name": "scores"}] * 2}
    assert "given twice" in c.ask("POST", "/v2/models/digits/infer", wanted, status=400)["error"]
    c.ask("GET", "/v2/models/none", status=404)


def hot_swap(c, models):
    """The library is replaced under load: no request fails, and each answer is that of the version which it names."""
    stop, wrong, seen = threading.Event(), [], set()

    def load():
        while not stop.is_set():
            try:
                version, scores = c.infer("digits", fixed)
                seen.add(version)
                if not np.array_equal(scores, expected[version]):
                    wrong.append(version)
            except Exception as e:      # pylint: disable=broad-except
                wrong.append(repr(e))
    fixed = pictures(2)
    expected = {m.hash: m.run(fixed)[0] for m in models.values()}
    threads = [threading.Thread(target=load) for _ in range(8)]
    for t in threads:
        t.start()
    for source in "digits_int8", "digits", "digits_int8", "digits":
        shutil.copy(os.path.join(FOLDER, source + ".so"), library("digits") + ".new")
        os.replace(library("digits") + ".new", library("digits"))
        c.ask("POST", "/v2/repository/models/digits/load")
        assert c.infer("digits", fixed)[0] == models[source].hash
    stop.set()
    for t in threads:
        t.join()
    assert not wrong and len(seen) == 2, (wrong[:3], seen)
    c.ask("POST", "/v2/repository/models/digits/unload")
    c.ask("GET", "/v2/models/digits/ready", status=400)
    c.ask("POST", "/v2/repository/models/digits/load")
    print("swapped four times under load")


def triton(c, models):
    try:
        import tritonclient.http as t
    except ImportError:
        print("tritonclient is not installed: not asked by it")
        return
    client = t.InferenceServerClient(f"127.0.0.1:{c.port}")
    assert client.is_server_live() and client.is_model_ready("digits_int8")
    x = pictures(3)
    given = t.InferInput("picture", list(x.shape), "FP32")
    for as_binary in True, False:
        given.set_data_from_numpy(x, binary_data=as_binary)
        wanted = [t.InferRequestedOutput("scores", binary_data=as_binary)]
        scores = client.infer("digits_int8", [given], outputs=wanted).as_numpy("scores")
        assert np.array_equal(scores, models["digits_int8"].run(x)[0])
    print("tritonclient got the same")


def main():
    for name in "digits", "digits_int8":        # the client keeps its own, whatever becomes of the server's
        shutil.copy(library(name), os.path.join(FOLDER, name + ".so"))
    models = {name: Model(os.path.join(FOLDER, name + ".so")) for name in ("digits", "digits_int8")}
    server = subprocess.Popen([os.path.join(FOLDER, "server"), "--port=0", "--delay-us=20000", "--max-batch=64"] + [f"{n}={library(n)}" for n in models],
                              stdout=subprocess.PIPE, text=True)
    try:
        line = server.stdout.readline()
        assert line.startswith("listening on 127.0.0.1:"), line
        c = Client(int(line.rsplit(":", 1)[1]))
        facts(c)
        answers(c, models)
        binary(c, models)
        batches(c, models)
        mistakes(c)
        triton(c, models)
        hot_swap(c, models)
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 0, server.returncode
    finally:
        server.kill()
    print("all answers are right")


main()
