/* One row per diagnostic code: CODE(identifier, number, title, text). Included several times with different CODE
 * macros. Numbers are stable: never reuse one. 01xx files, 02xx models, 03xx ops and types, 04xx sizes, 05xx IR text
 * and verifiers, 06xx schedules, 07xx command line, 08xx targets, 09xx environment. */
CODE(E_FILE, 101, "cannot read a file", "The file does not exist, cannot be opened, or ends before its contents do.")
CODE(E_EXTERNAL, 102, "external data refused",
     "External data must be a regular file below the model's folder, without symbolic links or `..`, with one hard "
     "link, and long enough for the tensor that names it.")
CODE(E_WRITE, 103, "cannot write the output",
     "The output folder could not be written. Outputs are written beside their final place and renamed at the end, so "
     "nothing is left half-written.")
CODE(E_ONNX, 201, "not a valid ONNX model",
     "The file is not an ONNX protobuf message, is truncated, nests too deeply, or declares sizes that its bytes do "
     "not have.")
CODE(E_GRAPH, 202, "the graph is not well formed",
     "A value is used before it is defined, defined twice, or the graph has a cycle.")
CODE(E_OPSET, 203, "opset not supported",
     "The model asks for an operator set version that this compiler does not know.")
CODE(E_LIMIT, 204, "a limit was exceeded",
     "The model exceeds a limit on depth, count or total bytes that protects against hostile files.")
CODE(E_OP, 301, "operator not supported",
     "No definition, expansion or control function exists for this operator in this opset.")
CODE(E_ATTR, 302, "bad attribute", "An attribute is missing, has the wrong type, or a value outside its range.")
CODE(E_TYPE, 303, "type mismatch", "An input has an element type or kind that the operator does not accept here.")
CODE(E_SHAPE, 304, "shape mismatch", "The shapes of a node's inputs do not fit together, or do not fit the operator.")
CODE(E_RANK, 305, "unknown rank",
     "The number of dimensions of a value could not be found at compile time. Give the input's shape with --shape "
     "NAME=AxBxC.")
CODE(E_ARITY, 306, "wrong number of inputs or outputs",
     "A node has more or fewer inputs or outputs than its operator takes.")
CODE(E_SIZE, 401, "size out of range",
     "A dimension, element count or byte size is negative or exceeds what can be addressed.")
CODE(E_DIM, 402, "dimension not known", "This command needs a value for every symbolic dimension: --dim NAME=VALUE.")
CODE(E_PARSE, 501, "syntax error in IR text", "The text form of the graph IR or the loop IR could not be parsed.")
CODE(E_VERIFY, 502, "the IR verifier refused",
     "The text is well formed, but breaks a rule of the IR: an undefined name, an index that may leave its buffer, a "
     "race, or types that disagree.")
CODE(E_FAULT, 503, "run-time check failed",
     "A check of the program failed while it was interpreted: an index, a size or a divisor was out of range.")
CODE(E_STEP, 601, "schedule step refused", "The step's precondition does not hold for the loop or buffer it names.")
CODE(E_USAGE, 701, "bad command line", "An option is unknown, lacks its argument, or arguments contradict each other.")
CODE(E_TARGET, 801, "not available on this target",
     "The target's rows do not offer what the model or the option needs.")
CODE(E_BUDGET, 802, "budget exceeded", "The compiled model needs more arena, flash or time than the budget given.")
CODE(E_ENV, 901, "something is missing in the environment",
     "A compiler, emulator or package that this command needs was not found.")
CODE(E_OUTPUT, 902, "outputs differ",
     "The generated code's outputs differ from the reference by more than the tolerance.")
