#include "hunch/formats/gzip.h"

#include <libdeflate.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "hunch/base/units.h"

namespace hunch::formats {
namespace {

constexpr std::size_t kMaxRatio = 1032;  // deflate cannot unpack a byte to more than this many
constexpr std::size_t kHeader = 18;      // the smallest member: header and trailer

struct Decompressor {
  libdeflate_decompressor* handle = libdeflate_alloc_decompressor();
  Decompressor() = default;
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
  ~Decompressor() { libdeflate_free_decompressor(handle); }
};

std::size_t machine_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return std::size_t{64} << 30;
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page);
}

// The size that the last member claims, modulo 4 GiB.
std::size_t claimed_size(std::string_view packed) {
  if (packed.size() < kHeader) return 0;
  uint32_t size = 0;
  for (int i = 0; i < 4; ++i)
    size |= static_cast<uint32_t>(static_cast<uint8_t>(packed[packed.size() - 4 + i])) << (8 * i);
  return size;
}

tl::unexpected<base::Error> too_large(std::size_t limit) {
  return base::fail(
      base::ErrorCode::unsupported,
      "unpacks to more than this machine's memory (" + base::format_bytes(static_cast<int64_t>(limit)) + ")",
      "record fewer steps, or unpack it on a larger machine and cut it");
}

}  // namespace

bool is_gzip(std::string_view bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x1f' && static_cast<uint8_t>(bytes[1]) == 0x8b;
}

base::Result<Unpacked> gunzip(std::string_view packed) {
  const Decompressor decompressor;
  if (decompressor.handle == nullptr) return base::fail(base::ErrorCode::environment, "out of memory");
  const std::size_t limit = machine_memory();
  const std::size_t ratio_limit = packed.size() > limit / kMaxRatio ? limit : packed.size() * kMaxRatio + 1;
  Unpacked out;
  std::size_t capacity =
      std::clamp<std::size_t>(claimed_size(packed) + 1, 4096, std::max<std::size_t>(ratio_limit, 4096));
  std::size_t at = 0;
  while (at == 0 || is_gzip(packed.substr(at))) {
    std::size_t used = 0, made = 0;
    while (true) {
      if (capacity > limit) return too_large(limit);
      if (out.data_ == nullptr || out.size_ + 1 > capacity || made == SIZE_MAX) {
        capacity = made == SIZE_MAX ? 2 * capacity : std::max(capacity, 2 * out.size_ + 4096);
        if (capacity > limit) return too_large(limit);
      }
      char* grown = static_cast<char*>(std::realloc(out.data_.get(), capacity));
      if (grown == nullptr) return too_large(limit);
      (void)out.data_.release();
      out.data_.reset(grown);
      const auto result =
          libdeflate_gzip_decompress_ex(decompressor.handle, packed.data() + at, packed.size() - at,
                                        grown + out.size_, capacity - out.size_, &used, &made);
      if (result == LIBDEFLATE_SUCCESS) break;
      if (result == LIBDEFLATE_INSUFFICIENT_SPACE) {
        made = SIZE_MAX;
        continue;
      }
      return base::fail(base::Error{base::ErrorCode::parse,
                                    "the gzip data that starts here is cut or corrupt",
                                    {},
                                    at,
                                    "record or copy it again"});
    }
    out.size_ += made;
    at += used;
    if (at >= packed.size()) return out;
  }
  const std::string_view rest = packed.substr(at);
  if (std::any_of(rest.begin(), rest.end(), [](char c) { return c != '\0'; })) out.garbage_ = rest.size();
  return out;
}

}  // namespace hunch::formats
