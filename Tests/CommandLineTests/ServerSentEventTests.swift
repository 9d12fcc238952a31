import CommandLine
import Testing

@Suite("The parser of server-sent events")
struct ServerSentEventTests {
    private func event(_ name: String, _ data: String, id: String = "") -> ServerSentEvent {
        ServerSentEvent(id: id, name: name, data: Array(data.utf8))
    }

    private func read(_ text: String, by pieces: Int = .max) throws -> [ServerSentEvent] {
        var parser = ServerSentEvents()
        var events: [ServerSentEvent] = []
        var remaining = Array(text.utf8)[...]
        while !remaining.isEmpty {
            events += try parser.take(remaining.prefix(pieces))
            remaining = remaining.dropFirst(pieces)
        }
        return events
    }

    private static let text =
        "retry: 2000\n\nid: 7\nevent: progress\ndata: {\"a\":1}\n\n: \n\ndata:x\r\ndata: y\r\n\r\nid: 8\nevent: finished\n"
        + "data\n\nevent: nothing\n\nnews: later\rdata: z\r\r"

    @Test("reads the same events, however the stream is cut into pieces", arguments: [1, 2, 3, 7, 64, 4_096])
    func pieces(bytes: Int) throws {
        #expect(
            try read(Self.text, by: bytes) == [
                event("progress", #"{"a":1}"#, id: "7"), event("message", "x\ny", id: "7"),
                event("finished", "", id: "8"), event("message", "z", id: "8"),
            ])
    }

    @Test("drops an event that was cut off, and counts heartbeats")
    func cutOff() throws {
        #expect(try read("event: progress\ndata: half").isEmpty)
        #expect(try read("event: progress\ndata: half\n").isEmpty)
        var parser = ServerSentEvents()
        _ = try parser.take(": \n\n:\n\n".utf8)
        #expect(parser.heartbeats == 2)
    }

    @Test("refuses an event that exceeds the size limit")
    func endless() {
        var parser = ServerSentEvents()
        #expect(throws: ServerSentEvents.Fault.eventTooLarge) {
            for _ in 0...ServerSentEvents.bytesMax / 65_536 {
                _ = try parser.take(repeatElement(UInt8(ascii: "x"), count: 65_536))
            }
        }
        var lines = ServerSentEvents()
        let line = Array(("data: " + String(repeating: "x", count: 60_000) + "\n").utf8)
        #expect(throws: ServerSentEvents.Fault.eventTooLarge) {
            for _ in 0...ServerSentEvents.bytesMax / 60_000 { _ = try lines.take(line) }
        }
    }
}
