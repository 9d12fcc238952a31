import Model
import Postgres
import Store
import Testing

@Suite("The feedback feed of an app")
struct FeedbackTests {
    @Test("returns each row once, page by page, oldest first")
    func pages() async throws {
        try await withStores { world in
            try await world.register(1...7)
            for number in 1...7 { try await world.register(StoreWorld.registration("i\(number)", token: 100 + number)) }
            #expect(try await world.feed().count == 7)
            var cursor: FeedbackCursor?
            var names: [String] = []
            for _ in 0..<4 {
                let page = try await world.stores.feedback.page(app: world.app, after: cursor, limit: 3)
                names += page.items.map(\.installation)
                // A client holds the cursor as text.
                cursor = page.next.flatMap { FeedbackCursor(text: $0.text) }
                #expect(cursor != nil)
            }
            #expect(names == (1...7).map { "i\($0)" })
            let other = try await world.stores.feedback.page(app: AppID(999), limit: 3)
            #expect(other.items.isEmpty && other.next == nil)
        }
    }

    @Test("skips no row whose transaction commits late")
    func lateCommit() async throws {
        try await withStores { world in
            let ids = try await world.register(1...2)
            let row = """
                INSERT INTO feedback (app_id, registration_id, generation, installation, kind, provider, verdict, reason)
                VALUES (\(world.app.value), \(ids[0].value), 1, 'late', 1, 1, 1, 'Unregistered')
                """
            let early = try await world.pool.transaction { transaction throws(PostgresError) -> FeedbackPage? in
                _ = try await transaction.run(query(row))
                // This transaction begins later and commits earlier.
                _ = try await world.pool.run(query(row.replacing("'late'", with: "'early'")))
                return try? await world.stores.feedback.page(app: world.app, limit: 9)
            }
            #expect(early?.items.map(\.installation) == ["early"])
            let late = try await world.stores.feedback.page(app: world.app, after: early?.next, limit: 9)
            #expect(late.items.map(\.installation) == ["late"])
        }
    }

    /// Reads from the cursor until nothing more comes, and returns the names.
    private func read(_ world: StoreWorld, after cursor: inout FeedbackCursor?) async throws -> [String] {
        var names: [String] = []
        while true {
            let page = try await world.stores.feedback.page(app: world.app, after: cursor, limit: 2)
            if page.items.isEmpty { return names }
            names += page.items.map(\.installation)
            cursor = page.next
        }
    }

    private func report(_ world: StoreWorld, _ names: [String]) async throws {
        for name in names {
            let row = """
                INSERT INTO feedback (app_id, registration_id, generation, installation, kind, provider, verdict, reason)
                VALUES (\(world.app.value), 1, 1, '\(name)', 1, 1, 1, 'Unregistered')
                """
            _ = try await world.pool.run(query(row))
        }
    }

    @Test("delivers new entries to old cursors after an older database state is restored")
    func olderState() async throws {
        try await withStores { world in
            var cursor: FeedbackCursor?
            try await report(world, ["a", "b"])
            _ = try await read(world, after: &cursor)
            try await report(world, ["c", "lost"])
            #expect(try await read(world, after: &cursor) == ["c", "lost"])
            try await world.pool.script("DELETE FROM feedback WHERE installation IN ('c', 'lost')")
            try await report(world, ["d"])
            #expect(try await read(world, after: &cursor) == ["d"])
        }
    }

    /// Makes entries two days older, so that they outlive a retention of one day.
    private func age(_ world: StoreWorld, _ names: String) async throws {
        try await world.pool.script(
            "UPDATE feedback SET at = at - interval '2 days' WHERE installation IN (\(names))")
    }

    private func sweep(_ world: StoreWorld) async throws -> Int {
        var retention = Retention()
        retention.feedbackDays = 1
        return try await world.stores.sweeper.sweep(retention)
    }

