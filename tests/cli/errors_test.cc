// Whatever a person gets wrong: one line on standard error that says what, where and what to try, status 2,
// nothing on standard output, no file left behind.
#include "process.h"

namespace hunch::test {
namespace {

class Errors : public CliTest {
 protected:
  std::string cut(const std::string& name, const std::string& source, double part) const {
    std::string bytes = read_file(source);
    bytes.resize(static_cast<std::size_t>(static_cast<double>(bytes.size()) * part));
    return write(name, bytes);
  }
};

TEST_F(Errors, UnknownVerb) {
  expect_error(hunch({"explian", "x"}), {"unknown verb 'explian'", "did you mean 'explain'?"});
  expect_error(hunch({"zzzzzzzz"}), {"unknown verb 'zzzzzzzz'", "run", "explain", "check"});
  expect_error(hunch({"--format", "json"}), {"'--format' comes before a verb"});
  expect_error(hunch({"help", "chek"}), {"unknown verb 'chek'", "did you mean 'check'?"});
}

TEST_F(Errors, UnknownOption) {
  expect_error(hunch({"run", "--problme", "1x1x8x8"}),
               {"run: unknown option --problme", "did you mean '--problem'?"});
  expect_error(hunch({"explain", trace("naive.json.gz"), "--fromat=json"}),
               {"--fromat", "did you mean '--format'?"});
  expect_error(hunch({"explain", "-z", trace("naive.json.gz")}),
               {"unknown option -z", "hunch explain --help"});
}

TEST_F(Errors, OptionWithoutOrWithTwoValues) {
  expect_error(hunch({"run", "--problem"}), {"run --problem: the value is missing", "SIZES"});
  expect_error(hunch({"run", "--seed", "1", "--seed", "2"}), {"run --seed: given 2 times"});
  // An empty word is no option, though some options have no letter.
  EXPECT_EQ(hunch({"name", "Task", ""}).status, 0);
  expect_error(hunch({"explain", ""}), {"no such file"});
}

TEST_F(Errors, MissingArguments) {
  expect_error(hunch({"explain"}), {"the trace is missing", "hunch explain trace.json.gz"});
  expect_error(hunch({"explain", "a", "b"}), {"a: no such file or folder"});
  expect_error(hunch({"check"}), {"a guess and a trace are missing"});
  expect_error(hunch({"check", trace("naive.json.gz")}), {"only one of guess and trace"});
  expect_error(hunch({"check", "--guess", "kernels=5"}), {"the trace is missing"});
  expect_error(hunch({"check", "-", "-"}), {"standard input cannot be both"});
  expect_error(hunch({"name"}), {"a kernel's name is missing"});
  expect_error(hunch({"doctor", "who"}), {"takes no arguments"});
  expect_error(hunch({"run", "naive"}), {"what is 'naive'?"});
}

TEST_F(Errors, MissingFile) {
  expect_error(hunch({"explain", "nowhere.json"}), {"nowhere.json: no such file", "try:"});
  expect_error(hunch({"check", "--guess", "kernels=5", "nowhere.json"}), {"nowhere.json: no such file"});
  expect_error(hunch({"check", "nowhere.toml", trace("naive.json.gz")}), {"nowhere.toml: no such file"});
}

TEST_F(Errors, EmptyFile) {
  expect_error(hunch({"explain", write("empty.json", "")}), {"empty.json", "empty"});
}

TEST_F(Errors, EmptyStandardInput) { expect_error(hunch({"explain", "-"}), {"standard input", "empty"}); }

TEST_F(Errors, NotJson) {
  expect_error(hunch({"explain", write("note.txt", "a shopping list\nmilk\n")}), {"note.txt"});
  expect_error(hunch({"explain", write("noise.bin", std::string("\x7f"
                                                                "ELF\0\1\2",
                                                                7))}),
               {"noise.bin"});
}

TEST_F(Errors, CutJson) {
  const std::string whole =
      R"({"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mul", "pid": 1, "tid": 1, "ts": 1.0, "dur": 2.0}, {"ph": "X", "cat": "cpu_op", "na)";
  expect_error(hunch({"explain", write("cut.json", whole)}), {"cut.json: byte "});
}

TEST_F(Errors, CutGzip) {
  expect_error(hunch({"explain", cut("cut.json.gz", trace("naive.json.gz"), 0.5)}), {"cut.json.gz"});
  expect_error(hunch({"explain", write("head.gz", "\x1f\x8b\x08")}), {"head.gz"});
}

TEST_F(Errors, AFolder) {
  expect_error(hunch({"explain", folder_.string()}), {folder_.string(), "the folder has no traces"});
}

TEST_F(Errors, BadProblem) {
  for (const char* problem : {"8x16", "8x16x1024", "8x16x1024x64x2", "axbxcxd", "", "1x0x8x8", "1x1x-8x8",
                              "1x1x8x8.5", "99999999999999999999x1x1x1"})
    expect_error(hunch({"run", std::string("--problem=") + problem + (*problem == '\0' ? " " : "")}),
                 {"--problem", "x"});
  expect_error(hunch({"run", "--problem", "8x16"}), {"--problem 8x16", "8x16x1024x64"});
  expect_error(hunch({"run", "--problem", "1x8x8x8", "--kv-heads", "3"}), {"kv_heads"});
  expect_error(hunch({"run", "--problem", "100000x1000x100000x1000"}), {"--problem", "TiB"});
}

TEST_F(Errors, BadRunOptions) {
  expect_error(hunch({"run", "--variant", "flsh"}),
               {"--variant flsh: no such variant", "did you mean 'flash'?"});
  expect_error(hunch({"run", "--variant", "naive,"}), {"no such variant", "naive_inplace"});
  expect_error(hunch({"run", "--dtype", "f64"}), {"--dtype f64", "bf16"});
  expect_error(hunch({"run", "--dtype", "bool"}), {"--dtype bool", "bf16"});
  expect_error(hunch({"run", "--mask", "casual"}), {"--mask casual", "causal"});
  expect_error(hunch({"run", "--scale", "nan"}), {"--scale nan"});
  expect_error(hunch({"run", "--scale", "0.5x"}), {"--scale 0.5x"});
  expect_error(hunch({"run", "--steps", "1,1"}), {"--steps 1,1"});
  expect_error(hunch({"run", "--steps", "1,1,0"}), {"--steps 1,1,0"});
  expect_error(hunch({"run", "--threads", "0"}), {"--threads 0", "from 1 to"});
  expect_error(hunch({"run", "--seed", "-1"}), {"--seed -1"});
  expect_error(hunch({"run", "--device", "cuda:1023"}), {"--device cuda: ", "hunch doctor"});
  expect_error(hunch({"run", "--device", "cuda:x"}), {"--device cuda:x: expected a number", "cuda:0"});
  expect_error(hunch({"run", "--device", "cuda", "--threads", "2"}), {"--threads: a GPU has none"});
  expect_error(hunch({"run", "--device", "tpu"}), {"--device tpu: unknown"});
}

TEST_F(Errors, BadGuess) {
  const std::string naive = trace("naive.json.gz");
  expect_error(hunch({"check", "--guess", "kernals=5", naive}), {"kernals", "did you mean", "kernels"});
  expect_error(hunch({"check", "--guess", "kernels=many", naive}), {"kernels", "many"});
  expect_error(hunch({"check", "--guess", "kernels", naive}), {"kernels"});
  expect_error(hunch({"check", write("typo.toml", "[forward]\nkernals = 5\n"), naive}),
               {"typo.toml: byte ", "kernals", "kernels"});
  expect_error(hunch({"check", write("broken.toml", "[forward\nkernels = 5\n"), naive}),
               {"broken.toml: byte "});
  expect_error(hunch({"check", write("range.toml", "[forward.\"atn_fwd\"]\nkernels = 5\n"), naive}),
               {"atn_fwd", "attn_fwd"});
  expect_error(hunch({"run", "--guess", "kernals=5"}), {"kernals", "kernels"});
  expect_error(hunch({"run", "--guess", write("who.toml", "[forward.\"flsh\"]\nkernels = 5\n")}),
               {"flsh", "flash"});
  expect_error(hunch({"run", "--variant", "naive", "--guess",
                      write("other.toml", "[forward.\"flash\"]\nkernels = 1\n")}),
               {"flash", "--variant"});
}

TEST_F(Errors, UnknownRange) {
  expect_error(hunch({"explain", trace("naive.json.gz"), "--range", "atn_fwd"}),
               {"--range atn_fwd: the trace has no such range", "did you mean 'attn_fwd'?"});
}

TEST_F(Errors, BadOutputOptions) {
  const std::string naive = trace("naive.json.gz");
  expect_error(hunch({"explain", naive, "--format", "jsno"}), {"--format jsno", "did you mean 'json'?"});
  expect_error(hunch({"explain", naive, "--color", "sometimes"}), {"--color sometimes", "always"});
  expect_error(hunch({"explain", naive, "--top", "few"}), {"--top few"});
  expect_error(hunch({"explain", naive, "--output", "no/such/folder/x.json"}),
               {"no/such/folder/x.json", "cannot write"});
  expect_error(hunch({"explain", naive, "--output", folder_.string()}), {"is a folder"});
}

TEST_F(Errors, AFailureLeavesTheOutputAlone) {
  const std::string output = write("report.json", "the old report\n");
  expect_error(hunch({"explain", "nowhere.json", "--output", output}), {"nowhere.json"});
  EXPECT_EQ(read_file(output), "the old report\n");
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_)) ++files;
  EXPECT_EQ(files, 1U);
}

TEST_F(Errors, AFullDiskIsReported) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  expect_error(hunch({"explain", trace("naive.json.gz"), "--output", "/dev/full"}),
               {"/dev/full", "cannot write"});
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST_F(Errors, ControlCharactersDoNotReachTheTerminal) {
  const Outcome outcome = hunch({"explain", "evil\x1b[2J\nname.json"});
  expect_error(outcome, {"evil\\x1b[2J name.json"});
}

}  // namespace
}  // namespace hunch::test
