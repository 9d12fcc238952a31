/// Something that should have happened by now did not.
package struct TookTooLong: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
}

/// Asks again and again until it is true: for what nobody announces.
///
/// The bound is a safety net, generous because machines are slow; no test is right or wrong by how long something takes.
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

/// The same for a value: ends with the first that is not nil.
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
