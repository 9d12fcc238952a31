import Commands
import Testing

@Suite("A gateway whose lists have no end")
struct EndlessListTests {
    @Test("is followed until it leads where it has been, and then no more", .timeLimit(.minutes(1)))
    func sameCursor() async throws {
        let page = #"{"items":[{"slug":"a"}],"next":"again"}"#
        let gateway = try await Listener(
            saying: "HTTP/1.1 200 OK\r\ncontent-length: \(page.utf8.count)\r\nconnection: close\r\n\r\n\(page)")
        let client = GatewayClient(base: "http://127.0.0.1:\(gateway.port)", key: "none")
        await #expect(throws: CommandFault.self) { try await client.list("/v1/apps") }
        // Who asked for two gets two, and is told where it goes on.
        let two = try await client.list("/v1/apps", limit: 2)
        #expect(two.items.count == 2 && two.next == "again")
        try await gateway.close()
    }
}
