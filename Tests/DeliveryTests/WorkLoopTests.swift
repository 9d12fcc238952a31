import Basis
import Logging
import Store
import Synchronization
import Testing
import Workers

@Suite(.timeLimit(.minutes(1))) struct WorkLoopTests {
    /// A poll that no test waits for.
    private static let never: Duration = .seconds(3_600)

    @Test("Rounds follow one another while there is more, and count from the last sleep") func roundsInARow()
        async throws
    {
        let (rounds, seen) = AsyncStream.makeStream(of: Int.self)
        let loop = WorkLoop("work delayed", pollEvery: Self.never, ServiceContext()) { round in
            seen.yield(round)
            return round < 2 ? .more : .idle
        }
        try await running(loop) {
            var iterator = rounds.makeAsyncIterator()
            for expected in [0, 1, 2] { #expect(await iterator.next() == expected) }
            loop.notify()
            for expected in [0, 1, 2] { #expect(await iterator.next() == expected) }
        }
    }

    @Test("Work that falls due ends the sleep before the poll") func fallsDue() async throws {
        let (rounds, seen) = AsyncStream.makeStream(of: Void.self)
        let loop = WorkLoop("work delayed", pollEvery: Self.never, ServiceContext()) { _ in
            seen.yield()
            return .idle(dueIn: .milliseconds(1))
        }
        try await running(loop) {
            var iterator = rounds.makeAsyncIterator()
            for _ in 0..<3 { _ = try #require(await iterator.next()) }
        }
    }

    @Test("Work that is due and not found is not looked for without a pause") func noSpin() async throws {
        let (rounds, seen) = AsyncStream.makeStream(of: ContinuousClock.Instant.self)
        let loop = WorkLoop("work delayed", pollEvery: Self.never, ServiceContext()) { _ in
            seen.yield(.now)
            return .idle(dueIn: .zero)
        }
        try await running(loop) {
            var iterator = rounds.makeAsyncIterator()
            let first = try #require(await iterator.next())
            #expect(try #require(await iterator.next()) - first >= .milliseconds(50))
        }
    }

    @Test("A sooner sleep replaces a later one") func sooner() async throws {
        let (rounds, seen) = AsyncStream.makeStream(of: Void.self)
        let count = Atomic(0)
        let loop = WorkLoop("work delayed", pollEvery: Self.never, ServiceContext()) { _ in
            seen.yield()
            return count.add(1, ordering: .relaxed).newValue == 1 ? .idle : .idle(dueIn: .milliseconds(1))
        }
        try await running(loop) {
            var iterator = rounds.makeAsyncIterator()
            _ = try #require(await iterator.next())
            loop.notify()
            for _ in 0..<2 { _ = try #require(await iterator.next()) }
        }
    }

    @Test("After a fault, which is reported, the poll tries again") func fault() async throws {
        let (rounds, seen) = AsyncStream.makeStream(of: Void.self)
        let (reports, reported) = AsyncStream.makeStream(of: String.self)
        let database = DatabaseWatch(report: { reported.yield($0.consequence ?? "") })
        let loop = WorkLoop("work delayed", pollEvery: .milliseconds(1), ServiceContext(database: database)) {
            _ throws(StoreFault) in
            seen.yield()
            throw .damaged("a column")
        }
        try await running(loop) {
            var iterator = rounds.makeAsyncIterator()
            for _ in 0..<2 { _ = try #require(await iterator.next()) }
            var consequences = reports.makeAsyncIterator()
            #expect(await consequences.next() == "work delayed")
        }
    }

    @Test("A loop without a poll sleeps until it is notified") func notified() async throws {
        let (rounds, seen) = AsyncStream.makeStream(of: Int.self)
        let quiet = WorkLoop("work delayed", pollEvery: nil, ServiceContext()) { round in
            seen.yield(round)
            return .idle
        }
        let busy = WorkLoop("work delayed", pollEvery: .milliseconds(1), ServiceContext()) { round in
            seen.yield(-1)
            return .idle
        }
        try await running(quiet) {
            try await running(busy) {
                var iterator = rounds.makeAsyncIterator()
                for _ in 0..<5 { #expect(await iterator.next() == -1) }
                quiet.notify()
                while let round = await iterator.next(), round != 0 {}
            }
        }
    }

    @Test("A stopped loop ends after the round under way, although there is more") func stopped() async throws {
        let (rounds, seen) = AsyncStream.makeStream(of: Void.self)
        let loop = WorkLoop("work delayed", pollEvery: Self.never, ServiceContext()) { _ in
            seen.yield()
            return .more
        }
        async let end: Void = loop.run()
        var iterator = rounds.makeAsyncIterator()
        _ = try #require(await iterator.next())
        loop.stop()
        await end
    }

    private func running(_ loop: WorkLoop, _ body: () async throws -> Void) async throws {
        async let end: Void = loop.run()
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
        loop.stop()
        await end
        try outcome.get()
    }
}
