// Reads a spool, whole or cut anywhere.
#pragma once

#include <string>
#include <string_view>

#include "hunch/base/result.h"
#include "hunch/record/spool/spool.h"

namespace hunch::record::spool {

// Everything up to the end or to the first bytes that are no part of a spool; `cut` then says where, and
// `cut_reason` what is there. Records that cannot be (an end before its start) are left out.
// Errors: parse, with `name` and the byte, where the bytes do not begin as a spool does.
base::Result<Spool> read_spool(std::string_view bytes, const std::string& name);
base::Result<Spool> read_spool_file(const std::string& path);

}  // namespace hunch::record::spool
