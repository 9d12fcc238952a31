import Basis
import Delivery
import Model
import Reactor
import Testing

@Suite("The cache of a backlog's size")
struct BacklogCacheTests {
    private let app = AppID(1)
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000)

    private func memory(_ messages: Int = 10, broadcasts: Int = 10) -> BacklogCache {
        BacklogCache(bounds: BacklogBounds(messages: messages, broadcasts: broadcasts))
    }

    @Test("grants the places that were left at the last count, and no more")
    func room() {
        let memory = memory()
        #expect(memory.take(1, of: app, .bulk, now: start) == nil, "the backlog has not been counted")
        #expect(memory.note(5, adding: 1, of: app, .bulk, now: start))
        #expect(memory.take(3, of: app, .bulk, now: start) == true)
        #expect(memory.take(2, of: app, .bulk, now: start) == nil)
        #expect(memory.take(1, of: app, .bulk, now: start) == true)
        #expect(memory.take(1, of: app, .bulk, now: start) == nil)
    }

    @Test("expires after a moment, and is kept per app")
    func moment() {
        let memory = memory()
        #expect(memory.note(0, adding: 1, of: app, .bulk, now: start))
        #expect(memory.take(1, of: AppID(2), .bulk, now: start) == nil)
        let end = start + BacklogCache.countedFor
        #expect(memory.take(1, of: app, .bulk, now: end + .nanoseconds(-1)) == true)
        #expect(memory.take(1, of: app, .bulk, now: end) == nil)
    }

    @Test("keeps the places of callers that counted at the same time")
    func together() {
        let memory = memory()
        for _ in 1...8 { #expect(memory.note(0, adding: 1, of: app, .bulk, now: start)) }
        #expect(memory.take(2, of: app, .bulk, now: start) == true)
        #expect(memory.take(1, of: app, .bulk, now: start) == nil)
    }

    @Test("makes room again according to the latest count")
    func again() {
        let memory = memory()
        #expect(memory.note(9, adding: 1, of: app, .bulk, now: start))
        #expect(memory.take(1, of: app, .bulk, now: start) == nil)
        #expect(!memory.note(10, adding: 1, of: app, .bulk, now: start))
        #expect(memory.note(4, adding: 1, of: app, .bulk, now: start))
        #expect(memory.take(5, of: app, .bulk, now: start) == true)
        #expect(memory.take(1, of: app, .bulk, now: start) == nil)
    }

    @Test("limits broadcasts separately, and never above the limit of messages")
    func apart() {
        let memory = memory(10, broadcasts: 2)
        #expect(!memory.note(2, adding: 1, of: app, .bulk, now: start))
        #expect(memory.note(2, adding: 1, of: app, .transactional, now: start))
        #expect(memory.take(7, of: app, .transactional, now: start) == true)
        #expect(memory.take(1, of: app, .bulk, now: start) == nil)
        #expect(BacklogBounds(messages: 3, broadcasts: 9).max(.bulk) == 3)
    }

    @Test("lets one caller count a long backlog while the others use the known value")
    func countedOnce() {
        let memory = memory(100_000)
        // No count is known.
        for _ in 1...2 { #expect(memory.take(1, of: app, .transactional, now: start) == nil) }
        #expect(memory.note(99_995, adding: 1, of: app, .transactional, now: start))
        #expect(memory.take(5, of: app, .transactional, now: start) == false, "4 places are left")
        let later = start + BacklogCache.countedFor * 5
        #expect(memory.take(1, of: app, .transactional, now: later) == nil)
        #expect(memory.take(4, of: app, .transactional, now: later) == true)
        #expect(memory.take(1, of: app, .transactional, now: later) == false)
        // The caller that was counting is gone.
        let lost = later + BacklogCache.countingMax
        #expect(memory.take(1, of: app, .transactional, now: lost) == nil)
        #expect(memory.take(1, of: app, .transactional, now: lost) == false)
        #expect(memory.note(10, adding: 1, of: app, .transactional, now: lost))
        #expect(memory.take(99_989, of: app, .transactional, now: lost) == true)
    }

    @Test("lets every caller count a short backlog, so that none passes a refused one")
    func countedByEach() {
        let memory = memory()
        #expect(memory.take(1, of: app, .bulk, now: start) == nil)
        #expect(memory.take(1, of: app, .bulk, now: start) == nil)
        #expect(!memory.note(10, adding: 1, of: app, .bulk, now: start))
        for _ in 1...2 { #expect(memory.take(1, of: app, .bulk, now: start) == nil) }
        #expect(memory.note(3, adding: 1, of: app, .bulk, now: start))
        let later = start + BacklogCache.countedFor
        for _ in 1...2 { #expect(memory.take(1, of: app, .bulk, now: later) == nil) }
    }

    @Test("lasts longer the larger the count is, and reports a full backlog meanwhile")
    func dear() {
        let many = 3 * BacklogCache.cheapMax
        let memory = memory(many)
        #expect(memory.note(many - 1, adding: 1, of: app, .transactional, now: start))
        #expect(memory.take(1, of: app, .transactional, now: start) == false)
        let later = start + BacklogCache.countedFor
        #expect(!memory.note(many, adding: 1, of: app, .transactional, now: later))
        let end = later + BacklogCache.countedFor * 4
        #expect(memory.take(1, of: app, .transactional, now: end + .nanoseconds(-1)) == false)
        #expect(memory.take(1, of: app, .transactional, now: end) == nil)
    }
}
