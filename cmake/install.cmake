# `make install`: program, library, header, manual pages, completions, documents; pkg-config and CMake find the library
# wherever the tree is put (DESTDIR, --prefix), because both files locate it from their own place.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# ---- pages and scripts that the program writes about itself ----
set(man_dir ${PROJECT_BINARY_DIR}/man)
set(completion_dir ${PROJECT_BINARY_DIR}/completion)
file(MAKE_DIRECTORY ${man_dir} ${completion_dir})
file(STRINGS ${PROJECT_SOURCE_DIR}/src/cli/commands.def commands REGEX "^PADA_COMMAND\\(")
list(TRANSFORM commands REPLACE "^PADA_COMMAND\\(([a-z0-9_]+)\\).*" "\\1")
set(written)
foreach(command "" ${commands})
  string(REGEX REPLACE "-$" "" page "pada-${command}")
  add_custom_command(OUTPUT ${man_dir}/${page}.1 COMMAND pada help --man ${command} > ${man_dir}/${page}.1
    DEPENDS pada VERBATIM)
  list(APPEND written ${man_dir}/${page}.1)
endforeach()
foreach(shell bash zsh)
  add_custom_command(OUTPUT ${completion_dir}/${shell} COMMAND pada completion ${shell} > ${completion_dir}/${shell}
    DEPENDS pada VERBATIM)
  list(APPEND written ${completion_dir}/${shell})
endforeach()
add_custom_target(pada_manual ALL DEPENDS ${written})

install(DIRECTORY ${man_dir}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
install(FILES ${completion_dir}/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME pada)
install(FILES ${completion_dir}/zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _pada)

# ---- program, library, header ----
install(TARGETS pada RUNTIME)
install(TARGETS pada_shared EXPORT padaTargets LIBRARY)
install(TARGETS pada_core ARCHIVE)
install(FILES ${PROJECT_SOURCE_DIR}/include/pada.h TYPE INCLUDE)

# What a program that links the archive needs besides, from the packages that pada_core was linked with.
get_target_property(linked pada_core LINK_LIBRARIES)
set(private_libs)
if(PADA_HAS_CUDA)
  list(APPEND private_libs -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt)
endif()
foreach(library ${linked})
  if(library MATCHES "^PkgConfig::(.*)")
    list(APPEND private_libs ${${CMAKE_MATCH_1}_STATIC_LDFLAGS})
  endif()
endforeach()
list(APPEND private_libs -lgomp -lpthread -lm)
# Each once, where it is asked for last: archives come before what they need.
list(REVERSE private_libs)
list(REMOVE_DUPLICATES private_libs)
list(REVERSE private_libs)
list(JOIN private_libs " " private_words)

# pada.pc for the shared library, and for `cc -static`; pada-static.pc for the archive in a program that is not static.
file(RELATIVE_PATH up_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(kind "" -static)
  set(links "Libs: -L\${libdir} -lpada\nLibs.private: ${private_words}")
  if(kind)
    set(links "Libs: -L\${libdir} -l:libpada.a ${private_words}")
  endif()
  configure_file(${CMAKE_CURRENT_LIST_DIR}/pada.pc.in ${PROJECT_BINARY_DIR}/pada${kind}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/pada${kind}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pada)
install(EXPORT padaTargets NAMESPACE pada:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/padaConfig.cmake.in ${PROJECT_BINARY_DIR}/padaConfig.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/padaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/padaConfig.cmake ${PROJECT_BINARY_DIR}/padaConfigVersion.cmake
  DESTINATION ${package_dir})

# Programs find the shared library: ldconfig is told about it, or people what to set.
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/ldconfig.cmake)
install(CODE "pada_ldconfig(\"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}\")")

# ---- documents, with the folders that their links expect ----
install(FILES README.md CHANGELOG.md LICENSE TYPE DOC)
install(DIRECTORY docs TYPE DOC FILES_MATCHING PATTERN "*.md")
