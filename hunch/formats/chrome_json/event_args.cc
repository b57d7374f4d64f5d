#include "hunch/formats/chrome_json/event_args.h"

#include <limits>

#include "hunch/base/text_hash.h"
#include "hunch/formats/chrome_json/numbers.h"
#include "hunch/formats/chrome_json/text.h"

namespace hunch::formats::chrome_json {
namespace {

bool is_null(std::string_view token) { return token == "null" || token == "None"; }

// Sets `to` where `token` is a whole number that is not negative; counts what is no number.
template <class Int>
bool set_count(std::string_view token, Int& to, uint64_t& wrong) {
  if (is_null(token)) return false;
  if constexpr (std::is_same_v<Int, uint64_t>) {
    if (const auto value = parse_unsigned(token)) {
      to = *value;
      return true;
    }
  }
  const auto value = parse_signed(token);
  if (!value || (*value > 0 &&
                 static_cast<uint64_t>(*value) > static_cast<uint64_t>(std::numeric_limits<Int>::max()))) {
    // Larger than the type, or no whole number at all.
    ++wrong;
    return false;
  }
  if (*value < 0) return false;
  to = static_cast<Int>(*value);
  return true;
}

bool set_real(std::string_view token, float& to, uint64_t& wrong) {
  if (is_null(token)) return false;
  const auto value = parse_real(token);
  if (!value) {
    ++wrong;
    return false;
  }
  if (*value < 0 || *value > 1e30) return false;
  to = static_cast<float>(*value);
  return true;
}

bool set_triple(const TokenWalker& walker, uint32_t first, std::array<uint32_t, 3>& to, uint64_t& wrong) {
  std::array<uint32_t, 3> values{};
  std::size_t seen = 0;
  bool sound = walker.kind(first) == '[';
  if (!sound) {
    if (!is_null(walker.text(first))) ++wrong;
    return false;
  }
  walker.elements(first, [&](uint32_t at, uint32_t behind) {
    if (seen < 3 && behind == at + 1) {
      uint64_t unused = 0;
      sound = set_count(walker.text(at), values[seen], unused) && sound;
    }
    ++seen;
  });
  if (!sound || seen != 3) {
    ++wrong;
    return false;
  }
  to = values;
  return true;
}

bool keeps_values(std::string_view name) {
  return name.empty() || name.find("scaled_dot_product") != std::string_view::npos;
}

bool is_external_id(std::string_view key) { return is(key, "External id") || is(key, "external id"); }

}  // namespace

uint32_t ArgsReader::read(const TokenWalker& walker, uint32_t args, trace::EventKind kind,
                          std::string_view name, EventArgs& out) {
  using trace::EventKind;
  if (walker.kind(args) != '{') {
    if (!is_null(walker.text(args))) ++out.wrong_types;
    return walker.skip(args);
  }
  switch (kind) {
    case EventKind::kernel:
    case EventKind::memcpy:
    case EventKind::memset:
      return read_device(walker, args, out);
    case EventKind::op:
      return read_op(walker, args, name, out);
    case EventKind::python_frame:
      return read_python(walker, args, out);
    default:
      return read_ids(walker, args, out);
  }
}

uint32_t ArgsReader::read_device(const TokenWalker& walker, uint32_t args, EventArgs& out) {
  trace::DeviceDetail& to = out.device;
  return walker.members(args, [&](std::string_view key, uint32_t first) {
    const auto count = [&](auto& field) {
      if (set_count(walker.text(first), field, out.wrong_types)) out.has_device = true;
    };
    const auto real = [&](float& field) {
      if (set_real(walker.text(first), field, out.wrong_types)) out.has_device = true;
    };
    switch (key.size()) {
      case 4:
        if (is(key, "grid")) out.has_device |= set_triple(walker, first, to.grid, out.wrong_types);
        break;
      case 5:
        if (is(key, "block")) out.has_device |= set_triple(walker, first, to.block, out.wrong_types);
        if (is(key, "bytes")) count(to.bytes);
        break;
      case 6:
        if (is(key, "device")) count(to.device);
        if (is(key, "stream")) count(to.stream);
        break;
      case 8:
        if (is(key, "graph id")) count(to.graph_id);
        break;
      case 11:
        if (is(key, "correlation")) set_count(walker.text(first), out.correlation, out.wrong_types);
        if (is_external_id(key)) set_count(walker.text(first), out.external_id, out.wrong_types);
        break;
      case 12:
        if (is(key, "warps per SM")) real(to.warps_per_sm);
        break;
      case 13:
        if (is(key, "shared memory")) count(to.shared_bytes);
        if (is(key, "blocks per SM")) real(to.blocks_per_sm);
        if (is(key, "graph node id")) count(to.graph_node_id);
        break;
      case 20:
        if (is(key, "registers per thread")) count(to.registers);
        break;
      case 25:
        if (is(key, "est. achieved occupancy %")) real(to.reported_occupancy_pct);
        break;
      case 26:
        if (is(key, "hunch driver blocks per SM")) count(to.driver_blocks);
        break;
      default:
        break;
    }
    return walker.skip(first);
  });
}

uint32_t ArgsReader::read_op(const TokenWalker& walker, uint32_t args, std::string_view name,
                             EventArgs& out) {
  trace::OpDetail& to = out.op;
  return walker.members(args, [&](std::string_view key, uint32_t first) {
    const uint32_t after = walker.skip(first);
    if (TokenWalker::failed(after)) return after;
    const auto list = [&](trace::StringId& field) {
      const std::string_view value = walker.text(first, after);
      if (value.front() == '[') {
        field = list_text(value);
      } else if (is_string(value)) {  // some writers quote the list
        TextRepairs repairs;
        field = builder_.intern(unescape(inside(value), scratch_, repairs));
      } else {
        if (!is_null(value)) ++out.wrong_types;
        return;
      }
      out.has_op = true;
    };
    const auto count = [&](int64_t& field) {
      if (set_count(walker.text(first), field, out.wrong_types)) out.has_op = true;
    };
    switch (key.size()) {
      case 10:
        if (is(key, "Input Dims")) list(to.input_dims);
        if (is(key, "Input type")) list(to.input_types);
        break;
      case 11:
        if (is_external_id(key)) set_count(walker.text(first), out.external_id, out.wrong_types);
        if (is(key, "correlation")) set_count(walker.text(first), out.correlation, out.wrong_types);
        break;
      case 13:
        if (is(key, "Fwd thread id")) count(to.forward_thread);
        if (is(key, "Input Strides") && keeps_values(name)) list(to.input_strides);
        break;
      case 15:
        if (is(key, "Sequence number")) count(to.sequence_number);
        if (is(key, "Concrete Inputs") && keeps_values(name)) list(to.input_values);
        break;
      default:
        break;
    }
    return after;
  });
}

// A trace has few different lists and many of each: what one compacts to is kept, by the text as it is
// written.
trace::StringId ArgsReader::list_text(std::string_view raw) {
  constexpr std::size_t kLongest = 512;
  if (raw.size() > kLongest) return builder_.intern(compact(raw, scratch_));
  if (lists_.empty()) lists_.resize(512);
  List& known = lists_[base::text_hash(raw) % lists_.size()];
  if (known.raw != raw) {
    known.raw = raw;
    known.text = builder_.intern(compact(raw, scratch_));
  }
  return known.text;
}

uint32_t ArgsReader::read_python(const TokenWalker& walker, uint32_t args, EventArgs& out) {
  trace::OpDetail& to = out.op;
  return walker.members(args, [&](std::string_view key, uint32_t first) {
    if (key.size() == 9 && is(key, "Python id"))
      out.has_op |= set_count(walker.text(first), to.python_id, out.wrong_types);
    if (key.size() == 16 && is(key, "Python parent id"))
      out.has_op |= set_count(walker.text(first), to.python_parent, out.wrong_types);
    return walker.skip(first);
  });
}

uint32_t ArgsReader::read_ids(const TokenWalker& walker, uint32_t args, EventArgs& out) {
  return walker.members(args, [&](std::string_view key, uint32_t first) {
    if (key.size() == 11) {
      if (is(key, "correlation")) set_count(walker.text(first), out.correlation, out.wrong_types);
      if (is_external_id(key)) set_count(walker.text(first), out.external_id, out.wrong_types);
    }
    return walker.skip(first);
  });
}

bool ArgsReader::read_memory(const TokenWalker& walker, uint32_t args, MemoryArgs& out) {
  uint64_t wrong = 0;
  const uint32_t behind = walker.members(args, [&](std::string_view key, uint32_t first) {
    if (key == "Bytes") {
      if (const auto value = parse_signed(walker.text(first))) {
        out.bytes = *value;
        out.has_bytes = true;
      }
    } else if (key == "Total Allocated") {
      set_count(walker.text(first), out.total_allocated, wrong);
    } else if (key == "Device Id") {
      set_count(walker.text(first), out.device_id, wrong);
    } else if (key == "Device Type") {
      out.has_type = set_count(walker.text(first), out.device_type, wrong);
    }
    return walker.skip(first);
  });
  return !TokenWalker::failed(behind);
}

bool ArgsReader::find_string(const TokenWalker& walker, uint32_t args, std::string_view key,
                             std::string_view& found) {
  const uint32_t behind = walker.members(args, [&](std::string_view name, uint32_t first) {
    if (name == key && is_string(walker.text(first))) found = walker.text(first);
    return walker.skip(first);
  });
  return !TokenWalker::failed(behind);
}

}  // namespace hunch::formats::chrome_json
