# Install and export: the program, the libraries with their headers, and a package for find_package(hunch).
include(CMakePackageConfigHelpers)
get_property(libraries GLOBAL PROPERTY HUNCH_LIBRARIES)
install(TARGETS ${libraries} EXPORT hunchTargets FILE_SET HEADERS)
install(TARGETS hunch)
install(EXPORT hunchTargets NAMESPACE hunch:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hunch)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/hunchConfig.cmake.in ${PROJECT_BINARY_DIR}/hunchConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hunch)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hunchConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/hunchConfig.cmake ${PROJECT_BINARY_DIR}/hunchConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hunch)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
