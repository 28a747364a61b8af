/* One row per diagnostic code: CODE(identifier, number, title, cause, example, remedy). The example is a message, as it
 * is printed. Included several times with different CODE macros. Numbers are stable: never reuse one. 01xx files, 02xx
 * models, 03xx ops and types, 04xx sizes, 05xx IR text and verifiers, 06xx schedules, 07xx command line, 08xx targets,
 * 09xx environment. */
CODE(E_FILE, 101, "cannot read a file", "The file does not exist, cannot be opened, or ends before its contents do.",
     "nowhere.onnx: No such file or directory",
     "Check the path, which is relative to the current folder, and the permissions. A file that ends early was not "
     "downloaded or copied completely.")
CODE(E_EXTERNAL, 102, "external data refused",
     "External data must be a regular file below the model's folder, without symbolic links or `..`, with one hard "
     "link, and long enough for the tensor that names it.",
     "model.onnx: external data \"../weights.bin\": the location contains `..`",
     "Put the data file beside the model under the name that the model gives, as a file of its own, or save the model "
     "with its data inside (`onnx.save_model(..., save_as_external_data=False)`).")
CODE(E_WRITE, 103, "cannot write the output",
     "The output folder could not be written. Outputs are written beside their final place and renamed at the end, so "
     "nothing is left half-written.",
     "model.onnx: \"results\" exists and was not written by gcc2nn",
     "Name another place with --out. Only regular files, empty folders and those with a manifest of gcc2nn are "
     "replaced.")
CODE(E_ONNX, 201, "not a valid ONNX model",
     "The file is not an ONNX protobuf message, is truncated, nests too deeply, or declares sizes that its bytes do "
     "not have.",
     "model.onnx: the file ends too early for an ONNX model (byte 12, in ModelProto: a length exceeds the enclosing "
     "message)",
     "Fetch or export the file again. `onnx.checker.check_model` gives details. The message says if the file looks "
     "like a model of another kind, a Git LFS pointer, an archive or a web page.")
CODE(E_GRAPH, 202, "the graph is not well formed",
     "A value is used before it is defined, defined twice, or the graph has a cycle.",
     "model.onnx: node 3 \"conv2\" (Conv): input 1 \"w2\" is not defined",
     "Export the model again, or fix the tool that edited it: outputs need unique names, and inputs must be outputs of "
     "earlier nodes, inputs of the graph or initializers.")
CODE(E_OPSET, 203, "opset not supported",
     "The model asks for an operator set version that this compiler does not know.",
     "model.onnx: opset 99 of domain ai.onnx is not known; 1 to 28 are",
     "Export with the opset that the message names, or convert the model with `onnx.version_converter`.")
CODE(E_LIMIT, 204, "a limit was exceeded",
     "The model exceeds a limit on depth, count or total bytes that protects against hostile files.",
     "model.onnx: more than 1000 opsets", "Valid models are far below these limits; check how the file was made.")
CODE(E_OP, 301, "operator not supported",
     "No definition, expansion or control function exists for this operator in this opset.",
     "a.gir: node 0 (Foo): operator \"Foo\" is not supported",
     "`gcc2nn list-ops` shows the supported operators. Export the model without this one, or as a model-local function "
     "of others, or add it (docs/adding.md).")
CODE(E_ATTR, 302, "bad attribute", "An attribute is missing, has the wrong type, or a value outside its range.",
     "a.gir: node 0 (Concat): axis 7 is outside the rank 1",
     "Compare the node's attributes with the operator's section of the ONNX specification.")
CODE(E_TYPE, 303, "type mismatch", "An input has an element type or kind that the operator does not accept here.",
     "a.gir: node 1 (Add): the operands have different element types, f32 and i64",
     "Put a Cast before the node. `gcc2nn inspect` shows the types of the model's inputs.")
CODE(E_SHAPE, 304, "shape mismatch", "The shapes of a node's inputs do not fit together, or do not fit the operator.",
     "a.gir: node 0 (Reshape): the number of elements changes",
     "If sizes were given with --dim or --shape, see whether the model can run with them; `gcc2nn compile "
     "--dump-after=infer` "
     "prints all shapes up to the node.")
