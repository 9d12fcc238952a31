import CommandLine
import Testing

@Suite("A gateway whose lists never end")
struct EndlessListTests {
    @Test("makes the listing fail as soon as a cursor repeats", .timeLimit(.minutes(5)))
    func sameCursor() async throws {
        let page = #"{"items":[{"slug":"a","name":"A"}],"next":"again"}"#
        let gateway = try await Listener(
            reporting: "HTTP/1.1 200 OK\r\ncontent-length: \(page.utf8.count)\r\nconnection: close\r\n\r\n\(page)")
        let client = GatewayClient(base: "http://127.0.0.1:\(gateway.port)", key: "none")
        await #expect(throws: CommandFault.self) { try await client.list("/v1/apps", of: .app) }
        // A listing with limit 2 returns two items and the cursor to continue.
        let two = try await client.list("/v1/apps", of: .app, limit: 2)
        #expect(two.items.count == 2 && two.next == "again")
        try await gateway.close()
    }
}

@Suite("A server that redirects to another address")
struct RedirectTests {
    @Test("makes the command fail with a message that reports the redirect", arguments: [301, 302, 303, 307, 308])
    func reported(status: Int) async throws {
        let elsewhere = try await Listener(
            reporting: "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")
        let gateway = try await Listener(
            reporting: "HTTP/1.1 \(status) Elsewhere\r\nlocation: http://localhost:\(elsewhere.port)/v1/apps\r\n"
                + "content-length: 0\r\nconnection: close\r\n\r\n")
        let client = GatewayClient(base: "http://127.0.0.1:\(gateway.port)", key: "none")
        let fault = await #expect(throws: CommandFault.self) { try await client.list("/v1/apps", of: .app) }
        #expect(fault?.description.contains("redirects (\(status))") == true)
        try await gateway.close()
        try await elsewhere.close()
    }
}
