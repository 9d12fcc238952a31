import Foundation
import Glibc
import Testing

extension Journeys {
    @Suite("A client that sends its request slowly")
    struct SlowClientTests {
        @Test("delays no shutdown, and causes no repeated push")
        func draining() async throws {
            let live = [Device](.live, 3_000)
            let settings = ["REQUEST_DEADLINE_SECONDS": "2", "LEASE_SECONDS": "6", "CONNECTIONS_PER_LANE": "1"]
            try await World.within(settings: settings, production: .init(streamLimit: 100)) { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, live, through: gateway)
                await world.production.simulator.follow(.init(answerDelay: .milliseconds(100)))
                let slow = try HalfRequest(to: gateway.api)
                defer { slow.close() }
                let message = try await gateway.broadcast(.garden)
                try await world.production.accepted(atLeast: 300)
                try await gateway.stopGently()
                let sent = await world.production.simulator.summary().accepted
                #expect(sent < live.count, "the gateway stopped before the broadcast was complete")

                await world.production.simulator.follow(.init())
                let next = try await world.gateway()
                let account = try await next.finished(message, of: .garden)
                #expect(account.addsUp && account.terminalCounts == ["accepted": live.count])
                #expect(try await world.production.receipts(of: live) == .onceEach(live.count))
                try await next.stopGently()
            }
        }
    }
}

/// A request whose body never ends.
private final class HalfRequest: Sendable {
    private let descriptor: Int32

    init(to api: GatewayAPI) throws {
        let port = try #require(api.base.port)
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let connected = unsafe withUnsafePointer(to: &address) { place in
            unsafe place.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(connected == 0)
        let head = """
            POST /v1/apps HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer \(api.key)\r\n\
            Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{
            """
        let bytes = Array(head.utf8)
        try #require(unsafe send(descriptor, bytes, bytes.count, 0) == bytes.count)
    }

    func close() { _ = Glibc.close(descriptor) }
}
