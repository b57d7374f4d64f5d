// Packs text with gzip, for tests.
#pragma once

#include <libdeflate.h>

#include <string>

namespace hunch::formats {

inline std::string gzip(const std::string& text) {
  auto* compressor = libdeflate_alloc_compressor(6);
  std::string packed(libdeflate_gzip_compress_bound(compressor, text.size()), '\0');
  packed.resize(libdeflate_gzip_compress(compressor, text.data(), text.size(), packed.data(), packed.size()));
  libdeflate_free_compressor(compressor);
  return packed;
}

}  // namespace hunch::formats
