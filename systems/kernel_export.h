#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "ir/case.h"
#include "ir/dtype.h"
#include "ir/op_row.h"
#include "ir/run.h"
#include "systems/scheduler.h"

namespace ulpfuzz {

// The C++ kernels that Inductor generated for a program, with all that is needed to run them
// without it, in each of some sizes: storages, and calls with pointers into them
// (systems/python/kernel_export.py).
struct KernelExport {
  struct Kernel {
    std::string source;                  // of `extern "C" void kernel(...)`
    std::vector<std::string> arguments;  // C++ types: "const float*", "const int64_t"
  };
  struct Buffer {
    std::int64_t bytes = 0;
    std::string input;                // the program's input that lies in it, or ""
    std::vector<std::byte> constant;  // what it holds where no kernel writes it; else empty
  };
  struct Pointer {
    int buffer = 0;
    std::int64_t offset = 0;  // bytes
  };
  struct Call {
    int kernel = 0;
    std::vector<std::variant<Pointer, std::int64_t>> arguments;
  };
  struct Output {
    int buffer = 0;
    TensorLayout layout;
  };
  struct Compiler {  // what Inductor gives its own
    std::vector<std::string> definitions, include, flags, vector, libraries;
  };

  struct Binding {  // of the program's sizes
    std::vector<Buffer> buffers;
    std::vector<Call> calls;
    std::vector<Output> outputs;                 // of the program, in order
    std::vector<std::vector<std::byte>> values;  // of each output, row-major, on input set 0
  };

  std::vector<Kernel> kernels;
  std::vector<Binding> bindings;  // one for each case that was exported
  Compiler compiler;
  std::map<std::string, std::string> versions;
};

// The host's answer for the cases, which are one program in other sizes (the first one's is what is
// compiled; the environment is dynamic where there are several): forward only. JSON, which
// kernel_export() reads. `inductor`: the system, with options and environment. Throws Error where
// something else than kernels has a part in the program, NotAvailable where there is no such
// system.
std::string export_kernels(const std::vector<Case>& lowered, const SystemSpec& inductor,
                           const OpTable& table, Scheduler& scheduler);

// Reads it. Every number is checked: pointers lie inside of buffers, outputs too. Throws Error.
KernelExport kernel_export(const std::string& answer, const std::string& place);

}  // namespace ulpfuzz
