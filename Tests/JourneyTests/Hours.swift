import Foundation

/// As commands and requests take it.
func hour(in seconds: Int) -> String {
    ISO8601DateFormatter().string(from: Date(timeIntervalSinceNow: Double(seconds)))
}
