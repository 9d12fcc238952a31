import Foundation
import TestSupport
import Testing

/// Journeys that run side by side, each with its own gateways, databases, folders and ports.
@Suite("Journeys", .onDatabaseServer(), .places(1))
enum Journeys {}

/// Journeys that check times and rates, so that each needs the machine for itself. scripts/test runs them when no other
/// round runs.
@Suite("Journeys alone", .serialized, .onDatabaseServer(), .places(Places.atOnce))
enum JourneysAlone {}

/// Long journeys whose subjects other tests cover too. scripts/soak runs them, and scripts/test if its filter names
/// them.
@Suite("Long journeys", .serialized, .onDatabaseServer(), .places(Places.atOnce))
enum LongJourneys {}

/// The number of places that each journey of a suite takes. The journey begins when they are free.
struct Places: SuiteTrait, TestTrait, TestScoping {
    /// The number that two cores bear, since most of a journey is waiting. `CARILLON_JOURNEYS_AT_ONCE` sets another.
    static let atOnce =
        ProcessInfo.processInfo.environment["CARILLON_JOURNEYS_AT_ONCE"].flatMap { Int($0) } ?? 4
    private static let turnstile = Turnstile(places: atOnce)

    let wanted: Int
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await Self.turnstile.pass(taking: wanted) { try await function() }
    }
}

extension Trait where Self == Places {
    static func places(_ wanted: Int) -> Places { Places(wanted: wanted) }
}
