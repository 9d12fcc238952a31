import Foundation

/// Something that should have happened by now did not.
struct TookTooLong: Error, CustomStringConvertible {
    let description: String
}

/// As commands and requests take it.
func hour(in seconds: Int) -> String {
    ISO8601DateFormatter().string(from: Date(timeIntervalSinceNow: Double(seconds)))
}

/// Asks again and again until it is true: for what another process does and nobody announces. The bound is a safety
/// net, generous because machines are slow.
func eventually(
    _ what: String, within bound: Duration = .seconds(120), _ isTrue: () async throws -> Bool
) async throws {
    let clock = ContinuousClock()
    let end = clock.now + bound
    while try await !isTrue() {
        guard clock.now < end else { throw TookTooLong(description: "waited \(bound) for: \(what)") }
        try await Task.sleep(for: .milliseconds(20))
    }
}

/// The same for what there is to wait for: ends with the first that is not nil.
func foundEventually<Value>(
    _ what: String, within bound: Duration = .seconds(120), _ find: () async throws -> Value?
) async throws -> Value {
    var found: Value?
    try await eventually(what, within: bound) {
        found = try await find()
        return found != nil
    }
    guard let found else { throw TookTooLong(description: what) }
    return found
}
