#include "ir/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/error.h"

namespace ulpfuzz {
namespace {

using Kind = SchemaArgument::Kind;

TEST(SchemaTest, NamesCarryTheirOverload) {
  EXPECT_EQ(parse_schema("aten::add.Tensor(Tensor self) -> Tensor").name, "aten.add.Tensor");
  EXPECT_EQ(parse_schema("aten::sin(Tensor self) -> Tensor").name, "aten.sin.default");
  EXPECT_EQ(parse_schema("sin(Tensor self) -> Tensor").name, "aten.sin.default");
}

TEST(SchemaTest, KeywordOnlyArgumentsAndScalars) {
  const Schema schema =
      parse_schema("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  ASSERT_EQ(schema.args.size(), 3u);
  EXPECT_FALSE(schema.args[1].keyword_only);
  EXPECT_TRUE(schema.args[2].keyword_only);
  EXPECT_EQ(schema.args[2].kind, Kind::kScalar);
  EXPECT_EQ(std::get<Scalar>(*schema.args[2].default_value), Scalar{std::int64_t{1}});
  EXPECT_FALSE(schema.mutates());
}

TEST(SchemaTest, AliasesAndWrites) {
  const Schema schema = parse_schema("aten::sin_(Tensor(a!) self) -> Tensor(a!)");
  EXPECT_TRUE(schema.mutates());
  EXPECT_TRUE(schema.args[0].writes);
  EXPECT_EQ(schema.args[0].alias, "a");
  EXPECT_EQ(schema.returns[0].alias, "a");
  const Schema list = parse_schema(
      "aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]");
  EXPECT_FALSE(list.mutates());
  EXPECT_EQ(list.args[0].alias, "a");
  EXPECT_EQ(list.returns[0].kind, Kind::kTensorList);
  EXPECT_EQ(list.returns[0].alias, "a");
}

TEST(SchemaTest, ListsAndOptionalsInBothOrders) {
  const Schema schema = parse_schema(
      "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
      "dtype=None) -> Tensor");
  EXPECT_EQ(schema.args[1].kind, Kind::kIntList);
  EXPECT_TRUE(schema.args[1].optional);
  EXPECT_FALSE(schema.args[1].default_value);
  EXPECT_EQ(schema.args[3].kind, Kind::kDType);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(*schema.args[3].default_value));
  const Schema index = parse_schema("aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor");
  EXPECT_EQ(index.args[1].kind, Kind::kTensorList);
  EXPECT_TRUE(index.args[1].optional_elements);
  EXPECT_FALSE(index.args[1].optional);
}

TEST(SchemaTest, DefaultsOfEveryKind) {
  const Schema schema = parse_schema(
      "aten::made_up(Tensor self, SymInt[2] padding=0, int[] dims=[0,1], int[] none=[], float "
      "eps=1e-05, Scalar beta=0.5, int reduction=Mean, str mode=\"floor\", ScalarType t=long, "
      "Layout? layout=None, Device? device=None, MemoryFormat memory_format=contiguous_format, "
      "Generator? generator=None, bool flag=True) -> ()");
  EXPECT_TRUE(schema.returns.empty());
  const auto value = [&](const char* arg) { return *schema.find(arg)->default_value; };
  EXPECT_EQ(std::get<std::vector<Dim>>(value("padding")), (std::vector<Dim>{0, 0}));
  EXPECT_EQ(std::get<std::vector<Dim>>(value("dims")), (std::vector<Dim>{0, 1}));
  EXPECT_TRUE(std::get<std::vector<Dim>>(value("none")).empty());
  EXPECT_EQ(std::get<double>(value("eps")), 1e-5);
  EXPECT_EQ(std::get<Scalar>(value("beta")), Scalar{0.5});
  EXPECT_EQ(std::get<Dim>(value("reduction")), Dim(1));
  EXPECT_EQ(std::get<std::string>(value("mode")), "floor");
  EXPECT_EQ(std::get<DType>(value("t")), DType::kInt64);
  EXPECT_EQ(schema.find("layout")->kind, Kind::kOther);
  EXPECT_TRUE(std::get<bool>(value("flag")));
}

TEST(SchemaTest, NamedResults) {
  const Schema schema = parse_schema(
      "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)");
  ASSERT_EQ(schema.returns.size(), 2u);
  EXPECT_EQ(schema.returns[1].name, "indices");
}

TEST(SchemaTest, ErrorsNameTheColumn) {
  const auto message = [](const char* text) -> std::string {
    try {
      parse_schema(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message("aten::f(Tensr self) -> Tensor"),
            "schema 'aten::f(Tensr self) -> Tensor', column 9: a type that is known is missing");
  EXPECT_THAT(message("aten::f(Tensor self -> Tensor"), testing::HasSubstr("column 21: ')'"));
  EXPECT_THAT(message("aten::f(Tensor self) -> Tensor x y"), testing::HasSubstr("column 34"));
  for (const char* text :
       {"", "aten::", "f", "f(", "f(Tensor self", "f(Tensor self) ->", "f(int[ x) -> Tensor",
        "f(Tensor(a self) -> Tensor", "f(int x=) -> Tensor", "f(str x=\"a) -> Tensor"}) {
    EXPECT_NE(message(text), "") << text;
  }
}

}  // namespace
}  // namespace ulpfuzz
