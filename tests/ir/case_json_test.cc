#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "ir/case.h"
#include "ir/error.h"
#include "ir/hash.h"
#include "ir/json.h"
#include "ir/json_reader.h"
#include "tests/ir/full_case.h"
#include "tests/ir/small_table.h"

namespace ulpfuzz {
namespace {

using testing::HasSubstr;

TEST(CaseJsonTest, RoundTripIsIdentity) {
  const Case c = full_case();
  const std::string text = to_json(c);
  EXPECT_EQ(case_from_json(text, ""), c);
  EXPECT_EQ(to_json(case_from_json(text, "")), text);
  EXPECT_EQ(to_json(case_from_json(to_pretty_json(c), "")), text);
  EXPECT_EQ(case_from_json(to_json(Case{.model = c.model}), ""), Case{.model = c.model});
}

// The one literal case below pins the format: if this fails, every stored case has lost its name.
TEST(CaseJsonTest, CanonicalTextAndHashesAreFixed) {
  Case c;
  c.program.inputs = {{"x", DType::kFloat32, {2, 3}}};
  c.program.nodes = {node("y", "aten.add.Tensor", {{"self", Ref{"x"}}, {"other", Scalar{0.5}}})};
  c.program.outputs = {{"y"}};
  c.inputs = {{.fill = {.kind = Fill::Kind::kNormal, .seed = 7}}};
  EXPECT_EQ(
      to_json(c),
      R"({"cotangents":[],"environment":{"allow_tf32":false,"autocast":"","deterministic":false,)"
      R"("device":"cpu","dynamic":false,"flush_denormal":false,"grad":true,"isa":"native",)"
      R"("primed_by":null,"reduced_precision_reduction":true,"rng_seed":"0","sdpa":null,)"
      R"("threads":1,"warm_caches":false},"inputs":{"x":{"alias":-1,"fill":{"grid":"float64",)"
      R"("high":"0","integers":[],"kind":"normal","low":"0","scale":"3ff0000000000000",)"
      R"("seed":"7","shift":"0000000000000000","special_rate":0,"values":[]},"offset":0,)"
      R"("strides":[]}},"program":{"inputs":[{"dtype":"float32","name":"x","shape":[2,3]}],)"
      R"("level":"pre_dispatch","nodes":[{"args":{"other":{"scalar":{"float":)"
      R"("3fe0000000000000"}},"self":{"ref":"x"}},"name":"y","op":"aten.add.Tensor"}],)"
      R"("outputs":["y"],"symbols":{}},"ulpfuzz":1,"wrt":[]})");
  EXPECT_EQ(hashes(c).whole, sha256_hex(to_json(c)));
  EXPECT_EQ(hashes(c).program, "311d8faa32d5b6b5cd2c0cf118dd84997484fd009eab48fef042357038cf0d3d");
  EXPECT_EQ(hashes(c).inputs, "2edef9868239cc4cc70b53ce2d3ee5adf3d745bfdaf4642dee73c6c0c006b9a0");
  EXPECT_EQ(hashes(c).environment,
            "01287c0dc8f188fcb43f906d529bf836225c9a1b44d2a4cee0b70fd228b39ddc");
}

// Text is written without a document, and is what the document's would be: keys in order, one of
// each, strings escaped in one way, U+FFFD for bytes that are not UTF-8.
TEST(CaseJsonTest, TextIsCanonicalWhateverTheRecordHolds) {
  Case c = full_case();
  EXPECT_EQ(canonical(Json::parse(to_json(c))), to_json(c));
  c.program.nodes = {node("n", "aten.x.default",
                          {{"z", Ref{"x"}},
                           {"a", std::string("\"\\/\x01\t\x7f é \xff")},
                           {"z", std::vector<Ref>{{"x", 1}, {}}},
                           {"\n", std::monostate()}})};
  c.environment.isa = "\xc3";
  EXPECT_EQ(canonical(Json::parse(to_json(c))), to_json(c));
  EXPECT_THAT(to_json(c), HasSubstr(R"("args":{"\n":null,"a":{"str":"\"\\/\u0001\t)"
                                    "\x7f é \xef\xbf\xbd\"},\"z\":{\"refs\":[\"x:1\",null]}}"));
}

TEST(CaseJsonTest, HashesTellPartsApart) {
  const Case c = full_case();
  Case other = c;
  other.environment.threads = 2;
  EXPECT_EQ(hashes(other).program, hashes(c).program);
  EXPECT_EQ(hashes(other).inputs, hashes(c).inputs);
  EXPECT_NE(hashes(other).environment, hashes(c).environment);
  EXPECT_NE(hashes(other).whole, hashes(c).whole);
  other = c;
  std::swap(other.program.nodes[0].args[0], other.program.nodes[0].args[1]);
  EXPECT_EQ(hashes(other).whole, hashes(c).whole) << "the order of arguments says nothing";
  EXPECT_EQ(other, c);
}

TEST(CaseJsonTest, CasesThatDifferInABitAreNotEqual) {
  const Case c = full_case();
  Case other = c;
  other.inputs[0].fill.values[2] = 0.0;  // was -0.0
  EXPECT_NE(other, c);
  other = c;
  for (NamedArgument& arg : other.program.nodes[1].args) {
    if (arg.name == "beta") arg.value = Scalar{0.0};  // was -0.0
  }
  EXPECT_NE(other, c);
  EXPECT_EQ(Scalar{std::nan("")}, Scalar{std::nan("")});
  EXPECT_NE(Scalar{1.0}, Scalar{std::int64_t{1}});
}

TEST(CaseJsonTest, Sha256IsTheStandardOne) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(CaseJsonTest, PeopleMayWritePlainNumbers) {
  const Case c = case_from_json(R"({"ulpfuzz": 1,
    "program": {"inputs": [{"name": "x", "dtype": "float32", "shape": [2, "s0"]}],
                "symbols": {"s0": 3},
                "nodes": [{"name": "y", "op": "f", "args": {"a": {"int": 3}, "b": {"float": 0.5},
                           "c": {"ints": [1, "s0"]}, "d": {"scalar": 2}, "e": {"scalar": 2.0},
                           "f": {"scalar": false}, "g": {"ref": "x:0"}}}],
                "outputs": ["y"]},
    "inputs": {"x": {"fill": {"kind": "uniform", "scale": 2, "seed": 5}}}})",
                                "");
  const Node& y = c.program.nodes[0];
  EXPECT_EQ(*y.find("a"), Argument(Dim(3)));
  EXPECT_EQ(*y.find("b"), Argument(0.5));
  EXPECT_EQ(*y.find("c"), Argument(std::vector<Dim>{1, Dim::symbol("s0")}));
  EXPECT_EQ(*y.find("d"), Argument(Scalar{std::int64_t{2}}));
  EXPECT_EQ(*y.find("e"), Argument(Scalar{2.0}));
  EXPECT_EQ(*y.find("f"), Argument(Scalar{false}));
  EXPECT_EQ(*y.find("g"), Argument(Ref{"x", 0}));
  EXPECT_EQ(c.inputs[0].fill.scale, 2);
  EXPECT_EQ(c.environment, Environment());
}

