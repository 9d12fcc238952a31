/// The error for an awaited event that did not happen in time.
package struct TookTooLong: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
}

/// Polls until the condition is true, for events that nothing announces.
///
/// The bound is a safety net, generous because machines are slow. No test is right or wrong by how long something
/// takes.
package func eventually(
    _ what: String, within bound: Duration = .seconds(120), pause: Duration = .milliseconds(10),
    _ isTrue: () async throws -> Bool
) async throws {
    let clock = ContinuousClock()
    let end = clock.now + bound
    while try await !isTrue() {
        guard clock.now < end else { throw TookTooLong(description: "waited \(bound) for: \(what)") }
        try await Task.sleep(for: pause)
    }
}

/// Polls for a value, and returns the first that is not nil.
package func foundEventually<Value>(
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
