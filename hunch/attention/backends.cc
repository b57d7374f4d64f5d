// The table of backends, in the order of tables. Adding a backend is its folder and one line here;
// dispatch.cc has the order of preference, and the conformance tests take up whatever stands here.
#include "hunch/attention/backend.h"
#include "hunch/attention/cudnn/cudnn.h"
#include "hunch/attention/efficient/efficient.h"
#include "hunch/attention/flash/flash.h"
#include "hunch/attention/math/math.h"
#include "hunch/attention/naive/naive.h"

namespace hunch::attention {

std::span<const Backend* const> backends() {
  static const naive::NaiveBackend kNaive;
  static const naive::NaiveInplaceBackend kNaiveInplace;
  static const math::MathBackend kMath;
  static const efficient::EfficientBackend kEfficient;
  static const flash::FlashBackend kFlash;
  static const cudnn::CudnnBackend kCudnn;
  static const Backend* const kBackends[] = {
      &kNaive, &kNaiveInplace, &kMath, &kEfficient, &kFlash, &kCudnn,
  };
  return kBackends;
}

std::string variant_name(const Backend& backend) {
  std::string name(backend.name());
  if (backend.provider() != kNative) name = std::string(backend.provider()) + '.' + name;
  return name;
}

const Backend* find_backend(std::string_view name) {
  for (const Backend* backend : backends())
    if (backend->name() == name) return backend;
  return nullptr;
}

}  // namespace hunch::attention
