import Foundation
import TestSupport
import Testing

/// Journeys that run beside one another, each with whole gateways, databases, folders and ports of its own.
@Suite("Journeys", .onDatabaseServer(), .places(1))
enum Journeys {}

/// Journeys that hold the machine to times and rates, so that each needs it alone: scripts/test runs them when no other
/// round runs.
@Suite("Journeys alone", .serialized, .onDatabaseServer(), .places(Places.atOnce))
enum JourneysAlone {}

/// Journeys that are long and whose like is tried by others: scripts/soak runs them, and scripts/test where its filter
/// names them.
@Suite("Long journeys", .serialized, .onDatabaseServer(), .places(Places.atOnce))
enum LongJourneys {}

/// How many of the places each journey of a suite takes: it begins when they are free.
struct Places: SuiteTrait, TestTrait, TestScoping {
    /// As many as two cores bear, since most of a journey is waiting. Others for a measurement: `CARILLON_JOURNEYS_AT_ONCE`.
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
