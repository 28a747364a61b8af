set_target_properties(@NAME@ PROPERTIES POSITION_INDEPENDENT_CODE ON WINDOWS_EXPORT_ALL_SYMBOLS ON)
if(UNIX AND NOT APPLE)   # only the interface is seen in a shared library
  get_target_property(kind @NAME@ TYPE)
  if(kind STREQUAL SHARED_LIBRARY)
    target_link_libraries(@NAME@ PRIVATE -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/@NAME@.map)
  endif()
endif()

if(@UPPER@_INSTALL)
  include(CMakePackageConfigHelpers)
  install(TARGETS @NAME@ EXPORT @NAME@_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES @HEADERS@ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/@NAME@)
  install(FILES @DATA@ DESTINATION ${CMAKE_INSTALL_DATADIR}/@NAME@)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/@NAME@)
  install(EXPORT @NAME@_targets NAMESPACE @NAME@:: FILE @NAME@_targets.cmake DESTINATION ${package})
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/@NAME@_config.cmake.in [=[
@PACKAGE_INIT@
@CMAKE_FIND@include(${CMAKE_CURRENT_LIST_DIR}/@NAME@_targets.cmake)
set_and_check(@NAME@_DATA_DIR "@PACKAGE_CMAKE_INSTALL_DATADIR@/@NAME@")
]=])
  configure_package_config_file(${CMAKE_CURRENT_BINARY_DIR}/@NAME@_config.cmake.in
    ${CMAKE_CURRENT_BINARY_DIR}/@NAME@Config.cmake INSTALL_DESTINATION ${package} PATH_VARS CMAKE_INSTALL_DATADIR)
  write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/@NAME@ConfigVersion.cmake COMPATIBILITY SameMajorVersion)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/@NAME@Config.cmake ${CMAKE_CURRENT_BINARY_DIR}/@NAME@ConfigVersion.cmake
    DESTINATION ${package})

  # The places of pkg-config's file are told from its own, so that the prefix may be chosen when installing.
  file(RELATIVE_PATH up /usr/${CMAKE_INSTALL_LIBDIR}/pkgconfig /usr)
  set(prefix "\${pcfiledir}/${up}")
  foreach(place libdir includedir datadir)
    string(TOUPPER ${place} variable)
    set(${place} "\${prefix}/${CMAKE_INSTALL_${variable}}")
  endforeach()
  configure_file(@NAME@.pc.in @NAME@.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/@NAME@.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
