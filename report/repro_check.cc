#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>

#include "report/python_text.h"
#include "report/repro_text.h"
#include "report/witness.h"

namespace ulpfuzz {
namespace {

using Lines = std::vector<std::string>;

std::string main_of(const Lines& lines) {
  std::string text = "def main():\n";
  for (const std::string& line : lines) text += "    " + line + "\n";
  return text;
}

// What the checks share: how the system under test is written, and what comes before it.
struct Subject {
  bool eager;            // the system is eager itself
  std::string label;     // "compiled"
  std::string callable;  // "torch.compile(program)"
  Lines before;          // statements
};

Subject subject_of(const Finding& finding) {
  Subject s;
  const SystemSpec system = parse_system(finding.signature.system);
  const ReproSetting setting = repro_setting(finding.minimal.environment);
  s.eager = system.name.starts_with("eager");
  s.label = s.eager ? "eager" : system.name == "fake@py" ? "fake" : "compiled";
  s.callable = compiled_text(system, finding.minimal.environment).expression;
  if (!s.eager && !setting.primed_kernels.empty()) {
    s.before = {"try:", fmt::format("    run({}, {})", s.callable, setting.primed_kernels),
                "except Exception:", "    pass  # no kernel of that choice",
                "torch._dynamo.reset()"};
  }
  return s;
}

// "[1, 2].item()" of a call.
std::string element_of(const Witness& w, const std::string& call) {
  const std::vector<std::int64_t> at = w.subscripts();
  const bool complex = is_complex(w.exact.type.dtype);
  const std::string tensor = complex ? fmt::format("torch.view_as_real({})", call) : call;
  if (at.empty()) return tensor + ".item()";
  return fmt::format("{}[{}].item()", tensor, fmt::join(at, ", "));
}

ReproCheck numeric(const Finding&, const Subject& s, const Witness& w) {
  ReproCheck check{w.shown, {w.tensor, false}, {}, ""};
  Lines lines = s.before;
  if (!s.eager) lines.push_back("eager = " + element_of(w, "run(program)"));
  lines.push_back(
      fmt::format("{} = {}", s.label, element_of(w, fmt::format("run({})", s.callable))));
  const std::string value = s.label;
  const double exact = w.exact_value();
  std::string judged, allowed;
  if (w.integral()) {
    const auto& set = w.index < w.exact.acceptable.size() ? w.exact.acceptable[w.index]
                                                          : std::vector<std::int64_t>();
    judged = set.empty() ? fmt::format("{} == exact", value)
                         : fmt::format("{} in [{}]", value, fmt::join(set, ", "));
    allowed = set.size() > 1 ? fmt::format("; as good: {}", fmt::join(set, ", ")) : "";
    lines.push_back(fmt::format("exact = {}", w.exact.integers[w.index]));
  } else if (std::isnan(exact)) {
    judged = fmt::format("{0} != {0}", value);
    lines.push_back("exact = float('nan')");
  } else if (std::isinf(exact)) {
    judged = fmt::format("{} == exact", value);
    lines.push_back("exact = " + python_number(exact));
  } else if (w.allowed == std::numeric_limits<double>::max()) {
    judged = fmt::format("abs({}) < float('inf')", value);
    lines.push_back("exact = " + python_number(exact));
  } else {
    judged = fmt::format("abs({} - exact) <= allowed", value);
    lines.push_back(fmt::format("exact, allowed = {}, {:.3g}  # {}", python_number(exact),
                                w.allowed,
                                w.from_bound ? "twice the largest error that rounding explains"
                                             : "half of the error that was seen"));
    allowed = fmt::format("; error {{abs({} - exact):.3g}}, allowed {{allowed:.3g}}", value);
  }
  const std::vector<std::int64_t> at = w.subscripts();
  lines.push_back(fmt::format("print(f'torch {{torch.__version__}}: element [{}] of {}')",
                              fmt::join(at, ", "), w.tensor));
  lines.push_back("print(f'exact    {exact!r}')");
  if (!s.eager) lines.push_back("print(f'eager    {eager!r}')");
  lines.push_back(fmt::format("print(f'{:<8} {{{}!r}}{}')", s.label, value, allowed));
  lines.push_back(fmt::format("return 0 if {} else 1", judged));
  check.functions = main_of(lines);
  return check;
}

ReproCheck metadata(const Finding& finding, const Subject& s, Case shown) {
  const Fact& fact = leading_fact(finding);
  const bool fake = !finding.system_run.has_values;
  const bool alias =
      fact.detail.find(fake ? "kernel's storage" : "shares storage") != std::string::npos;
  const bool strides = !fact.tensor.starts_with("gradient ");  // autograd promises none
  ReproCheck check{std::move(shown), {fact.tensor, alias}, {}, ""};
  std::string layout = "tensor.dtype, tuple(tensor.shape)";
  if (fake) {
    layout += ", [s for n, s in zip(tensor.shape, tensor.stride()) if n > 1]";
    layout += ", tensor.storage_offset()";
  } else if (strides) {
    layout += ", tensor.stride()";
  }
  const std::string storage = fake ? "untyped_storage()._cdata" : "untyped_storage().data_ptr()";
  if (alias) {
    check.functions =
        "def layout(result):\n"
        "    tensor, others = result\n"
        "    storage = tensor." +
        storage + "\n    shared = [o." + storage + " == storage for o in others]\n    return " +
        layout + ", 'shares with inputs, outputs:', shared\n\n";
  } else {
    check.functions =
        "def layout(tensor):\n    return None if tensor is None else (" + layout + ")\n\n";
  }
  Lines lines = s.before;
  lines.push_back("eager = layout(run(program))");
  lines.push_back(fmt::format("{} = layout(run({}))", s.label, s.callable));
  lines.push_back(fmt::format("print(f'torch {{torch.__version__}}: {}')", fact.tensor));
  lines.push_back("print('eager   ', *eager or [None])");
  lines.push_back(fmt::format("print('{0:<8}', *{0} or [None])", s.label));
  lines.push_back(fmt::format("return 0 if {} == eager else 1", s.label));
  check.functions += main_of(lines);
  return check;
}

// The beginning of a message that names an inner exception: "NotImplementedError".
std::string inner_exception(const std::string& message) {
  const std::string head = message.substr(0, message.find(": "));
  const bool is_name = !head.empty() && head.size() < message.size() &&
                       head.find_first_not_of(
                           "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                           "_.") == std::string::npos;
  return is_name ? head : "";
}

ReproCheck exception(const Finding& finding, const Subject& s, Case shown) {
  ReproCheck check{std::move(shown), {}, {}, ""};
  const bool eager_raises = finding.eager_run.status == Run::Status::kRaised;
  const Run& run = eager_raises ? finding.eager_run : finding.system_run;
  const bool stride = finding.signature.kind == VerdictKind::kStrideAssert;
  const std::string key = stride ? "expected size" : inner_exception(run.exception_message);
  std::string seen = fmt::format("type(error).__name__ == '{}'", run.exception_type);
  if (!key.empty()) seen += fmt::format(" and '{}' in str(error)", key);
  const std::string print = "print(f'{type(error).__name__}: {error}'[:1000])";
  Lines lines{"print('torch', torch.__version__)"};
  lines.insert(lines.end(), s.before.begin(), s.before.end());
  if (eager_raises) {
    lines.insert(
        lines.end(),
        {"try:", "    run(program)", "except Exception as error:", "    print('eager raises')",
         "    " + print, fmt::format("    if not ({}):", seen), "        return 2", "else:",
         "    print('eager runs')", "    return 0", "try:", fmt::format("    run({})", s.callable),
         "except Exception as error:", "    print('compiled raises')", "    " + print,
         "    return 0", "print('compiled runs')", "return 1"});
  } else {
    lines.insert(
        lines.end(),
        {"run(program)", "print('eager runs')", "try:", fmt::format("    run({})", s.callable),
         "except Exception as error:", "    print('compiled raises')", "    " + print,
         fmt::format("    return 1 if {} else 2", seen), "print('compiled runs')", "return 0"});
  }
  check.functions = main_of(lines);
  return check;
}

// In a process of its own, as it dies or never ends.
ReproCheck death(const Finding& finding, const Subject& s, Case shown) {
  ReproCheck check{std::move(shown), {}, {"subprocess"}, ""};
  const bool hang = finding.signature.kind == VerdictKind::kHang;
  const bool memory = finding.system_run.status == Run::Status::kOutOfMemory;
  Lines lines{"if sys.argv[1:] == ['child']:"};
  if (memory) {
    check.imports.push_back("resource");
    lines.push_back("    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))");
  }
  for (const std::string& line : s.before) lines.push_back("    " + line);
  lines.push_back(fmt::format("    run({})", s.callable));
  lines.push_back("    return 0");
  lines.push_back("print('torch', torch.__version__)");
  if (!s.eager) lines.insert(lines.end(), {"run(program)", "print('eager runs')"});
  lines.push_back("command = [sys.executable, __file__, 'child']");
  if (hang) {
    lines.insert(
        lines.end(),
        {"try:", "    subprocess.run(command, timeout=600)", "except subprocess.TimeoutExpired:",
         fmt::format("    print('{} does not end in 600 s')", s.label), "    return 1",
         fmt::format("print('{} ends')", s.label), "return 0"});
  } else {
    lines.push_back("status = subprocess.run(command).returncode");
    lines.push_back(fmt::format("print('{}: exit status', status)", s.label));
    lines.push_back(memory ? "return 0 if status == 0 else 1"
                           : "return 1 if status < 0 else min(status, 2)");
  }
  check.functions = main_of(lines);
  return check;
}

ReproCheck kernels(const Finding& finding, const Subject& s, Case shown) {
  ReproCheck check{std::move(shown), {}, {}, ""};
  check.functions =
      "def fused(f, **how):  # the attention kernels that ran; none: products and a softmax\n"
      "    run(f, **how)\n"
      "    with torch.profiler.profile() as profiler:\n"
      "        run(f, **how)\n"
      "    names = {event.key for event in profiler.key_averages()}\n"
      "    kinds = 'flash_attention', 'efficient_attention', 'cudnn_attention'\n"
      "    return sorted(n for n in names if n.startswith('aten::_scaled') and any(k in n for k in "
      "kinds))\n\n";
  Lines lines = s.before;
  const auto& choice = finding.minimal.environment.sdpa;
  if (s.eager && choice) {  // what the first of the list, by itself, runs
    lines.push_back("ran = fused(program)");
    lines.push_back(fmt::format("first = fused(program, kernels=[SDPBackend.{}])",
                                name(choice->kernels.front())));
    lines.push_back("print('torch', torch.__version__)");
    lines.push_back("print('first of the list by itself', first or 'math')");
    lines.push_back("print('the list, in order of priority', ran or 'math')");
    lines.push_back("return 0 if ran == first else 1");
    check.functions += main_of(lines);
    return check;
  }
  lines.push_back("eager = fused(program)");
  lines.push_back(fmt::format("compiled = fused({})", s.callable));
  lines.push_back("print('torch', torch.__version__)");
  lines.push_back("print('eager   ', eager or 'math')");
  lines.push_back("print('compiled', compiled or 'math')");
  lines.push_back("return 0 if compiled == eager else 1");
  check.functions += main_of(lines);
  return check;
}

ReproCheck repeated(const Finding& finding, const Subject& s, Case shown) {
  ReproCheck check{std::move(shown), {leading_fact(finding).tensor, false}, {}, ""};
  Lines lines = s.before;
  lines.push_back(fmt::format("f = {}", s.callable));
  lines.push_back(
      "results = [run(f).contiguous().reshape(-1).view(torch.uint8) for _ in range(20)]");
  lines.push_back("differ = sum(not torch.equal(results[0], r) for r in results)");
  lines.push_back("print(f'torch {torch.__version__}: {differ} of 19 repetitions differ')");
  lines.push_back("return 1 if differ else 0");
  check.functions = main_of(lines);
  return check;
}

// Nothing that a script could decide: it shows the results.
ReproCheck shown_only(const Subject& s, Case shown) {
  ReproCheck check{std::move(shown), {}, {}, ""};
  Lines lines = s.before;
  lines.push_back("print('torch', torch.__version__)");
  lines.push_back("print('eager   ', run(program))");
  if (!s.eager) lines.push_back(fmt::format("print('compiled', run({}))", s.callable));
  lines.push_back("return 2  # whether this is a failure takes exact arithmetic");
  check.functions = main_of(lines);
  return check;
}

}  // namespace

ReproCheck repro_check(const Finding& finding, const OpTable& table) {
  const Subject s = subject_of(finding);
  if (const std::optional<Witness> w = witness(finding, table)) return numeric(finding, s, *w);
  Case shown = bind_symbols(finding.minimal);
  switch (finding.signature.kind) {
    case VerdictKind::kMetadata:
      return metadata(finding, s, std::move(shown));
    case VerdictKind::kStrideAssert:
    case VerdictKind::kCompileError:
    case VerdictKind::kAcceptReject:
      return exception(finding, s, std::move(shown));
    case VerdictKind::kCrash:
    case VerdictKind::kHang:
      return death(finding, s, std::move(shown));
    case VerdictKind::kKernelMismatch:
      return kernels(finding, s, std::move(shown));
    case VerdictKind::kNondeterministic:
      return repeated(finding, s, std::move(shown));
    default:
      return shown_only(s, std::move(shown));
  }
}

}  // namespace ulpfuzz
