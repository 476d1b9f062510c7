#pragma once

#include <stdexcept>
#include <string>

namespace ulpfuzz {

// Something the user gave is not right. `place` says where in the user's input (a file, a JSON
// pointer, a node name); the message says what is wrong and what would be right. The command line
// prints one line, "place: message", and exits with status 2.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
  Error(const std::string& place, const std::string& message)
      : std::runtime_error(place.empty() ? message : place + ": " + message) {}
};

// A system that was named is not there (no torch in the environment, no such device): status 4.
class NotAvailable : public Error {
 public:
  using Error::Error;
};

}  // namespace ulpfuzz