CODE(E_RANK, 305, "rank not known or not accepted",
     "The number of dimensions of a value could not be found at compile time, or the operator does not take so many.",
     "model.onnx: input \"x\": the model does not say how many dimensions it has",
     "Give the input's shape: --shape 'NAME=1x3x?x?', ? for any size.")
CODE(E_ARITY, 306, "wrong number of inputs or outputs",
     "A node has more or fewer inputs or outputs than its operator takes.",
     "a.gir: node 0 (Relu): 2 inputs, but the operator takes at most 1",
     "Compare the node with the operator's section of the ONNX specification; older versions of an operator may take "
     "fewer.")
CODE(E_SAY, 307, "ONNX cannot say it",
     "A model is to be written as ONNX, but one of its nodes, inputs or outputs has no counterpart there: it is an "
     "operator of the compiler's own, or a form that the requested opset does not have.",
     "model.onnx: node 4 \"norm\" (GroupNormalization): ONNX has no operator for what stands here: GroupNormalization "
     "of the compiler's own",
     "Write the model as it is after an earlier pass (--stop-after=import), or for a newer opset (--opset).")
CODE(E_CUSTOM, 310, "a custom operator cannot be used",
     "A function given with --op or --op-path cannot be an operator: its signature, its comment or its C does not "
     "follow docs/custom-operators.md.",
     "scale.c:4:31: parameter \"s\" is struct state *: an operator takes pointers to numbers, and numbers",
     "The message shows the place; docs/custom-operators.md has an example of each kind.")
CODE(E_PASS, 311, "a custom pass cannot be used, or has failed",
     "A shared object given with --pass is not a pass for this compiler's interface, reports an error, or left a graph "
     "that breaks a rule.",
     "clamp.so: it is no pass: the symbol gcc2nn_pass is missing",
     "docs/custom-passes.md says what a pass is; --no-pass=NAME leaves it out.")
CODE(E_SIZE, 401, "size out of range",
     "A dimension, element count or byte size is negative or exceeds what can be addressed.",
     "model.onnx: node 2 (Slice): the result would have a negative dimension (axis 1)",
     "Look at the sizes that were given with --dim and --shape, and at the ranges of symbolic ones.")
CODE(E_DIM, 402, "dimension not known", "This command needs a value for every symbolic dimension.",
     "model.onnx: no value is given for batch",
     "Give it with --dim NAME=SIZE, or for a range with --dim NAME=LO..HI@SIZE, or give inputs with --data.")
CODE(E_PARSE, 501, "syntax error in IR text", "The text form of the graph IR or the loop IR could not be parsed.",
     "v.lir:1: `,` expected at the end of the line",
     "docs/graph-ir.md and docs/loop-ir.md have the grammars; the message names the line.")
CODE(E_VERIFY, 502, "the IR verifier refused",
     "The text is well formed, but breaks a rule of the IR: an undefined name, an index that may leave its buffer, a "
     "race, or types that disagree.",
     "v.lir: procedure p, `y[i] = x[i]`: index 1 of y: i may be at or above 4",
     "docs/graph-ir.md and docs/loop-ir.md list the rules. If compiling a model leads to this error, to a syntax error "
     "in IR text or to a refused step, it is a bug in gcc2nn: it exits with 70 and says how to report it.")
CODE(
    E_FAULT, 503, "run-time check failed",
    "A check in the program failed at run time: an index, a size or a divisor was out of range. Or the program did not "
    "finish in time.",
    "model.onnx: the compiled model ended with status 3: model: a check of the model failed: an index or a size is out "
    "of range at node 0 \"e\" (Gather)",
    "Check the inputs: generated ones may not make sense for the model; give real ones with --data or --input. "
    "--timeout gives more time.")
CODE(E_BROKEN, 504, "a mistake in gcc2nn",
     "The output of a pass, of the lowering or of the memory planner breaks a rule of the IR, or the generated program "
     "crashed. Nothing is written.",
     "model.onnx: after lowering: procedure k1_add, `y[i] = x[i]`: index 1 of y: i may be at or above 4",
     "Please report it, with the model and the command; the message says how. Leaving out a pass (--no-pass) or using "
     "another target may avoid it.")
