#include "hunch/formats/looks_like.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace hunch::formats {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kUnpack = "unpack it first";
constexpr std::string_view kGive = "give it a Chrome trace (.json or .json.gz) as torch.profiler writes it";

struct Magic {
  std::string_view bytes;
  Looks looks;
};

constexpr std::array kMagics = {
    Magic{"PK\x03\x04"sv, {"a zip archive", "unpack it and give the trace inside"}},
    Magic{"PK\x05\x06"sv, {"an empty zip archive", kGive}},
    Magic{"\x1F\x8B"sv, {"gzip data within gzip data", "unpack it once and give what that makes"}},
    Magic{"\x28\xB5\x2F\xFD"sv, {"zstd-compressed", kUnpack}},
    Magic{"\xFD"
          "7zXZ"sv,
          {"xz-compressed", kUnpack}},
    Magic{"BZh"sv, {"bzip2-compressed", kUnpack}},
    Magic{"\x7F"
          "ELF"sv,
          {"a program", kGive}},
    Magic{"%PDF"sv, {"a PDF", kGive}},
    Magic{"\x89PNG"sv, {"a picture", kGive}},
    Magic{"\xFF\xFE"sv, {"UTF-16 text", "convert it to UTF-8"}},
    Magic{"\xFE\xFF"sv, {"UTF-16 text", "convert it to UTF-8"}},
    Magic{"\x80\x02"sv, {"a Python pickle", kGive}},
    Magic{"\x80\x04"sv, {"a Python pickle", kGive}},
    Magic{"version https://git-lfs"sv, {"a Git LFS pointer", "fetch the file itself: git lfs pull"}},
};

}  // namespace

Looks looks_like(std::string_view bytes, std::string_view name) {
  for (const std::string_view end : {".nsys-rep"sv, ".qdrep"sv, ".qdstrm"sv})
    if (name.size() > end.size() && name.substr(name.size() - end.size()) == end)
      return {"a report of Nsight Systems that is not exported yet",
              "export it: nsys export --type sqlite FILE, and give the .sqlite file"};
  for (const auto& magic : kMagics)
    if (bytes.substr(0, magic.bytes.size()) == magic.bytes) return magic.looks;
  if (bytes.size() > 262 && bytes.substr(257, 5) == "ustar") return {"a tar archive", kUnpack};
  std::string_view text = bytes;
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  if (text.empty()) return {"nothing but white space", kGive};
  if (text.front() == '<') return {"HTML or XML", "download the trace itself, not a page about it"};
  const bool binary = std::any_of(bytes.begin(), bytes.end(), [](char c) {
    const auto byte = static_cast<uint8_t>(c);
    return byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t' && byte != '\f' && byte != 0x1b;
  });
  if (binary) return {"binary data", kGive};
  return {"text, but not JSON", kGive};
}

}  // namespace hunch::formats
