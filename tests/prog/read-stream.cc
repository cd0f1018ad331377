// SPDX-License-Identifier: Apache-2.0
// The first line of a file, by ifstream.
#include <fstream>
#include <iostream>
#include <string>

int main(int argc, char **argv)
{
	std::ifstream in(argc > 1 ? argv[1] : "");
	std::string line = "none";

	std::getline(in, line);
	std::cout << line << std::endl;
	return 0;
}
