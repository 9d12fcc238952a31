import Basis
import Server
import Store
import Testing

@Suite("Sessions that keep a gateway's work waiting")
struct BlockingSessionsTests {
    private static let start = MonotonicInstant(nanoseconds: 0)

    private static func holder(_ process: Int32) -> LockHolder {
        LockHolder(process: process, program: "psql", tables: ["messages"], doing: "active", heldFor: .seconds(3))
    }

    @Test("make news once, however often they are found")
    func once() {
        var sessions = BlockingSessions()
        let (first, second) = (Self.holder(1), Self.holder(2))
        #expect(sessions.found([first], now: Self.start) == .init(begun: [first], isOver: false))
        let later = Self.start + .seconds(2)
        #expect(sessions.found([first, second], now: later) == .init(begun: [second], isOver: false))
        #expect(sessions.found([first, second], now: later + .seconds(2)) == .init(begun: [], isOver: false))
    }

    @Test("end once, when nobody has waited for them for a while")
    func over() {
        var sessions = BlockingSessions()
        #expect(sessions.found([], now: Self.start) == .init(begun: [], isOver: false))
        _ = sessions.found([Self.holder(1)], now: Self.start)
        let soon = Self.start + .seconds(2)
        #expect(sessions.found([], now: soon) == .init(begun: [], isOver: false))
        #expect(!sessions.isEmpty)
        let end = Self.start + BlockingSessions.quietMin
        #expect(sessions.found([], now: end) == .init(begun: [], isOver: true))
        #expect(sessions.isEmpty && sessions.found([], now: end) == .init(begun: [], isOver: false))
    }
}