CODE(E_STEP, 601, "schedule step refused", "The step's precondition does not hold for the loop or buffer it names.",
     "inputs/relu.lir: step `split nowhere 4 a b` in relu: there is no loop named `nowhere`",
     "The message says which condition; its help names the step that makes it hold, where there is one. "
     "docs/schedules.md "
     "lists the steps.")
CODE(E_RECORD, 602, "recorded choice not taken",
     "The file of --choices says how to compute this kernel's problem on this machine, but the compiler does not offer "
     "this choice, or one of its steps is refused.",
     "model.onnx: kernel k1_conv cannot be computed as recorded: \"contraction: lanes 16 along n0, tile 99 x 1 of s1, "
     "packed\"",
     "The kernel is computed as if there were no record. `--dump-after=choices` prints the available choices; make the "
     "record again.")
CODE(E_USAGE, 701, "bad command line", "An option is unknown, lacks its argument, or arguments contradict each other.",
     "gcc2nn: `gcc2nn inspect` needs MODEL", "`gcc2nn COMMAND --help` lists the options, with examples.")
CODE(E_TARGET, 801, "not available on this target", "The target does not offer what the model or the option needs.",
     "model.onnx: target cuda has no strings, as in \"labels\"",
     "Choose another one: `gcc2nn list-targets` names them.")
CODE(E_BUDGET, 802, "budget exceeded",
     "The compiled model needs more memory than the target's board has, or more of something than --budget or the "
     "baseline of bench allows.",
     "model.onnx: too large for MPS2 with AN386: 46738944 bytes of weights and 4072448 of arena, inputs and outputs; "
     "it has "
     "4193280 of flash, 4194304 of RAM and 16777216 outside of the chip",
     "Use a smaller or quantized model, smaller sizes (--dim), or a larger board; docs/budgets.md says what each item "
     "of "
     "a budget is.")
CODE(E_MACHINE, 803, "wrong numbers of a machine",
     "The file given with --machine was not written by `gcc2nn calibrate`, is damaged, lacks a number, has an unknown "
     "one or one out of range, or is for another target.",
     "cpu.json: \"l1.byte\" is 80, and must be from 0.000244141 to 8 cycles/byte",
     "Measure again on that machine with `gcc2nn calibrate --target=TARGET -o FILE`; docs/machine.md lists the keys "
     "with their units and ranges.")
CODE(E_ENV, 901, "something is missing in the environment",
     "A compiler, emulator or package that this command needs was not found, or refuses to work.",
     "model.onnx: the compiler \"nocc\" was not found",
     "Install it, or name another compiler with --cc. `gcc2nn list-targets --json` names the compiler and the emulator "
     "of "
     "each target.")
CODE(
    E_OUTPUT, 902, "outputs differ",
    "The generated code's outputs differ from the reference or from ONNX Runtime's by more than the tolerance, or from "
    "the interpreter's in a bit.",
    "model.onnx: output 0, \"y\", differs from the reference: element 3 of 10 is -0.67, expected 0.33 (error 1, 0.55 "
    "of the greatest magnitude; 0.0001 of it is allowed)",
    "`gcc2nn verify --each-node` finds the first node that differs, `gcc2nn bisect` the cause. If --against=ort "
    "differs from the reference too, the reference belongs to other inputs or to another model. If the interpreter "
    "agrees with ONNX Runtime, it is a bug in gcc2nn: please report it.")
CODE(E_CALIBRATION, 903, "samples differ from those of the calibration",
     "A tensor has values that its range was not made for: more than 0.1 % of them lie outside of it, or their "
     "distribution differs (a Jensen-Shannon divergence above 0.1).",
     "model.onnx: warning: tensor \"x\" has other values in eval than in calib: 4.2 % lie outside of its range, "
     "distance "
     "0.31",
     "Calibrate on samples like those that the model will see, prepared in the same way: scaled, in the same order of "
     "channels, with the same mean subtracted.")
