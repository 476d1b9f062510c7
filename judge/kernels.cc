#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "judge/facts.h"

namespace ulpfuzz {
namespace {

// Part of an operator's name -> SDPBackend's name.
constexpr std::array<std::pair<std::string_view, SdpaKernel>, 5> kParts{{
    {"cudnn_attention", SdpaKernel::kCudnn},
    {"efficient_attention", SdpaKernel::kEfficient},
    {"overrideable", SdpaKernel::kOverrideable},
    {"flash_attention", SdpaKernel::kFlash},
    {"attention_math", SdpaKernel::kMath},
}};

std::optional<SdpaKernel> kernel_of(const KernelRecord& record) {
  for (const auto& [part, kernel] : kParts) {
    if (record.name.find(part) != std::string::npos) return kernel;
  }
  return std::nullopt;
}

bool contains(const std::vector<SdpaKernel>& kernels, SdpaKernel kernel) {
  return std::ranges::find(kernels, kernel) != kernels.end();
}

std::string text(const std::vector<SdpaKernel>& kernels) {
  std::string list;
  for (const SdpaKernel kernel : kernels) {
    list += (list.empty() ? "" : ", ") + std::string(name(kernel));
  }
  return list;
}

// Why what ran was not allowed by the list; "" where it was.
std::string breach(const std::vector<SdpaKernel>& ran, const SdpaChoice& choice,
                   const std::vector<SdpaKernel>& accepting) {
  for (const SdpaKernel kernel : ran) {
    if (!contains(choice.kernels, kernel)) {
      return fmt::format("ran {}, outside the list", name(kernel));
    }
    if (!choice.set_priority) continue;
    for (const SdpaKernel before : choice.kernels) {
      if (before == kernel) break;
      if (contains(accepting, before)) {
        return fmt::format("ran {}, though {} comes first and accepts", name(kernel), name(before));
      }
    }
  }
  return "";
}

// The outermost operator of a kernel; what it calls inside has other names.
bool is_outermost(const KernelRecord& record) {
  return record.name.find("_scaled_dot_product_") != std::string::npos && kernel_of(record);
}

// Whether the run has the kernel of a row but knows nothing of its tensors.
bool ran_unseen(const Run& run, const KernelTensorRow& row) {
  return std::ranges::any_of(run.kernels, [&](const KernelRecord& record) {
    return record.name == row.kernel && record.phase == row.phase && record.outputs.empty() &&
           record.inputs.empty();
  });
}

// Adds the tensors of one call, on eager's or on the system's side.
class Rows {
 public:
  void add(const Run& run, std::string KernelTensorRow::*side) {
    std::vector<bool> taken(rows_.size(), false);
    for (const KernelRecord& record : run.kernels) {
      if (!is_outermost(record)) continue;
      for (const KernelTensor& tensor : record.outputs) {
        put(record, tensor.name, tensor, side, taken);
      }
      if (record.phase != "backward") continue;
      for (const KernelTensor& tensor : record.inputs) {
        put(record, "saved " + tensor.name, tensor, side, taken);
      }
    }
  }
  std::vector<KernelTensorRow> take() && { return std::move(rows_); }

 private:
  // Calls of one kernel are paired in order of appearance.
  void put(const KernelRecord& record, const std::string& tensor, const KernelTensor& found,
           std::string KernelTensorRow::*side, std::vector<bool>& taken) {
    std::size_t at = 0;
    while (at < rows_.size() && (taken[at] || rows_[at].kernel != record.name ||
                                 rows_[at].phase != record.phase || rows_[at].tensor != tensor)) {
      ++at;
    }
    if (at == rows_.size()) {
      rows_.push_back({record.name, record.phase, tensor, "", ""});
      taken.push_back(false);
    }
    rows_[at].*side = to_string(found.layout);
    taken[at] = true;
  }

  std::vector<KernelTensorRow> rows_;
};

}  // namespace

std::vector<SdpaKernel> attention_kernels(const Run& run, std::string_view phase) {
  std::vector<SdpaKernel> ran;
  for (const KernelRecord& record : run.kernels) {
    const std::optional<SdpaKernel> kernel = kernel_of(record);
    const bool backward = record.phase == "backward";
    if (!kernel || backward != (phase == "backward")) continue;
    if (!contains(ran, *kernel)) ran.push_back(*kernel);
  }
  if (ran.empty()) ran.push_back(SdpaKernel::kMath);
  std::ranges::sort(ran);
  return ran;
}

std::vector<SdpaKernel> passed_over(const Run& run, const Case& c) {
  if (!c.environment.sdpa || !c.environment.sdpa->set_priority) return {};
  const std::vector<SdpaKernel>& list = c.environment.sdpa->kernels;
  std::size_t last = 0;
  for (const SdpaKernel kernel : attention_kernels(run)) {
    const auto at = std::ranges::find(list, kernel);
    if (at != list.end()) last = std::max(last, static_cast<std::size_t>(at - list.begin()));
  }
  return {list.begin(), list.begin() + static_cast<std::ptrdiff_t>(last)};
}

void kernel_facts(const Run& run, const Run& eager, bool is_eager, const Case& c,
                  const std::vector<SdpaKernel>& accepting, const std::string& rung,
                  std::vector<Fact>& facts) {
  if (!c.environment.sdpa) return;
  const SdpaChoice& choice = *c.environment.sdpa;
  std::vector<SdpaKernel> ran = attention_kernels(run);
  std::vector<SdpaKernel> beside = attention_kernels(eager);
  std::string what;
  if (is_eager) {
    what = breach(ran, choice, accepting);
  } else {
    // Among several calls, whether one took the math path shows in eager alone.
    if (ran.size() + beside.size() > 2) {
      std::erase(ran, SdpaKernel::kMath);
      std::erase(beside, SdpaKernel::kMath);
    }
    // Where it runs what eager runs, what there is to say is eager's verdict.
    if (ran == beside) return;
    for (auto* none : {&ran, &beside}) {
      if (none->empty()) none->push_back(SdpaKernel::kMath);
    }
    what = fmt::format("eager ran {}, compiled ran {}", text(beside), text(ran));
  }
  if (what.empty()) return;
  Fact fact;
  fact.kind = VerdictKind::kKernelMismatch;
  fact.rung = rung;
  fact.strength = "observed";
  fact.detail = fmt::format("{}: asked for [{}]{}", what, text(choice.kernels),
                            choice.set_priority ? " in this order" : "");
  if (!is_eager) {
    const std::string also = breach(ran, choice, accepting);
    if (!also.empty()) fact.detail += "; it " + also;
  }
  facts.push_back(std::move(fact));
}

std::vector<KernelTensorRow> kernel_rows(const Run& run, const Run& eager) {
  Rows rows;
  rows.add(eager, &KernelTensorRow::eager);
  rows.add(run, &KernelTensorRow::system);
  std::vector<KernelTensorRow> table = std::move(rows).take();
  std::erase_if(table, [&](const KernelTensorRow& row) { return ran_unseen(run, row); });
  return table;
}

}  // namespace ulpfuzz
