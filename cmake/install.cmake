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

set(private_libs "-ljansson -lxxhash -lpng -ljpeg -lwebp -lgomp -lpthread -lm")
if(PADA_CUDA)
  string(PREPEND private_libs "-lcudart_static -ldl -lrt ")
endif()
file(RELATIVE_PATH up_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/pada.pc.in ${PROJECT_BINARY_DIR}/pada.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/pada.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pada)
install(EXPORT padaTargets NAMESPACE pada:: FILE padaConfig.cmake DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/padaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/padaConfigVersion.cmake DESTINATION ${package_dir})

# ---- documents, with the folders that their links expect ----
install(FILES README.md CHANGELOG.md LICENSE TYPE DOC)
install(DIRECTORY docs TYPE DOC FILES_MATCHING PATTERN "*.md")
