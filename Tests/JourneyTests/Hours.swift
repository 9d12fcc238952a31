import Foundation

/// The time in the form that commands and requests take.
func hour(in seconds: Int) -> String {
    ISO8601DateFormatter().string(from: Date(timeIntervalSinceNow: Double(seconds)))
}
