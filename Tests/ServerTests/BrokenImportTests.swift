import CommandLine
import Foundation
import Testing

@Suite("An import whose gateway goes away", .timeLimit(.minutes(5)))
struct BrokenImportTests {
    /// Returns the error after the connection broke behind these lines of the answer.
    private func input(after lines: String, file: String) async throws -> String {
        let size = String(lines.utf8.count, radix: 16)
        let gateway = try await Listener(
            reporting: "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
                + (lines.isEmpty ? "" : "\(size)\r\n\(lines)\r\n"))
        let client = GatewayClient(base: "http://127.0.0.1:\(gateway.port)", key: "none")
        var outcome = ImportOutcome(file: file, app: "garden", isJSON: false)
        var input = ""
        do {
            try await client.stream("/import", file: .nullDevice, ifBroken: { outcome.wayOn() }, { outcome.take($0) })
        } catch let fault as CommandFault {
            #expect(fault.kind == .unreachable)
            input = fault.description
        }
        try await gateway.close()
        return input
    }

    @Test("reports the acknowledged lines and the command that continues the import")
    func cutOff() async throws {
        let lines = #"{"resume_after":2000,"accepted":2000,"refused":0}"# + "\n"
        let plain = try await input(after: lines, file: "data/big.ndjson")
        #expect(plain.contains("broke after 2000 acknowledged lines"))
        #expect(plain.hasSuffix(": tail -n +2001 data/big.ndjson | carillon devices import - --app garden"))
        let spaced = try await input(after: lines, file: "my phone's.ndjson")
        #expect(spaced.contains(#"tail -n +2001 'my phone'\''s.ndjson' | "#))
        #expect(try await input(after: lines, file: "-").hasSuffix("tail -n +2001 leaves them out"))
        let nothing = try await input(after: "", file: "big.ndjson")
        #expect(nothing.hasSuffix("broke before any line was acknowledged. Send the file again"))
    }
}
