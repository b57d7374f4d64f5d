// Where results go: files whole or not at all, pipes that close, colours, widths, and JSON that a parser
// reads.
#include <gmock/gmock.h>
#include <simdjson.h>
#include <sys/stat.h>

#include <cmath>

#include "process.h"

namespace hunch::test {
namespace {

using simdjson::dom::element;
using testing::HasSubstr;
using testing::Not;

class Output : public CliTest {
 protected:
  element parse(const std::string& text) {
    element root;
    EXPECT_EQ(parser_.parse(text).get(root), simdjson::SUCCESS) << text.substr(0, 400);
    return root;
  }
  static element at(element root, const std::string& pointer) {
    element value;
    EXPECT_EQ(root.at_pointer(pointer).get(value), simdjson::SUCCESS) << pointer;
    return value;
  }
  static int64_t number(element root, const std::string& pointer) { return int64_t(at(root, pointer)); }
  static std::string text(element root, const std::string& pointer) {
    return std::string(std::string_view(at(root, pointer)));
  }

  simdjson::dom::parser parser_;
};

TEST_F(Output, AFileHoldsWhatStandardOutputWould) {
  const Outcome shown = hunch({"explain", trace("naive.json.gz"), "--format", "json"});
  const Outcome written =
      hunch({"explain", trace("naive.json.gz"), "--format", "json", "--output", "report.json"});
  EXPECT_EQ(written.status, 0) << written.err;
  EXPECT_EQ(written.out, "");
  EXPECT_EQ(read_file(path("report.json")), shown.out);
  // Nothing else lies beside it, and it has the usual permissions.
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_)) ++files;
  EXPECT_EQ(files, 1U);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  struct stat info {};
  ASSERT_EQ(::stat(path("report.json").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0666 & ~mask);
}

TEST_F(Output, AnOldFileIsReplacedThroughItsLink) {
  write("old.json", "old");
  std::filesystem::permissions(path("old.json"),
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::create_symlink("old.json", path("link.json"));
  EXPECT_EQ(hunch({"explain", trace("naive.json.gz"), "-f", "json", "-o", "link.json"}).status, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(path("link.json")));
  EXPECT_THAT(read_file(path("old.json")), HasSubstr("schema_version"));
  struct stat info {};
  ASSERT_EQ(::stat(path("old.json").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
}

TEST_F(Output, DevicesAreWrittenInPlace) {
  EXPECT_EQ(hunch({"explain", trace("naive.json.gz"), "-o", "/dev/null"}).status, 0);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(Output, ABrokenPipeIsSuccess) {
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"explain", trace("llama_train.json.gz"), "--top", "0", "--format", "json"},
           {"help"},
           {"doctor"}}) {
    const Outcome outcome = hunch_into_closed_pipe(words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
  }
  // A missed guess is still told by the status.
  EXPECT_EQ(hunch_into_closed_pipe({"check", "--guess", "kernels=9", trace("naive.json.gz")}).status, 1);
}

TEST_F(Output, ColourOnlyWhereItIsWanted) {
  const std::string naive = trace("naive.json.gz");
  EXPECT_THAT(hunch({"explain", naive}).out, Not(HasSubstr("\x1b")));  // no terminal
  EXPECT_THAT(hunch({"explain", naive, "--color", "always"}).out, HasSubstr("\x1b["));
  EXPECT_THAT(hunch({"explain", naive, "--color", "never"}).out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(hunch({"explain", naive}, {"NO_COLOR=1"}).out, Not(HasSubstr("\x1b")));
  // The flag is nearer than the environment.
  EXPECT_THAT(hunch({"explain", naive, "--color", "always"}, {"NO_COLOR=1"}).out, HasSubstr("\x1b["));
  EXPECT_THAT(hunch({"explain", naive, "--format", "json", "--color", "always"}).out, Not(HasSubstr("\x1b")));
}

TEST_F(Output, OnATerminalColoursComeByThemselves) {
  const std::string naive = trace("naive.json.gz");
  EXPECT_THAT(hunch_on_terminal({"explain", naive}, 100).out, HasSubstr("\x1b[1m"));
  EXPECT_THAT(hunch_on_terminal({"explain", naive}, 100, {"NO_COLOR=1"}).out, Not(HasSubstr("\x1b[1m")));
  EXPECT_THAT(hunch_on_terminal({"explain", naive}, 100, {"NO_COLOR="}).out, HasSubstr("\x1b[1m"));
  EXPECT_THAT(hunch_on_terminal({"explain", naive}, 100, {"TERM=dumb"}).out, Not(HasSubstr("\x1b[1m")));
  EXPECT_THAT(hunch_on_terminal({"explain", naive, "--color=never"}, 100).out, Not(HasSubstr("\x1b[1m")));
}

// The longest line; one that holds a single word beside its label cannot be broken and does not count.
std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t start = 0; start < text.size();) {
    const auto end = text.find('\n', start);
    const std::string line = text.substr(start, end - start);
    const auto word = line.find_first_not_of(' ');
    if (word == std::string::npos || word < 8 || line.find(' ', word) != std::string::npos)
      longest = std::max(longest, line.size());
    start = end + 1;
  }
  return longest;
}

TEST_F(Output, TheWidthIsTheTerminals) {
  const std::vector<std::string> words = {"explain", trace("sdpa_math.json.gz"), "--color=never"};
  for (const unsigned short width : std::initializer_list<unsigned short>{60, 80, 120}) {
    const auto from_terminal = hunch_on_terminal(words, width, {"LC_ALL=C"}).out;
    EXPECT_EQ(from_terminal, hunch(words, {"COLUMNS=" + std::to_string(width)}).out);
    EXPECT_LE(longest_line(from_terminal), width);
    EXPECT_GT(longest_line(from_terminal), width - 12U);
  }
  // COLUMNS is nearer than the terminal.
  EXPECT_EQ(hunch_on_terminal(words, 120, {"COLUMNS=70"}).out, hunch(words, {"COLUMNS=70"}).out);
  EXPECT_EQ(hunch(words, {"COLUMNS="}).out, hunch(words, {"COLUMNS=100"}).out);  // neither: 100
}

TEST_F(Output, ExplainJson) {
  const element root = parse(hunch({"explain", trace("naive.json.gz"), "--format", "json"}).out);
  EXPECT_EQ(number(root, "/schema_version"), 1);
  EXPECT_EQ(text(root, "/trace/format"), "chrome_json");
  EXPECT_EQ(text(root, "/forwards/0/range"), "attn_fwd");
  EXPECT_EQ(number(root, "/forwards/0/runs"), 3);
  EXPECT_EQ(number(root, "/forwards/0/kernels"), 5);
  EXPECT_EQ(number(root, "/forwards/0/memcpy"), 1);
  EXPECT_EQ(number(root, "/forwards/0/memset"), 1);
  EXPECT_EQ(simdjson::dom::array(at(root, "/forwards/0/sequence")).size(), 7U);
  EXPECT_GT(number(root, "/statistics/unattributed_device_events"), 0);  // launched before the window
  // Every device event of the sequence is one of the kernels' rows.
  int64_t calls = 0;
  for (const element row : simdjson::dom::array(at(root, "/kernels"))) calls += number(row, "/calls");
  EXPECT_EQ(calls, 7);
}

TEST_F(Output, ExplainJsonIsTheSameTwice) {
  const auto words = {std::string("explain"), trace("llama_train.json.gz"), std::string("--format=json")};
  EXPECT_EQ(hunch(words).out, hunch(words).out);
}

TEST_F(Output, CheckJson) {
  const Outcome outcome =
      hunch({"check", "--guess", "kernels=5 memcpy=0", trace("naive.json.gz"), "--format", "json"});
  EXPECT_EQ(outcome.status, 1);
  const element root = parse(outcome.out);
  EXPECT_EQ(text(root, "/verdicts/0/metric"), "memcpy");
  EXPECT_EQ(text(root, "/verdicts/0/verdict"), "misses");
  EXPECT_EQ(text(root, "/verdicts/0/seen"), "1");
  EXPECT_GT(simdjson::dom::array(at(root, "/verdicts/0/events")).size(), 0U);
  EXPECT_EQ(text(root, "/verdicts/1/verdict"), "holds");
}

TEST_F(Output, RunJson) {
  const element root =
      parse(hunch({"run", "--problem", "1x2x64x32", "--format", "json", "--steps", "0,1,2"}).out);
  EXPECT_EQ(number(root, "/schema_version"), 1);
  EXPECT_EQ(number(root, "/problem/length"), 64);
  EXPECT_EQ(text(root, "/problem/dtype"), "bf16");
  EXPECT_EQ(text(root, "/device/kind"), "cpu");
  const struct {
    const char* name;
    int64_t kernels, memcpy;
  } expected[] = {
      {"naive", 5, 1}, {"naive_inplace", 5, 0}, {"math", 20, 0}, {"efficient", 1, 0}, {"flash", 1, 0}};
  for (std::size_t i = 0; i < std::size(expected); ++i) {
    const std::string base = "/variants/" + std::to_string(i);
    EXPECT_EQ(text(root, base + "/name"), expected[i].name);
    EXPECT_TRUE(bool(at(root, base + "/available")));
    EXPECT_EQ(number(root, base + "/kernels"), expected[i].kernels) << expected[i].name;
    EXPECT_EQ(number(root, base + "/memcpy"), expected[i].memcpy) << expected[i].name;
    EXPECT_EQ(number(root, base + "/memset"), 0);
    EXPECT_TRUE(bool(at(root, base + "/error_ok"))) << expected[i].name;
  }
  EXPECT_EQ(text(root, "/variants/5/name"), "cudnn");
  EXPECT_FALSE(bool(at(root, "/variants/5/available")));
  EXPECT_TRUE(at(root, "/variants/5/kernels").is_null());
  EXPECT_GT(simdjson::dom::array(at(root, "/variants/5/reasons")).size(), 0U);
}

TEST_F(Output, TheSameSeedGivesTheSameCountsAndErrors) {
  const std::vector<std::string> words = {"run",    "--problem", "1x2x48x32", "--mask", "bool",
                                          "--seed", "42",        "--format",  "json"};
  simdjson::dom::parser second;
  const element one = parse(hunch(words).out);
  const std::string again = hunch(words).out;
  const element two = second.parse(again).value();
  for (std::size_t i = 0; i < 5; ++i) {
    const std::string base = "/variants/" + std::to_string(i);
    for (const char* field : {"/kernels", "/memcpy", "/memset", "/peak_bytes"})
      EXPECT_EQ(simdjson::minify(at(one, base + field)), simdjson::minify(at(two, base + field)))
          << base << field;
    EXPECT_EQ(simdjson::minify(at(one, base + "/max_abs_error")),
              simdjson::minify(at(two, base + "/max_abs_error")));
  }
}

TEST_F(Output, NameAndDoctorJson) {
  const element names =
      parse(hunch({"name", "--format", "json", "what\"is\\this", "ampere_sgemm_128x64_tn"}).out);
  EXPECT_EQ(text(names, "/names/0/name"), "what\"is\\this");
  EXPECT_TRUE(at(names, "/names/0/tensor_cores").is_null());
  EXPECT_EQ(text(names, "/names/1/family"), "matmul");
  simdjson::dom::parser second;
  const std::string doctor = hunch({"doctor", "--format", "json"}).out;
  const element root = second.parse(doctor).value();
  EXPECT_GT(simdjson::dom::array(at(root, "/items")).size(), 10U);
}

// One run, several renderings: each is what a run of its own would have written.
TEST_F(Output, AlsoWritesTheSameDocumentInOtherFormats) {
  const std::string naive = trace("naive.json.gz");
  const Outcome outcome = hunch({"explain", naive, "--also", "json=" + path("r.json"), "--also",
                                 "markdown=" + path("r.md"), "--color", "always"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, hunch({"explain", naive, "--color", "always"}).out);
  EXPECT_EQ(read_file(path("r.json")), hunch({"explain", naive, "--format", "json"}).out);
  EXPECT_EQ(read_file(path("r.md")), hunch({"explain", naive, "--format", "markdown"}).out);
}

TEST_F(Output, ACheckGivesItsTableAndWhatExplainSaysFromOneRun) {
  const std::string naive = trace("naive.json.gz");
  const Outcome outcome = hunch({"check", "--guess", "memcpy=0", naive, "--format", "json", "--also",
                                 "text=" + path("table"), "--explain", "json=" + path("report.json")});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_EQ(outcome.out, hunch({"check", "--guess", "memcpy=0", naive, "--format", "json"}).out);
  EXPECT_EQ(read_file(path("table")), hunch({"check", "--guess", "memcpy=0", naive}).out);
  EXPECT_EQ(read_file(path("report.json")), hunch({"explain", naive, "--format", "json"}).out);
}

TEST_F(Output, AlsoSaysWhatIsWrongBeforeAnyWork) {
  const std::string naive = trace("naive.json.gz");
  const auto explain = [&](const std::string& also) { return hunch({"explain", naive, "--also", also}); };
  expect_error(explain("json"), {"--also json: expected FORMAT=FILE", "--also json=report.json"});
  expect_error(explain("jsno=" + path("r")), {"--also jsno", "did you mean 'json'?"});
  expect_error(explain("json="), {"--also: the file's name is empty"});
  expect_error(explain("json=-"), {"standard output is written twice"});
  expect_error(explain("json=" + path("no/such/r.json")), {"cannot write", "make its folder first"});
  expect_error(hunch({"explain", naive, "-o", path("r"), "--also", "json=" + path("r")}),
               {"is written twice"});
  EXPECT_FALSE(std::filesystem::exists(path("r")));
  expect_error(hunch({"check", "--guess", "kernels=5", naive, "--also", "json=" + path("r"), "--explain",
                      "json=" + path("r")}),
               {"--explain", "is written twice"});
  expect_error(hunch({"check", "--guess", "kernels=5", naive, naive, "--explain", "json=" + path("r")}),
               {"of one trace"});
}

}  // namespace
}  // namespace hunch::test
