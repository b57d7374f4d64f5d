// Unpacks any bytes as gzip, in a stream, and holds the result against libdeflate's, a second implementation:
// what it unpacks must come out the same, and what it refuses must be refused.
//
// In:  the fuzzer's bytes, given gzip's first bytes where they lack them. Out: nothing; a difference aborts.
#include <libdeflate.h>

#include <cstdint>
#include <string>
#include <vector>

#include "hunch/base/check.h"
#include "hunch/formats/gzip.h"

namespace {

// One member at a time. False: corrupt or cut.
bool unpack(const std::string& packed, std::string& out) {
  static libdeflate_decompressor* const decompressor = libdeflate_alloc_decompressor();
  std::size_t at = 0;
  std::vector<char> room(std::size_t{1} << 16);
  while (at < packed.size() && hunch::formats::is_gzip(std::string_view(packed).substr(at))) {
    std::size_t used = 0, made = 0;
    const auto result = libdeflate_gzip_decompress_ex(decompressor, packed.data() + at, packed.size() - at,
                                                      room.data(), room.size(), &used, &made);
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE) {
      room.resize(room.size() * 2);
      continue;
    }
    if (result != LIBDEFLATE_SUCCESS) return false;
    out.append(room.data(), made);
    at += used;
  }
  return true;
}

// igzip checks it, libdeflate does not.
bool may_have_header_checksum(const std::string& packed) {
  for (std::size_t at = packed.find("\x1f\x8b\x08"); at != std::string::npos;
       at = packed.find("\x1f\x8b\x08", at + 1))
    if (at + 3 < packed.size() && (packed[at + 3] & 2) != 0) return true;
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2 || size > 65536) return 0;
  std::string packed(reinterpret_cast<const char*>(data), size);
  packed[0] = '\x1f';
  packed[1] = '\x8b';
  std::string expected;
  const bool sound = unpack(packed, expected);
  const auto unpacked = hunch::formats::gunzip(packed);
  if (unpacked) {
    HUNCH_CHECK(!sound || unpacked->bytes() == expected, "unpacked to other bytes than libdeflate");
  } else {
    HUNCH_CHECK(!sound || may_have_header_checksum(packed), "refused what libdeflate unpacks");
    HUNCH_CHECK(unpacked.error().byte && *unpacked.error().byte <= size);
  }
  return 0;
}
