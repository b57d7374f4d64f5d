// Asks for large pages behind long arrays: columns of millions of rows are written once from front to back,
// and a page fault every 4 KiB of them costs as much as what is written.
//
// In:  memory that was reserved and not written yet.
// Out: nothing; it is a hint, taken where the system grants large pages to who asks. Short arrays are left
// alone.
#pragma once

#include <cstddef>
#include <vector>

namespace hunch::base {

void prefer_large_pages(void* memory, std::size_t bytes);

// A vector with room for `count`, on large pages where there are any.
template <class T>
void reserve_large(std::vector<T>& values, std::size_t count) {
  if (count <= values.capacity()) return;
  values.reserve(count);
  prefer_large_pages(values.data(), values.capacity() * sizeof(T));
}

// The same, filled.
template <class T>
void assign_large(std::vector<T>& values, std::size_t count, const T& value) {
  reserve_large(values, count);
  values.assign(count, value);
}

}  // namespace hunch::base
