// SPDX-License-Identifier: Apache-2.0
// Small text functions that messages and parsers share: nearest name, joining, locale-free numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

// The candidate with the smallest edit distance, if it is close enough to be a likely typo.
std::optional<std::string> nearest_name(std::string_view name,
                                        const std::vector<std::string>& candidates);

// "unknown operation 'scal'; did you mean 'scale'? known: scale, shift". `what` is "operation".
std::string unknown_name_message(std::string_view what, std::string_view name,
                                 const std::vector<std::string>& candidates);

std::string join(const std::vector<std::string>& parts, std::string_view separator = ", ");
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text) noexcept;
std::string upper(std::string_view text);

// Shortest decimal that reads back to the same double: "1e-06", "0.5", "3".
std::string number_text(double value);
// The whole of `text` as a number; nullopt otherwise. Never looks at the locale.
std::optional<double> parse_number(std::string_view text) noexcept;
std::optional<long long> parse_integer(std::string_view text) noexcept;

}  // namespace kw
