// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/cli/kw_main.hpp"

int main(int argc, char** argv) { return kw_main(argc, argv); }