TEST(CaseJsonTest, BindingMakesEverySizeANumber) {
  const Case bound = bind_symbols(full_case());
  EXPECT_TRUE(bound.program.symbols.empty());
  EXPECT_EQ(bound.program.inputs[0].shape, (std::vector<Dim>{4, 9}));
  EXPECT_EQ(std::get<std::vector<Dim>>(*bound.program.nodes[1].find("size")),
            (std::vector<Dim>{4, -1}));
}

TEST(CaseJsonTest, FloatBits) {
  EXPECT_EQ(float_bits(1.0), "3ff0000000000000");
  EXPECT_EQ(float_bits(-std::nan("")), "7ff8000000000000");
  EXPECT_EQ(parse_float_bits("3ff0000000000000"), 1.0);
  EXPECT_FALSE(parse_float_bits("3ff"));
  EXPECT_FALSE(parse_float_bits("0x3ff00000000000"));
}

// `change` edits the full case's JSON; reading must refuse it at `pointer`.
void refuses(const std::string& pointer, const std::string& reason,
             const std::function<void(Json&)>& change) {
  Json json = json_of(full_case());
  change(json);
  try {
    case_from({json, "c.json#"});
    ADD_FAILURE() << pointer << " was accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("c.json#" + pointer + ": "));
    EXPECT_THAT(error.what(), HasSubstr(reason));
  }
}

