// The search alone, on lists whose answers are known.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "bisect/search.h"
#include "bisect/versions.h"
#include "ir/error.h"

namespace ulpfuzz {
namespace {

// "++--u": passes, passes, fails, fails, untestable.
Answer answer_of(char letter) {
  return letter == '+' ? Answer::kPasses : letter == '-' ? Answer::kFails : Answer::kUntestable;
}

Search search(const std::string& list) {
  return find_change(list.size(), [&](std::size_t i) { return answer_of(list.at(i)); });
}

TEST(FindChange, EveryPlaceOfEveryLengthIsFound) {
  for (std::size_t n = 2; n <= 40; ++n) {
    for (std::size_t first_bad = 1; first_bad < n; ++first_bad) {
      const Search s = search(std::string(first_bad, '+') + std::string(n - first_bad, '-'));
      ASSERT_TRUE(s.change);
      EXPECT_EQ(s.change->before, first_bad - 1);
      EXPECT_EQ(s.change->after, first_bad);
      EXPECT_TRUE(s.change->begins);
      EXPECT_LE(static_cast<double>(s.answers.size()), std::ceil(std::log2(n)) + 2);
    }
  }
}

TEST(FindChange, AFaultThatWasMendedEnds) {
  const Search s = search("---+++");
  ASSERT_TRUE(s.change);
  EXPECT_FALSE(s.change->begins);
  EXPECT_EQ(s.change->before, 2u);
  EXPECT_EQ(s.change->after, 3u);
}

TEST(FindChange, WhatNeverChangesIsSaidSo) {
  EXPECT_EQ(search("++++").throughout, Answer::kPasses);
  EXPECT_EQ(search("----").throughout, Answer::kFails);
  EXPECT_FALSE(search("----").change);
  EXPECT_FALSE(search("uuuu").throughout);
  EXPECT_EQ(search("uuuu").answers.size(), 4u);
  EXPECT_EQ(search("uu-u").throughout, Answer::kFails);
  EXPECT_FALSE(search("").change);
}

TEST(FindChange, UntestablePlacesAreLeftOut) {
  for (const std::string list : {"u++uu--u", "+uuuu-", "++u-u-", "u+-u"}) {
    const Search s = search(list);
    ASSERT_TRUE(s.change) << list;
    const auto [before, after, begins] = *s.change;
    EXPECT_TRUE(begins);
    EXPECT_EQ(list[before], '+') << list;
    EXPECT_EQ(list[after], '-') << list;
    for (std::size_t i = before + 1; i < after; ++i) EXPECT_EQ(list[i], 'u') << list;
  }
}

TEST(FindChange, OneOfManyChangesIsFoundBetweenNeighbours) {
  const std::string list = "+-+--+-";
  const Search s = search(list);
  ASSERT_TRUE(s.change);
  EXPECT_EQ(s.change->after, s.change->before + 1);
  EXPECT_EQ(list[s.change->before], '+');
  EXPECT_EQ(list[s.change->after], '-');
}

TEST(FirstFailing, IsTheFirstAfterOneThatPasses) {
  const auto of = [](const std::string& list) {
    std::map<std::size_t, Answer> answers;
    for (std::size_t i = 0; i < list.size(); ++i) answers[i] = answer_of(list[i]);
    return first_failing(answers);
  };
  EXPECT_EQ(of("++u-+-")->before, 1u);
  EXPECT_EQ(of("++u-+-")->after, 3u);
  EXPECT_FALSE(of("--+"));
  EXPECT_FALSE(of("+++"));
  EXPECT_FALSE(of(""));
}

TEST(Versions, RangesAreOfWhatThereIs) {
  const auto index = [] {
    return std::vector<std::string>{"2.11.0", "2.9.1",        "2.10.0",    "2.9.0",
                                    "2.8.0",  "2.12.0.post1", "2.12.0rc1", "2.5.1"};
  };
  using Versions = std::vector<std::string>;
  EXPECT_EQ(parse_versions("2.8.0..2.11.0", index),
            (Versions{"2.8.0", "2.9.0", "2.9.1", "2.10.0", "2.11.0"}));
  EXPECT_EQ(parse_versions("2.9..2.10.5", index), (Versions{"2.9.0", "2.9.1", "2.10.0"}));
  const auto never = []() -> Versions { throw Error("index", "was asked"); };
  EXPECT_EQ(parse_versions("2.11.0, 2.9.1,2.9.1", never), (Versions{"2.9.1", "2.11.0"}));
  for (const char* bad : {"", "2.9.1", "2.9.1..", "2..3", "x..y", "2.9.1,nightly", "2.13.0..2.14.0",
                          "2.11.0..2.9.1", "2.9.1,2.12.0rc1"}) {
    EXPECT_THROW(parse_versions(bad, index), Error) << bad;
  }
}

}  // namespace
}  // namespace ulpfuzz
