// Every name of tests/data/kernel_names.tsv against the facts that a person wrote beside it, and what holds
// for any text at all: cut, padded, mangled, or no name.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "hunch/analysis/kernel_names.h"
#include "hunch/base/strings.h"

namespace hunch::analysis {
namespace {

struct Row {
  std::string name;
  std::vector<std::string> expected;  // family, provider, backend, dtype, tensor_cores, architecture, tile
};

std::vector<Row> rows() {
  std::ifstream file(HUNCH_TEST_DATA "/kernel_names.tsv");
  std::vector<Row> rows;
  std::string line;
  std::getline(file, line);  // header
  while (std::getline(file, line)) {
    const auto fields = base::split(line, '\t');
    Row row{std::string(fields[0]), {}};
    for (std::size_t i = 1; i < fields.size(); ++i) row.expected.emplace_back(fields[i]);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string text_of(std::optional<bool> value) { return !value ? "null" : *value ? "true" : "false"; }

std::vector<std::string> seen(const KernelFacts& facts) {
  return {std::string(name_of(facts.family)), facts.provider,     facts.backend, facts.dtype,
          text_of(facts.tensor_cores),        facts.architecture, facts.tile};
}

TEST(KernelNamesTable, EveryRowAsWritten) {
  const auto all = rows();
  ASSERT_GE(all.size(), 400u);
  for (const Row& row : all) {
    ASSERT_EQ(row.expected.size(), 7u) << row.name;
    EXPECT_EQ(seen(kernel_facts(row.name)), row.expected) << row.name;
  }
}

TEST(KernelNamesTable, ReadableNamesAreShortAndNeverEmpty) {
  for (const Row& row : rows()) {
    const auto facts = kernel_facts(row.name);
    EXPECT_FALSE(facts.readable.empty()) << row.name;
    EXPECT_LE(facts.readable.size(), 100u) << row.name;
  }
}

// The parameter list names types of other things; it decides nothing but who wrote an efficient kernel.
TEST(KernelNamesTable, TheParameterListDoesNotDecide) {
  for (const Row& row : rows()) {
    if (row.name.find('(') == std::string::npos && row.name.find('<') == std::string::npos) {
      const std::string with =
          row.name + "(flashinfer::QuantizationSFLayout, cutlass::gemm::Params, softmax, float)";
      if (row.expected[0] == "memcpy" || row.expected[0] == "memset" || row.expected[0] == "unknown")
        continue;
      EXPECT_EQ(kernel_facts(with).family, kernel_facts(row.name).family) << with;
      EXPECT_EQ(kernel_facts(with).dtype, kernel_facts(row.name).dtype) << with;
    }
  }
}

// Tables cut names; the facts become fewer, and the reader stays calm at every length.
TEST(KernelNamesTable, CutNamesAreRead) {
  for (const Row& row : rows()) {
    for (std::size_t length = 0; length <= row.name.size(); length += row.name.size() / 7 + 1) {
      const auto facts = kernel_facts(std::string_view(row.name).substr(0, length));
      EXPECT_TRUE(parse_family(name_of(facts.family)).has_value());
    }
  }
}

TEST(KernelNamesTable, BlanksAroundAndClonesBehindChangeNothing) {
  for (const Row& row : rows()) {
    if (row.expected[0] == "memcpy" || row.expected[0] == "memset") continue;
    EXPECT_EQ(seen(kernel_facts("  " + row.name + " [clone .kd] ")), row.expected) << row.name;
  }
}

TEST(KernelNamesTable, FamiliesHaveNamesBothWays) {
  for (int i = 0; i <= static_cast<int>(Family::unknown); ++i) {
    const auto family = static_cast<Family>(i);
    EXPECT_EQ(parse_family(name_of(family)), family);
  }
  EXPECT_EQ(parse_family("no_such_family"), std::nullopt);
  EXPECT_EQ(parse_family(""), std::nullopt);
}

}  // namespace
}  // namespace hunch::analysis