TEST(CaseJsonTest, HostileFieldsAreRefusedWithTheirPlace) {
  refuses("/spare", "unknown key", [](Json& j) { j["spare"] = 1; });
  refuses("/ulpfuzz", "version 1", [](Json& j) { j["ulpfuzz"] = 2; });
  refuses("", "'inputs' is missing", [](Json& j) { j.erase("inputs"); });
  refuses("/inputs/y", "no such input", [](Json& j) { j["inputs"]["y"] = j["inputs"]["x"]; });
  refuses("/inputs", "'x' is missing", [](Json& j) { j["inputs"].erase("x"); });
  refuses("/inputs/x/fill/kind", "a fill is",
          [](Json& j) { j["inputs"]["x"]["fill"]["kind"] = "n"; });
  refuses("/inputs/x/fill/values/0", "a number",
          [](Json& j) { j["inputs"]["x"]["fill"]["values"] = {"inf"}; });
  refuses("/inputs/x/alias", "not in [-1", [](Json& j) { j["inputs"]["x"]["alias"] = -2; });
  refuses("/inputs/x/strides", "an array", [](Json& j) { j["inputs"]["x"]["strides"] = 1; });
  refuses("/program/inputs/0/dtype", "unknown dtype",
          [](Json& j) { j["program"]["inputs"][0]["dtype"] = "float8"; });
  refuses("/program/inputs/0/shape/1", "is not a size",
          [](Json& j) { j["program"]["inputs"][0]["shape"][1] = "s0*s0"; });
  refuses("/program/inputs/0/shape/0", "an integer",
          [](Json& j) { j["program"]["inputs"][0]["shape"][0] = 1.5; });
  refuses("/program/nodes/0/args/dim/number", "unknown kind", [](Json& j) {
    j["program"]["nodes"][0]["args"]["dim"] = {{"number", 1}};
  });
  refuses("/program/nodes/0/args/self/ref", "a reference", [](Json& j) {
    j["program"]["nodes"][0]["args"]["self"] = {{"ref", "x:1x"}};
  });
  refuses("/program/nodes/0/args/dim", "one member",
          [](Json& j) { j["program"]["nodes"][0]["args"]["dim"] = Json::object(); });
  refuses("/program/outputs/0", "a string", [](Json& j) { j["program"]["outputs"][0] = nullptr; });
  refuses("/program/level", "pre_dispatch", [](Json& j) { j["program"]["level"] = "x"; });
  refuses("/program/nodes", "more than 4096",
          [](Json& j) { j["program"]["nodes"] = std::vector<int>(5000); });
  refuses("/environment/threads", "not in [1", [](Json& j) { j["environment"]["threads"] = 0; });
  refuses("/environment/sdpa/kernels/0", "a kernel is",
          [](Json& j) { j["environment"]["sdpa"]["kernels"][0] = "FLASH"; });
  refuses("/environment/rng_seed", "unsigned",
          [](Json& j) { j["environment"]["rng_seed"] = "18446744073709551616"; });
  refuses("/model/config/a~1b", "one member",
          [](Json& j) { j["model"]["config"]["a/b"] = Json::array(); });
}

TEST(CaseJsonTest, HostileTextIsRefused) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      case_from_json(text, "c.json");
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message("{\n  \"ulpfuzz\": }"), "c.json: not JSON at line 2, column 14");
  EXPECT_EQ(message(R"({"ulpfuzz":1,"ulpfuzz":1})"),
            "c.json: key \"ulpfuzz\" stands twice in an object");
  EXPECT_EQ(message(std::string(100000, '[')), "c.json: nested deeper than 64");
  EXPECT_THAT(message("{\"a\":\"\xff\"}"), HasSubstr("not JSON"));
  EXPECT_THAT(message("{\"a\":1e999}"), HasSubstr("out of range"));
  EXPECT_EQ(message("[]"), "c.json#: an object is wanted here");
  EXPECT_EQ(message(""), "c.json: not JSON at line 1, column 1");
  EXPECT_EQ(message(R"({"ulpfuzz":1})"), "c.json#: a 'program', a 'model' or a 'module' is needed");
  EXPECT_THROW(read_case("no/such/file.json"), Error);
}

}  // namespace
}  // namespace ulpfuzz
