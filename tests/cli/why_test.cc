// `hunch why` as a person or a script runs it: words, formats, batches, traces, and what it refuses.
#include <gmock/gmock.h>
#include <simdjson.h>

#include <fstream>
#include <iterator>

#include "process.h"

namespace hunch::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class Why : public CliTest {
 protected:
  // A trace of one call of SDPA with these input dims, that took the op `inner`, on this device.
  std::string made(const std::string& dims, const std::string& inner, const std::string& device) const {
    const auto op = [](const std::string& name, int start, int length, const std::string& args) {
      return R"({"ph": "X", "cat": "cpu_op", "name": ")" + name + R"(", "pid": 1, "tid": 1, "ts": )" +
             std::to_string(start) + R"(, "dur": )" + std::to_string(length) + R"(, "args": {)" + args + "}}";
    };
    return write("trace.json",
                 R"({"deviceProperties": [)" + device + R"(], "traceEvents": [)" +
                     op("aten::scaled_dot_product_attention", 0, 100,
                        R"("Input Dims": )" + dims +
                            R"(, "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", ")" +
                            (dims.ends_with("[]]") ? "" : "bool") + "\"]") +
                     "," + op("aten::" + inner, 10, 80, "") +
                     R"(,{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                        "ts": 20, "dur": 5, "args": {"correlation": 7}},
                        {"ph": "X", "cat": "kernel", "name": "some_kernel", "pid": 0, "tid": 7, "ts": 200,
                        "dur": 9, "args": {"correlation": 7, "device": 0, "stream": 7}}]})");
  }
};

constexpr const char* kH200 =
    R"({"id": 0, "name": "NVIDIA H200", "computeMajor": 9, "computeMinor": 0, "warpSize": 32})";
constexpr const char* kA100 =
    R"({"id": 0, "name": "NVIDIA A100", "computeMajor": 8, "computeMinor": 0, "warpSize": 32})";

TEST_F(Why, TellsEveryBackendWithReasonsAndChanges) {
  const Outcome outcome = hunch({"why", "--problem", "8x16x1024x64", "--mask", "bool", "--arch", "sm_80"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("pytorch 2.11, sm_80, cuDNN 9.19.0 takes efficient"));
  EXPECT_THAT(outcome.out, HasSubstr("it takes no mask tensor, and there is a bool mask"));
  EXPECT_THAT(outcome.out, HasSubstr("is_causal=True in place of a causal mask"));
  EXPECT_THAT(outcome.out, HasSubstr("takes flash"));  // hunch's own
}

TEST_F(Why, TellsOurKernelForAnyArchitecture) {
  const auto ask = [&](const char* arch, std::vector<std::string> more) {
    std::vector<std::string> words = {"why",    "--problem", "8x16x1024x64", "--dispatcher", "hunch",
                                      "--arch", arch};
    words.insert(words.end(), more.begin(), more.end());
    return hunch(words);
  };
  for (const char* arch : {"sm_80", "sm_86", "sm_89", "sm_100", "sm_120"}) {
    const Outcome outcome = ask(arch, {});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("kernel     hunch::attention::sm80::flash_forward_kernel<bf16>"))
        << arch;
    EXPECT_THAT(outcome.out, HasSubstr(std::string("wgmma is sm_90's alone, and this is ") + arch));
  }
  // Which family a Hopper gets depends on the build; what a mask and a softcap do does not.
  EXPECT_THAT(ask("sm_90", {}).out, HasSubstr("::flash_forward_kernel<bf16>"));
  const Outcome masked = ask("sm_90", {"--mask", "bool", "--softcap", "30"});
  EXPECT_THAT(masked.out, HasSubstr("hunch::attention::sm80::flash_forward_kernel<bf16>"));
  EXPECT_THAT(masked.out, HasSubstr("it reads no mask tensor"));
  EXPECT_THAT(masked.out, HasSubstr("it caps no scores"));
  EXPECT_THAT(ask("sm_75", {}).out, Not(HasSubstr("flash_forward_kernel")));
  EXPECT_THAT(ask("sm_90", {"--layout", "bhds"}).out, HasSubstr("query's last stride is 1024, not 1"));
  EXPECT_THAT(ask("cpu", {}).out, HasSubstr("hunch::cpu::flash_attention<bf16>"));
  expect_error(ask("sm_90", {"--softcap", "0"}), {"--softcap 0", "--softcap 50"});
}

