// How fast is a trace read? Ratios from one run, on a large file made from a real trace by repetition with
// shifted times:
//
//   simdjson   a bare on-demand pass over the bytes in memory that visits each event's name, category, time
//   and
//              duration: the yardstick
//   read       read_trace() of the plain file, with its rate as a share of the yardstick's
//   explain    the whole of `hunch explain --format json` as a process, the same
//   gzip       read_trace() of the packed file, against libdeflate's own time for the same bytes
//
// Use: bench_reading TRACE.json[.gz] [MEGABYTES] [FOLDER]     (300 MB in the system's temporary folder)
// The best of seven runs of each, in turns; the memory of reading is the peak that it added, that of explain
// the peak of its process. HUNCH names another program to take the place of this build's, HUNCH_BENCH_KEEP
// keeps the files.
#include <fcntl.h>
#include <fmt/format.h>
#include <libdeflate.h>
#include <simdjson.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hunch/base/mapped_file.h"
#include "hunch/base/result.h"
#include "hunch/formats/gzip.h"
#include "hunch/formats/reader.h"

namespace {

namespace fs = std::filesystem;
using hunch::base::describe;

std::string load(const std::string& path) {
  const auto file = hunch::base::MappedFile::open(path);
  if (!file) {
    fmt::print(stderr, "{}\n", describe(file.error()));
    std::exit(2);
  }
  if (!hunch::formats::is_gzip(file->bytes())) return std::string(file->bytes());
  const auto unpacked = hunch::formats::gunzip(file->bytes());
  if (!unpacked) {
    fmt::print(stderr, "{}\n", describe(unpacked.error()));
    std::exit(2);
  }
  return std::string(unpacked->bytes());
}

// The events of `text` again and again until about `bytes`, each copy a second later.
std::string repeated(const std::string& text, std::size_t bytes) {
  const std::size_t list = text.find('[', text.find("\"traceEvents\""));
  const std::size_t end = text.rfind("}", text.rfind(']'));
  const std::string events = text.substr(list + 1, end - list);
  std::string out = text.substr(0, list + 1);
  out.reserve(bytes + events.size() + text.size());
  for (uint64_t copy = 0; out.size() < bytes; ++copy) {
    if (copy > 0) out += ',';
    std::size_t from = 0;
    while (true) {
      const std::size_t ts = events.find("\"ts\": ", from);
      if (ts == std::string::npos) break;
      const std::size_t number = ts + 6;
      std::size_t digits = number;
      uint64_t value = 0;
      while (digits < events.size() && events[digits] >= '0' && events[digits] <= '9')
        value = value * 10 + static_cast<uint64_t>(events[digits++] - '0');
      out.append(events, from, number - from);
      out += std::to_string(value + copy * 1'000'000);
      from = digits;
    }
    out.append(events, from);
  }
  out.append(text, end + 1);
  return out;
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The best time of each, taken in turns so that what else the machine does meets all of them.
std::vector<double> best_of(const std::vector<std::function<void()>>& works) {
  constexpr int kRounds = 7;
  std::vector<double> best(works.size(), 1e300);
  for (int round = 0; round < kRounds; ++round)
    for (std::size_t i = 0; i < works.size(); ++i) best[i] = std::min(best[i], seconds_of(works[i]));
  return best;
}

// What the yardstick saw, so that its work cannot be left out.
struct Visited {
  uint64_t events = 0, letters = 0;
  double time = 0;
};

Visited simdjson_pass(const simdjson::padded_string& json, simdjson::ondemand::parser& parser) {
  Visited seen;
  simdjson::ondemand::document document;
  if (parser.iterate(json).get(document) != simdjson::SUCCESS) return seen;
  simdjson::ondemand::array events;
  if (document["traceEvents"].get_array().get(events) != simdjson::SUCCESS) return seen;
  for (auto element : events) {
    simdjson::ondemand::object event;
    if (element.get_object().get(event) != simdjson::SUCCESS) break;
    ++seen.events;
    for (auto field : event) {
      simdjson::ondemand::raw_json_string name;
      if (field.key().get(name) != simdjson::SUCCESS) break;
      std::string_view text;
      double number = 0;
      if (name == "name" || name == "cat") {
        if (field.value().get_string().get(text) == simdjson::SUCCESS) seen.letters += text.size();
      } else if (name == "ts" || name == "dur") {
        if (field.value().get_double().get(number) == simdjson::SUCCESS) seen.time += number;
      }
    }
  }
  return seen;
}

// Peak memory of a process that does nothing but `work`, in bytes.
int64_t peak_of(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  int status = 0;
  rusage usage{};
  if (wait4(child, &status, 0, &usage) != child || status != 0) {
    fmt::print(stderr, "a process that was measured failed\n");
    std::exit(2);
  }
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

// Becomes `hunch explain --format json`, its output thrown away.
void become_hunch(const char* program, const std::string& trace) {
  const int null = open("/dev/null", O_WRONLY);
  if (null < 0 || dup2(null, STDOUT_FILENO) < 0) _exit(2);
  execl(program, program, "explain", trace.c_str(), "--format", "json", static_cast<char*>(nullptr));
  _exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "use: bench_reading TRACE.json[.gz] [MEGABYTES] [FOLDER]\n");
    return 2;
  }
  const std::size_t bytes = static_cast<std::size_t>(argc > 2 ? std::atoi(argv[2]) : 300) << 20;
  const fs::path folder = argc > 3 ? fs::path(argv[3]) : fs::temp_directory_path();
  const std::string plain = (folder / "hunch_bench.json").string(), packed = plain + ".gz";
  {
    const std::string text = repeated(load(argv[1]), bytes);
    std::ofstream(plain, std::ios::binary) << text;
    auto* compressor = libdeflate_alloc_compressor(1);
    std::string out(libdeflate_gzip_compress_bound(compressor, text.size()), '\0');
    out.resize(libdeflate_gzip_compress(compressor, text.data(), text.size(), out.data(), out.size()));
    libdeflate_free_compressor(compressor);
    std::ofstream(packed, std::ios::binary) << out;
  }
  const auto size = static_cast<double>(fs::file_size(plain));
  const auto read = [](const std::string& path) {
    const auto trace = hunch::formats::read_trace(path);
    if (!trace) {
      fmt::print(stderr, "{}\n", describe(trace.error()));
      std::_Exit(2);
    }
    return trace->stats.events;
  };
  const char* const named = std::getenv("HUNCH");
  const char* const hunch = named != nullptr ? named : HUNCH_PROGRAM;
  // Before anything else takes memory; the process itself is a few megabytes.
  const int64_t idle = peak_of([] {});
  const int64_t peak = peak_of([&] { read(plain); }) - idle;
  const int64_t explain_peak = peak_of([&] { become_hunch(hunch, plain); });

  Visited seen;
  uint64_t events = 0;
  double yardstick = 0, reading = 0, explaining = 0;
  {
    const auto json = simdjson::padded_string::load(plain);
    simdjson::ondemand::parser parser;
    const auto best =
        best_of({[&] { seen = simdjson_pass(json.value_unsafe(), parser); }, [&] { events = read(plain); },
                 [&] { peak_of([&] { become_hunch(hunch, plain); }); }});
    yardstick = best[0];
    reading = best[1];
    explaining = best[2];
  }

  const std::string packed_bytes = [&] {
    const auto file = hunch::base::MappedFile::open(packed);
    return std::string(file->bytes());
  }();
  const auto inflate = [&] {
    const std::unique_ptr<char, decltype(&std::free)> out(
        static_cast<char*>(std::malloc(static_cast<std::size_t>(size))), &std::free);
    auto* decompressor = libdeflate_alloc_decompressor();
    std::size_t made = 0;
    libdeflate_gzip_decompress(decompressor, packed_bytes.data(), packed_bytes.size(), out.get(),
                               static_cast<std::size_t>(size), &made);
    libdeflate_free_decompressor(decompressor);
  };
  const auto gzip = best_of({inflate, [&] { read(packed); }});
  const double inflating = gzip[0], unpacking_and_reading = gzip[1];

  fmt::print("file      {:.0f} MB, {} events ({} by simdjson)\n", size / 1e6, events, seen.events);
  fmt::print("simdjson  {:.3f} s  {:.2f} GB/s  bare on-demand pass\n", yardstick, size / yardstick / 1e9);
  fmt::print("read      {:.3f} s  {:.2f} GB/s  {:.2f} x the rate of simdjson\n", reading,
             size / reading / 1e9, yardstick / reading);
  fmt::print("memory    {:.0f} MB peak for reading, {:.2f} x the file\n", static_cast<double>(peak) / 1e6,
             static_cast<double>(peak) / size);
  fmt::print(
      "explain   {:.3f} s  {:.2f} GB/s  {:.2f} x the rate of simdjson; {:.0f} MB peak, {:.2f} x the file\n",
      explaining, size / explaining / 1e9, yardstick / explaining, static_cast<double>(explain_peak) / 1e6,
      static_cast<double>(explain_peak) / size);
  fmt::print("gzip      {:.3f} s, libdeflate alone {:.3f} s: {:.2f} x\n", unpacking_and_reading, inflating,
             unpacking_and_reading / inflating);
  if (std::getenv("HUNCH_BENCH_KEEP") == nullptr) {
    fs::remove(plain);
    fs::remove(packed);
  }
  return events == seen.events ? 0 : 1;
}
