import Delivery
import PushModel
import Reactor
import Testing

@Suite("The memory of a backlog")
struct BacklogMemoryTests {
    private let app = AppID(1)
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000)

    @Test("gives away what was left when it was counted, and not more")
    func room() {
        let memory = BacklogMemory(backlogMax: 10)
        #expect(!memory.takesIn(1, of: app, now: start), "nobody has counted")
        memory.note(5, adding: 1, of: app, now: start)
        #expect(memory.takesIn(3, of: app, now: start))
        #expect(!memory.takesIn(2, of: app, now: start))
        #expect(memory.takesIn(1, of: app, now: start))
        #expect(!memory.takesIn(1, of: app, now: start))
    }

    @Test("ends after a moment, and knows no other app's")
    func moment() {
        let memory = BacklogMemory(backlogMax: 10)
        memory.note(0, adding: 1, of: app, now: start)
        #expect(!memory.takesIn(1, of: AppID(2), now: start))
        #expect(memory.takesIn(1, of: app, now: start + (BacklogMemory.countedFor - .milliseconds(1))))
        #expect(!memory.takesIn(1, of: app, now: start + BacklogMemory.countedFor))
    }

    @Test("keeps the places of those who counted at the same time")
    func together() {
        let memory = BacklogMemory(backlogMax: 10)
        for _ in 1...8 { memory.note(0, adding: 1, of: app, now: start) }
        #expect(memory.takesIn(2, of: app, now: start))
        #expect(!memory.takesIn(1, of: app, now: start))
    }

    @Test("makes room again by what was counted last")
    func again() {
        let memory = BacklogMemory(backlogMax: 10)
        memory.note(9, adding: 1, of: app, now: start)
        #expect(!memory.takesIn(1, of: app, now: start))
        memory.note(4, adding: 1, of: app, now: start)
        #expect(memory.takesIn(5, of: app, now: start))
        #expect(!memory.takesIn(1, of: app, now: start))
    }
}