TEST_F(Why, PyTorchHasNoWindow) {
  const Outcome outcome = hunch({"why", "--problem", "8x16x1024x64", "--arch", "sm_80", "--window", "128"});
  EXPECT_THAT(outcome.out, HasSubstr("neither a window nor capped scores: judged without"));
  EXPECT_THAT(outcome.out, HasSubstr("it has no sliding window, and this one has 128 keys"));
}

TEST_F(Why, HugeProblemsNeedNoMemory) {
  const Outcome outcome = hunch({"why", "--problem", "64x64x1048576x128", "--mask", "causal"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("score"));  // hunch's math refuses the score matrix
}

TEST_F(Why, JsonHasTheSchema) {
  const Outcome outcome = hunch({"why", "--problem", "2x8x128x64", "--format", "json", "--torch", "2.6"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  simdjson::dom::parser parser;
  const simdjson::dom::element document = parser.parse(outcome.out);
  EXPECT_EQ(int64_t(document["schema_version"]), 1);
  EXPECT_EQ(int64_t(document["problem"]["head_dim"]), 64);
  const simdjson::dom::element torch = document["dispatchers"].at(0);
  EXPECT_EQ(std::string_view(torch["name"]), "pytorch");
  EXPECT_EQ(std::string_view(torch["version"]), "2.6");
  EXPECT_EQ(std::string_view(torch["arch"]), "sm_90");
  EXPECT_EQ(std::string_view(torch["takes"]), "flash");
  EXPECT_EQ(std::string_view(torch["backends"].at(0)["name"]), "flash");
  EXPECT_TRUE(bool(torch["backends"].at(0)["usable"]));
  EXPECT_EQ(std::string_view(torch["backends"].at(0)["reasons"].at(0)["stand"]), "for");
  EXPECT_TRUE(torch["backends"].at(0)["kernel"].is_null());
  const simdjson::dom::element own = document["dispatchers"].at(1);
  EXPECT_EQ(std::string_view(own["backends"].at(0)["kernel"]), "hunch::cpu::flash_attention<bf16>");
}

TEST_F(Why, EveryFormatNamesTheBackend) {
  for (const char* format : {"text", "json", "csv", "markdown"}) {
    const Outcome outcome = hunch({"why", "--problem", "2x8x128x64", "--format", format});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("efficient")) << format;
  }
}

TEST_F(Why, ABatchGivesALineAnAnswer) {
  const std::string lines =
      "{\"batch\": 2, \"heads\": 8, \"length\": 128, \"head_dim\": 64, \"arch\": \"sm_80\"}\n"
      "\n"
      "{\"batch\": 2, \"heads\": 8, \"length\": 128, \"head_dim\": 64, \"dtype\": \"f32\"}\n";
  const Outcome outcome = hunch({"why", "--problems", "-", "--format", "json"}, {}, lines);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 2);
  simdjson::dom::parser parser;
  std::vector<std::string> takes;
  for (const auto line : parser.parse_many(outcome.out))
    takes.emplace_back(std::string_view(line["dispatchers"].at(0)["takes"]));
  EXPECT_EQ(takes, (std::vector<std::string>{"flash", "efficient"}));
}

TEST_F(Why, ATraceSaysWhetherPyTorchWouldTakeTheSame) {
  const std::string dims = "[[2, 8, 128, 64], [2, 8, 128, 64], [2, 8, 128, 64], [2, 1, 128, 128]]";
  const Outcome agrees =
      hunch({"why", "--from-trace", made(dims, "_scaled_dot_product_efficient_attention", kA100)});
  EXPECT_EQ(agrees.status, 0) << agrees.err;
  EXPECT_THAT(agrees.out, HasSubstr("sm_80"));
  EXPECT_THAT(agrees.out, HasSubstr("takes efficient"));
  EXPECT_THAT(agrees.out, Not(HasSubstr("which is another")));
  EXPECT_THAT(agrees.out, HasSubstr("the trace has no \"Concrete Inputs\""));
  EXPECT_THAT(agrees.out, HasSubstr("the trace has no \"Input Strides\""));
  EXPECT_THAT(agrees.out, Not(HasSubstr("perhaps")));
  const Outcome differs =
      hunch({"why", "--from-trace", made(dims, "_scaled_dot_product_efficient_attention", kH200)});
  EXPECT_THAT(differs.out, HasSubstr("takes cudnn"));
  EXPECT_THAT(differs.out, HasSubstr("efficient, which is another"));
  EXPECT_THAT(differs.out, HasSubstr("perhaps    PyTorch 2.4 to 2.10"));
  EXPECT_THAT(differs.out, HasSubstr("cudnn switched off"));
}

// PyTorch took what the table gives for every call that it recorded, once the call's own inputs are read.
TEST_F(Why, ATraceTellsScalarsStridesAndGradients) {
  const Outcome outcome = hunch(
      {"why", "--format", "json", "--from-trace", HUNCH_TEST_DATA "/calls/attention_calls_cpu.json.gz"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  simdjson::dom::parser parser;
  const simdjson::dom::element document = parser.parse(outcome.out);
  std::size_t causal = 0, dropped = 0, masked = 0, grouped = 0, strided = 0, needed = 0, calls = 0;
  for (const auto call : simdjson::dom::array(document["calls"])) {
    ++calls;
    EXPECT_EQ(std::string_view(call["agrees"]), "yes");
    const simdjson::dom::element problem = call["problem"];
    causal += std::string_view(problem["mask"]) == "causal" ? 1u : 0u;
    dropped += double(problem["dropout"]) == 0.25 ? 1u : 0u;
    grouped += bool(problem["gqa"]) ? 1u : 0u;
    strided += int64_t(problem["query_strides"].at(1)) == 32 ? 1u : 0u;
    needed += bool(problem["grad"]) ? 1u : 0u;
    EXPECT_EQ(bool(problem["grad"]), std::string_view(call["gradients"]) == "needed");
    bool mask_grad = false;
    if (problem["mask_grad"].get(mask_grad) == simdjson::SUCCESS && mask_grad) {
      ++masked;
      EXPECT_EQ(std::string_view(call["gradients"]), "of the mask only");
    }
  }
  EXPECT_EQ(calls, 10u);  // two of the eleven are alike
  EXPECT_EQ(causal, 2u);
  EXPECT_EQ(dropped, 1u);
  EXPECT_EQ(grouped, 1u);
  EXPECT_EQ(strided, 1u);
  EXPECT_EQ(needed, 5u);
  EXPECT_EQ(masked, 1u);
}

// A missed guess of the backend says why, from the same table.
TEST_F(Why, AMissedGuessOfTheBackendSaysWhy) {
  const std::string dims = "[[2, 8, 128, 64], [2, 8, 128, 64], [2, 8, 128, 64], [2, 1, 128, 128]]";
  const std::string masked = made(dims, "_scaled_dot_product_efficient_attention", kA100);
  const Outcome outcome = hunch({"check", "--guess", "backend=flash", masked});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(
      outcome.out,
      HasSubstr("flash cannot take 2 x 8 x 128 x 64, bf16, bool mask [2, 1, 128, 128]: it takes no mask"));
  EXPECT_THAT(outcome.out, HasSubstr("as PyTorch 2.11: the trace does not tell its version"));
  // Others may have been switched off: on an H200 the table takes cudnn, and still knows of flash.
  EXPECT_THAT(hunch({"check", "--guess", "backend=flash",
                     made(dims, "_scaled_dot_product_efficient_attention", kH200)})
                  .out,
              HasSubstr("flash cannot take"));
  // Where the table could not have taken what the trace shows, it does not know why.
  const std::string heads = "[[2, 8, 128, 64], [2, 2, 128, 64], [2, 2, 128, 64], [2, 1, 128, 128]]";
  EXPECT_THAT(hunch({"check", "--guess", "backend=flash",
                     made(heads, "_scaled_dot_product_efficient_attention", kA100)})
                  .out,
              Not(HasSubstr("cannot take")));
  // Nor where it would have taken the guessed one.
  const std::string plain = "[[2, 8, 128, 64], [2, 8, 128, 64], [2, 8, 128, 64], []]";
  EXPECT_THAT(
      hunch({"check", "--guess", "backend=flash", made(plain, "_scaled_dot_product_attention_math", kA100)})
          .out,
      Not(HasSubstr("stands behind")));
}

TEST_F(Why, ACallThatLaunchesNothingIsTheCpus) {
  const std::string dims = "[[2, 8, 128, 64], [2, 8, 128, 64], [2, 8, 128, 64], []]";
  const auto asked = [&](const std::string& launch_at) {
    const std::string file = made(dims, "_scaled_dot_product_attention_math", kA100);
    std::string json = read_file(file);
    const std::string at = "\"ts\": 20,";
    json.replace(json.find(at), at.size(), "\"ts\": " + launch_at + ",");
    return hunch({"why", "--from-trace", write("moved.json", json)}).out;
  };
  EXPECT_THAT(asked("20"), HasSubstr("sm_80"));
  EXPECT_THAT(asked("150"), HasSubstr(", cpu takes"));
}

TEST_F(Why, CallsOfABackendsOwnOpAreTold) {
  std::string text = made("[[2, 8, 128, 64], [2, 8, 128, 64], [2, 8, 128, 64], []]", "nothing", kA100);
  std::ifstream file(text);
  std::string json((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::string sdpa = "aten::scaled_dot_product_attention";
  json.replace(json.find(sdpa), sdpa.size(), "aten::_scaled_dot_product_flash_attention");
  const Outcome outcome = hunch({"why", "--from-trace", write("direct.json", json)});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("of the backend's own op"));
  EXPECT_THAT(outcome.out, HasSubstr("took       flash"));
}

TEST_F(Why, ErrorsNameWhatToTry) {
  expect_error(hunch({"why"}), {"no problem is given", "--problem"});
  expect_error(hunch({"why", "--problem", "8x16x1024x64", "--arch", "sm_98"}), {"sm_98", "did you mean"});
  expect_error(hunch({"why", "--problem", "8x16x1024x64", "--torch", "1.13"}), {"1.13", "2.4 to 2.11"});
  expect_error(hunch({"why", "--problem", "8x16x1024x64", "--torch", "latest"}), {"latest", "not a version"});
  expect_error(hunch({"why", "--problem", "8x16x1024x64", "--enable", "flush"}),
               {"flush", "did you mean 'flash'"});
  expect_error(hunch({"why", "--problem", "8x16x1024"}), {"8x16x1024"});
  expect_error(hunch({"why", "--problems", path("none.jsonl")}), {"none.jsonl"});
  expect_error(hunch({"why", "--problems", "-"}, {}, "{\"batch\": \"two\"}\n"), {"line 1", "batch"});
  expect_error(hunch({"why", "--problems", "-"}, {}, "{\"hedas\": 2}\n"), {"line 1", "heads"});
  expect_error(hunch({"why", "--from-trace", trace("sdpa_flash.json.gz")}), {"record_shapes=True"});
}

TEST_F(Why, ANewerPyTorchIsJudgedAsTheNewestKnownAndSaysSo) {
  const Outcome outcome = hunch({"why", "--problem", "2x8x128x64", "--torch", "2.20"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("2.20 is newer than the newest known, 2.11"));
}

}  // namespace
}  // namespace hunch::test
