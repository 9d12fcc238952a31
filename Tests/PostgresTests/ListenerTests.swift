import Postgres
import Reactor
import TestSupport
import Testing

private func write(_ pool: PostgresPool, _ channel: String, _ payload: String) async throws {
    _ = try await pool.run(
        query("SELECT pg_notify(:channel, :payload)") {
            $0.text("channel", channel)
            $0.text("payload", payload)
        })
}

private func withListener(
    _ settings: PostgresSettings, _ channels: [String],
    _ body: (inout AsyncStream<ListenerEvent>.AsyncIterator) async throws -> Void
) async throws {
    let loop = try ReactorLoop(name: "listener")
    let listener = PostgresListener(settings, channels: channels, loop: loop)
    await listener.start()
    var events = listener.events.makeAsyncIterator()
    do {
        try await body(&events)
    } catch {
        await listener.close()
        loop.stop()
        throw error
    }
    await listener.close()
    loop.stop()
}

extension ListenerEvent {
    fileprivate var input: PostgresNotification? {
        if case .notification(let input) = self { input } else { nil }
    }
}

@Suite("A PostgreSQL listener")
struct ListenerTests {
    @Test("reports that it listens, and receives from channels with any name")
    func receives() async throws {
        try await withPool { pool in
            let channel = uniqueName("Parcels \"due\"")
            try await withListener(try await SharedServer.settings(), [channel, "other"]) { events in
                #expect(await events.next() == .listening)
                try await write(pool, "nobody_hears", "x")
                try await write(pool, channel, "app 7, route 3")
                try await write(pool, channel, "")
                let first = try #require(await events.next()?.input)
                #expect((first.channel, first.payload) == (channel, "app 7, route 3"))
                #expect(try #require(await events.next()?.input).payload == "")
                #expect(await pool.owns(first.sender), "a connection of the pool sent the notification")
                try await withPool { other in
                    try await write(other, channel, "from elsewhere")
                    let second = try #require(await events.next()?.input)
                    #expect(await other.owns(second.sender))
                    #expect(await !pool.owns(second.sender), "another connection sent the notification")
                }
            }
        }
    }

    @Test("reconnects after a server restart, and reports that notifications may be missing", .timeLimit(.minutes(5)))
    func restart() async throws {
        try await withOwnServer { server, settings, folder in
            try await withPool(settings) { pool in
                try await withListener(settings, ["news"]) { events in
                    #expect(await events.next() == .listening)
                    await server.stop()
                    _ = try await server.start()
                    #expect(await events.next() == .listening)
                    try await write(pool, "news", "after")
                    #expect(try #require(await events.next()?.input).payload == "after")
                }
            }
        }
    }

    @Test("drops the oldest notifications if its reader falls behind, and reports it")
    func overflow() async throws {
        try await withPool { pool in
            let channel = uniqueName("flood")
            try await withListener(try await SharedServer.settings(), [channel]) { events in
                #expect(await events.next() == .listening)
                for hundred in 0..<30 {
                    _ = try await pool.run(
                        query("SELECT pg_notify(:channel, i::text) FROM generate_series(:first + 1, :first + 100) AS i")
                        {
                            $0.text("channel", channel)
                            $0.int32("first", Int32(hundred * 100))
                        })
                }
                var received = 0
                var wasReported = false
                while !wasReported || received == 0 {
                    switch await events.next() {
                    case .listening: wasReported = true
                    case .notification: received += 1
                    case nil: return
                    }
                }
                #expect(wasReported && received < 3_000)
            }
        }
    }

    @Test("ends its stream of events when it is closed")
    func closed() async throws {
        let loop = try ReactorLoop(name: "listener")
        let listener = PostgresListener(try await SharedServer.settings(), channels: ["x"], loop: loop)
        await listener.start()
        var events = listener.events.makeAsyncIterator()
        #expect(await events.next() == .listening)
        await listener.close()
        #expect(await events.next() == nil)
        loop.stop()
    }
}
