import Postgres
import PushModel
import Store
import Testing

@Suite("The feed of an app")
struct FeedbackTests {
    @Test("is read page by page, oldest first, each row once")
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
                // What a client holds is the text.
                cursor = page.next.flatMap { FeedbackCursor(text: $0.text) }
                #expect(cursor != nil)
            }
            #expect(names == (1...7).map { "i\($0)" })
            let other = try await world.stores.feedback.page(app: AppID(999), limit: 3)
            #expect(other.items.isEmpty && other.next == nil)
        }
    }

    @Test("skips nothing that commits late")
    func lateCommit() async throws {
        try await withStores { world in
            let ids = try await world.register(1...2)
            let row = """
                INSERT INTO feedback (app_id, registration_id, generation, installation, kind, provider, verdict, reason)
                VALUES (\(world.app.value), \(ids[0].value), 1, 'late', 1, 1, 1, 'Unregistered')
                """
            var cursor: FeedbackCursor?
            var names: [String] = []
            try await world.pool.transaction { transaction throws(PostgresError) in
                _ = try await transaction.run(query(row))
                // Begun later, committed earlier.
                _ = try await world.pool.run(query(row.replacing("'late'", with: "'early'")))
                let page: FeedbackPage
                do throws(StoreFault) { page = try await world.stores.feedback.page(app: world.app, limit: 9) } catch {
                    Issue.record("\(error)")
                    return
                }
                #expect(page.items.isEmpty, "the row before it may still come")
            }
            while names.count < 2 {
                let page = try await world.stores.feedback.page(app: world.app, after: cursor, limit: 1)
                names += page.items.map(\.installation)
                cursor = page.next
            }
            #expect(names == ["late", "early"])
        }
    }

    @Test("keeps its order where the transactions' numbers grow a digit")
    func digits() async throws {
        try await withStores { world in
            for number in [9, 10, 99, 100] {
                let row = """
                    INSERT INTO feedback (xact, app_id, registration_id, generation, installation, kind, provider,
                        verdict, reason)
                    VALUES ('\(number)', \(world.app.value), 1, 1, 'of \(number)', 1, 1, 1, 'Unregistered')
                    """
                _ = try await world.pool.run(query(row))
            }
            var cursor: FeedbackCursor?
            var names: [String] = []
            for _ in 0..<5 {
                let page = try await world.stores.feedback.page(app: world.app, after: cursor, limit: 1)
                names += page.items.map(\.installation)
                cursor = page.next
            }
            #expect(names == ["of 9", "of 10", "of 99", "of 100"])
        }
    }

    @Test("gives no meaning to a cursor that is not its own")
    func cursors() {
        for text in ["", "12", String(repeating: "z", count: 32), String(repeating: "0", count: 31)] {
            #expect(FeedbackCursor(text: text) == nil)
        }
        let text = "00000000000003e8000000000000002a"
        #expect(FeedbackCursor(text: text)?.text == text)
    }
}
