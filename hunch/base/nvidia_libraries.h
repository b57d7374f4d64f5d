// What NVIDIA's shared libraries are called, in the order in which they are tried: who uses one and `hunch
// doctor`, which says whether it is there, open the same.
#pragma once

#include <string>
#include <vector>

namespace hunch::base::nvidia {

inline std::vector<std::string> driver() { return {"libcuda.so.1"}; }
inline std::vector<std::string> runtime() { return {"libcudart.so.13", "libcudart.so.12"}; }
// Structs that cross cuBLASLt's interface are those of the headers: so of the same major version.
inline std::vector<std::string> cublaslt(int major) { return {"libcublasLt.so." + std::to_string(major)}; }
inline std::vector<std::string> cupti() { return {"libcupti.so.13", "libcupti.so.12", "libcupti.so"}; }
inline std::vector<std::string> cudnn() { return {"libcudnn.so.9"}; }

}  // namespace hunch::base::nvidia
