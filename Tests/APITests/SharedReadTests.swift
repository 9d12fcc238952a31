import API
import TestSupport
import Testing

@Suite("Equal reads at once")
struct SharedReadTests {
    /// A read that lasts until the test ends it, and counts.
    private actor Source {
        private var ends: [CheckedContinuation<Void, Never>] = []
        private(set) var begun = 0

        func read() async -> Int {
            begun += 1
            let number = begun
            await withCheckedContinuation { ends.append($0) }
            return number
        }

        func end() { ends.removeFirst().resume() }
    }

    @Test("share one, which begins after each of them has asked")
    func shared() async throws {
        let (reads, source) = (SharedReads<String, Int>(), Source())
        func ask(_ key: String) -> Task<Int, Never> { Task { await reads.value(key) { await source.read() } } }
        let first = ask("a")
        try await eventually("the first read") { await source.begun == 1 }
        let later = (0..<20).map { _ in ask("a") }
        try await eventually("the others to wait") { reads.waiting == 20 }
        #expect(await source.begun == 1)
        await source.end()
        #expect(await first.value == 1)
        try await eventually("the next read") { await source.begun == 2 }
        let other = ask("b")
        try await eventually("another question's read") { await source.begun == 3 }
        await source.end()
        for task in later { #expect(await task.value == 2) }
        await source.end()
        #expect(await other.value == 3)
        #expect(reads.waiting == 0)
    }

    @Test("do not depend on the caller that came first")
    func cancelled() async throws {
        let (reads, source) = (SharedReads<String, Int>(), Source())
        let first = Task { await reads.value("a") { await source.read() } }
        try await eventually("the first read") { await source.begun == 1 }
        first.cancel()
        let second = Task { await reads.value("a") { await source.read() } }
        try await eventually("the second to wait") { reads.waiting == 1 }
        await source.end()
        try await eventually("the next read") { await source.begun == 2 }
        await source.end()
        #expect(await second.value == 2)
    }
}