    @Test("deletes only expired entries, and reports no gap to a client that read them all")
    func swept() async throws {
        try await withStores { world in
            var cursor: FeedbackCursor?
            try await report(world, ["a", "b", "c"])
            #expect(try await read(world, after: &cursor) == ["a", "b", "c"])
            try await age(world, "'a', 'b'")
            #expect(try await world.stores.sweeper.sweep() == 0, "the default retention is a year")
            #expect(try await sweep(world) == 2)
            #expect(try await world.feed().map(\.installation) == ["c"])
            let first = try await world.stores.feedback.page(app: world.app, limit: 9)
            #expect(
                first.items.map(\.installation) == ["c"] && !first.hasGap,
                "a client without a cursor has missed nothing")
            try await report(world, ["d"])
            let next = try await world.stores.feedback.page(app: world.app, after: cursor, limit: 9)
            #expect(next.items.map(\.installation) == ["d"] && !next.hasGap)
        }
    }

    @Test("reports a gap to a client that missed a deleted entry")
    func gap() async throws {
        try await withStores { world in
            try await report(world, ["a", "b"])
            let early = try await world.stores.feedback.page(app: world.app, limit: 1).next
            try await report(world, ["c"])
            var late: FeedbackCursor?
            let other = try await world.stores.registry.createApp(slug: "belfry", name: "Belfry")
            _ = try await read(world, after: &late)
            try await report(world, ["d", "e"])
            try await age(world, "'d'")
            #expect(try await sweep(world) == 1)
            for cursor in [early, late] {
                let page = try await world.stores.feedback.page(app: world.app, after: cursor, limit: 9)
                #expect(page.hasGap, "\(page)")
            }
            // A client that begins again from the start reads on as before, without a gap.
            let anew = try await world.stores.feedback.page(app: world.app, limit: 2)
            #expect(anew.items.map(\.installation) == ["a", "b"] && !anew.hasGap)
            let remaining = try await world.stores.feedback.page(app: world.app, limit: 9)
            #expect(remaining.items.map(\.installation) == ["a", "b", "c", "e"])
            let end = try await world.stores.feedback.page(app: world.app, after: remaining.next, limit: 9)
            #expect(end.items.isEmpty && !end.hasGap)
            let stranger = try await world.stores.feedback.page(app: other.id, after: early, limit: 9)
            #expect(!stranger.hasGap)
        }
    }

    @Test("assigns numbers above every deleted entry, whatever the clock says")
    func aboveSwept() async throws {
        try await withStores { world in
            let future = "(extract(epoch FROM now()) * 1000000)::bigint + 3600000000"
            try await report(world, ["a"])
            try await world.pool.script("UPDATE feedback SET number = \(future)")
            let cursor = try await world.stores.feedback.page(app: world.app, limit: 9).next
            try await age(world, "'a'")
            #expect(try await sweep(world) == 1)
            try await report(world, ["b"])
            let page = try await world.stores.feedback.page(app: world.app, after: cursor, limit: 9)
            #expect(page.items.map(\.installation) == ["b"] && !page.hasGap)
        }
    }

    @Test("deletes each expired entry once if several sweeps run at once, in bounded batches")
    func sweptAtOnce() async throws {
        try await withStores { world in
            try await world.pool.script(
                """
                INSERT INTO feedback (app_id, registration_id, generation, installation, kind, provider, verdict, reason, at)
                SELECT \(world.app.value), 1, 1, 'n' || n, 1, 1, 1, 'Unregistered', now() - interval '2 days'
                FROM generate_series(1, 12000) AS n
                """)
            let first = try await sweep(world)
            #expect(first <= 5_000)
            let remaining = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        var count = 0
                        while try await world.number("SELECT count(*) FROM feedback") > 0 {
                            count += try await self.sweep(world)
                        }
                        return count
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(first + remaining == 12_000)
        }
    }

    @Test("returns each row once to readers that number the entries concurrently")
    func manyReaders() async throws {
        try await withStores { world in
            let names = (1...60).map { "n\($0)" }
            try await withThrowingTaskGroup(of: [String].self) { group in
                for part in stride(from: 0, to: 60, by: 20) {
                    group.addTask {
                        try await report(world, Array(names[part..<part + 20]))
                        return []
                    }
                }
                for _ in 0..<4 {
                    group.addTask {
                        var cursor: FeedbackCursor?
                        var read: [String] = []
                        while read.count < 60 { read += try await self.read(world, after: &cursor) }
                        return read
                    }
                }
                for try await read in group where !read.isEmpty {
                    #expect(read.count == 60 && Set(read) == Set(names))
                }
            }
        }
    }

    @Test("rejects a malformed cursor and reads its own")
    func cursors() {
        for text in ["", "12", String(repeating: "z", count: 16), String(repeating: "0", count: 32)] {
            #expect(FeedbackCursor(text: text) == nil)
        }
        let text = "00061f2b9c3e802a"
        #expect(FeedbackCursor(text: text)?.text == text)
    }
}
