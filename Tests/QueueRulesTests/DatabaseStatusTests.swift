import Basis
import QueueRules
import Testing

@Suite("The log's account of the database")
struct DatabaseStatusTests {
    private static func at(_ seconds: Double) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: Int64(seconds * 1e9))
    }

    @Test("tells of an outage once, however often a connection fails")
    func once() {
        var status = DatabaseStatus()
        #expect(status.connected(Self.at(0)) == nil)
        #expect(status.connectFailed(Self.at(1)) == .lost)
        for second in 2..<31 { #expect(status.connectFailed(Self.at(Double(second))) == nil) }
    }

    @Test("becomes an error, once, after thirty seconds without the database")
    func error() {
        var status = DatabaseStatus()
        _ = status.connectFailed(Self.at(10))
        #expect(status.connectFailed(Self.at(39.9)) == nil)
        #expect(status.connectFailed(Self.at(40.5)) == .stillLost(for: .seconds(30.5)))
        #expect(status.connectFailed(Self.at(3_600)) == nil)
    }

    @Test("tells when the database is back and how long it was lost, and then of the next outage")
    func back() {
        var status = DatabaseStatus()
        _ = status.connectFailed(Self.at(10))
        #expect(status.connected(Self.at(17)) == .back(after: .seconds(7)))
        #expect(status.connected(Self.at(18)) == nil)
        #expect(status.connectFailed(Self.at(20)) == .lost)
        #expect(status.connectFailed(Self.at(45)) == nil, "the new outage is younger than thirty seconds")
    }

    @Test("leaves out the calls that fail during an outage, but for those that can never succeed")
    func during() {
        var status = DatabaseStatus()
        _ = status.connectFailed(Self.at(0))
        #expect(status.callFailed("planning delayed", .connection, Self.at(9)) == nil)
        #expect(status.callFailed("planning delayed", .delay, Self.at(20)) == nil)
        #expect(status.callFailed("planning delayed", .refusal, Self.at(21)) == .failed)
    }

    @Test("leaves out calls whose connection broke until it is known whether this is an outage")
    func before() {
        var status = DatabaseStatus()
        #expect(status.callFailed("planning delayed", .connection, Self.at(0)) == nil)
        #expect(status.callFailed("leasing delayed", .connection, Self.at(4)) == nil)
        #expect(status.callFailed("planning delayed", .connection, Self.at(4.9)) == nil)
        #expect(status.callFailed("planning delayed", .connection, Self.at(5)) == .failed)
        #expect(status.callFailed("leasing delayed", .connection, Self.at(6)) == nil)
    }

    @Test("tells of a call without an answer at once, and of the same work again once a minute")
    func repeated() {
        var status = DatabaseStatus()
        #expect(status.callFailed("planning delayed", .delay, Self.at(0)) == .failed)
        for second in 1..<60 {
            #expect(status.callFailed("planning delayed", .delay, Self.at(Double(second))) == nil)
        }
        #expect(status.callFailed("upkeep delayed", .delay, Self.at(59)) == .failed, "other work has its own line")
        #expect(status.callFailed("planning delayed", .delay, Self.at(60)) == .failed)
    }

    @Test("forgets failures that lie long back, or before an outage")
    func forgotten() {
        var status = DatabaseStatus()
        _ = status.callFailed("upkeep delayed", .connection, Self.at(0))
        #expect(status.callFailed("upkeep delayed", .connection, Self.at(301)) == nil, "a new series")
        _ = status.connectFailed(Self.at(302))
        _ = status.connected(Self.at(303))
        #expect(status.callFailed("upkeep delayed", .connection, Self.at(310)) == nil, "a new series")
    }
}
