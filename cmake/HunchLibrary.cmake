# hunch_library(NAME LINK ... PRIVATE ...): the static library of folder hunch/NAME, all its .cc files, and
# with CUDA its .cu files (HunchCuda.cmake says which files are CUDA's alone).
# LINK are the folders and libraries that its headers need, PRIVATE those that only its sources need.
# Which folders may appear there is checked by the test "layers" (cmake/layers.txt).
function(hunch_library name)
  cmake_parse_arguments(arg "" "" "LINK;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  file(GLOB_RECURSE kernels CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cu)
  set(cuda_sources ${sources} ${kernels})
  list(FILTER cuda_sources INCLUDE REGEX "${HUNCH_CUDA_SOURCES}")
  list(FILTER sources EXCLUDE REGEX "${HUNCH_CUDA_SOURCES}")
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$|/plugin_[a-z]+\\.cc$")  # plug-ins are built by themselves
  add_library(hunch_${name} STATIC ${sources})
  add_library(hunch::${name} ALIAS hunch_${name})
  set_target_properties(hunch_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_sources(hunch_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
  target_compile_features(hunch_${name} PUBLIC cxx_std_20)
  target_link_libraries(hunch_${name} PUBLIC ${arg_LINK} PRIVATE ${arg_PRIVATE} $<BUILD_INTERFACE:hunch_compile>)
  if(HUNCH_HAS_CUDA AND cuda_sources)
    target_sources(hunch_${name} PRIVATE ${cuda_sources})
    target_include_directories(hunch_${name} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
    target_link_libraries(hunch_${name} PRIVATE CUDA::cudart_static)
  endif()
  set_property(GLOBAL APPEND PROPERTY HUNCH_LIBRARIES hunch_${name})
endfunction()

# hunch_test(NAME LINK ...): a GoogleTest program of all *_test.cc in the current folder.
function(hunch_test name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${arg_LINK} hunch_compile GTest::gtest GTest::gmock GTest::gtest_main fmt::fmt)
  target_compile_definitions(${name} PRIVATE
    HUNCH_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data" HUNCH_SOURCE="${PROJECT_SOURCE_DIR}")
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 600)
endfunction()
