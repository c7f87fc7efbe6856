# Read at the end of liboqs' own project(): puts shim.c on its target without touching its tree.
cmake_language(EVAL CODE "cmake_language(DEFER CALL target_sources oqs PRIVATE [[${CMAKE_CURRENT_LIST_DIR}/shim.c]])")
