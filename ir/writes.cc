#include "ir/writes.h"

#include <limits>
#include <map>

#include "ir/alias.h"
#include "ir/error.h"
#include "ir/inverse_view.h"
#include "ir/json.h"

namespace ulpfuzz {
namespace {

constexpr std::size_t kAtEnd = std::numeric_limits<std::size_t>::max();

class WriteChecker {
 public:
  WriteChecker(const Program& program, const OpTable& table, const Types& types,
               const std::string& place)
      : program_(program), table_(table), types_(types), place_(place), aliases_(program, table) {
    for (std::size_t i = 0; i < program.nodes.size(); ++i) {
      defined_[program.nodes[i].name] = i;
      for (const Ref& ref : operands(program.nodes[i])) last_use_[ref] = i;
    }
    for (const Ref& ref : program.outputs) last_use_[ref] = kAtEnd;
  }

  void check() {
    for (at_ = 0; at_ < program_.nodes.size(); ++at_) {
      const Node& node = program_.nodes[at_];
      const Op& op = table_.at(node.op);
      if (op.schema.mutates()) check(node, op);
    }
  }

 private:
  void check(const Node& node, const Op& op) {
    const Ref* written = aliases_.written(node);
    const SchemaArgument* self = op.schema.find("self");
    const std::string functional = out_of_place(op.name());
    if (written == nullptr || self == nullptr || !self->writes || functional.empty()) {
      fail("only in-place operators, which write self, are known");
    }
    if (table_.find(functional) == nullptr) {
      fail("its out-of-place operator " + functional + " has no row");
    }
    check_path(*written);
    check_operands(node, *written);
    check_relatives(*written);
  }

  // From the written value to the tensor whose storage it lies in.
  void check_path(Ref value) const {
    for (auto from = aliases_.source(value); from && from->how != Aliases::How::kMaybe;
         from = aliases_.source(value)) {
      if (from->how == Aliases::How::kView) {
        if (element_count(types_.of(value).shape) > element_count(types_.of(from->value).shape)) {
          fail("writes the expanded view " + to_string(value));
        }
        if (inverse_view(from->op->name(), table_).empty()) {
          fail("writes through " + to_string(value) + ", a view by " + from->op->name() +
               ", which is not among those that can be written");
        }
      }
      value = from->value;
    }
  }

  void check_operands(const Node& node, const Ref& written) const {
    for (const Ref& ref : operands(node)) {
      if (aliases_.origin(ref) == aliases_.origin(written) &&
          aliases_.tensor(ref) != aliases_.tensor(written)) {
        fail("reads " + to_string(ref) + ", which may share the storage that is written");
      }
    }
  }

  // Values from before this write that may or may not see it must not be looked at any more.
  void check_relatives(const Ref& written) const {
    const Ref origin = aliases_.origin(written);
    const Ref storage = aliases_.storage(written);
    const auto refuse = [&](const Ref& ref) {
      fail("writes " + to_string(written) + ", whose storage " + to_string(ref) +
           " may or may not share and which is used later");
    };
    for (const auto& [ref, last] : last_use_) {
      if (last > at_ && defined_before(ref) && aliases_.origin(ref) == origin &&
          aliases_.storage(ref) != storage) {
        refuse(ref);
      }
    }
    if (storage != origin && program_.find_input(origin.name) != nullptr) refuse(origin);
  }

  bool defined_before(const Ref& ref) const {
    const auto found = defined_.find(ref.name);
    return found == defined_.end() || found->second < at_;
  }

  [[noreturn]] void fail(const std::string& message) const {
    const Node& node = program_.nodes[at_];
    throw Error(place_ + "/nodes/" + std::to_string(at_),
                node.name + " (" + node.op + ") " + message);
  }

  const Program& program_;
  const OpTable& table_;
  const Types& types_;
  const std::string& place_;
  Aliases aliases_;
  std::map<std::string, std::size_t, std::less<>> defined_;  // node by name
  std::map<Ref, std::size_t> last_use_;
  std::size_t at_ = 0;
};

}  // namespace

void check_writes(const Program& program, const OpTable& table, const Types& types,
                  const std::string& place) {
  WriteChecker(program, table, types, place).check();
}

}  // namespace ulpfuzz
