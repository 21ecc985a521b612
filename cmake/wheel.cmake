# What scikit-build-core puts into a wheel: the library, beside the modules that load it by its path. It needs no versions in
# its name, which wheels would make copies of.
set_property(TARGET pada_shared PROPERTY VERSION)
set_property(TARGET pada_shared PROPERTY SOVERSION)
install(TARGETS pada_shared LIBRARY DESTINATION pada)
