package struct ServerSentEvent: Equatable, Sendable {
    package let id: String
    package let name: String
    package let data: [UInt8]

    package init(id: String, name: String, data: [UInt8]) { (self.id, self.name, self.data) = (id, name, data) }
}

/// Parses a stream of server-sent events from chunks of any size.
///
/// Source: WHATWG HTML, section 9.2.6. Lines end with a line feed, a carriage return, or both.
package struct ServerSentEvents {
    /// The limit of one event; a message's account takes some kilobytes.
    package static let bytesMax = 4 << 20

    /// The number of comment lines, which show that the server is alive.
    package private(set) var heartbeats = 0
    private var line: [UInt8] = []
    private var isAfterReturn = false
    private var id = ""
    private var name = ""
    private var data: [UInt8] = []
    private var hasData = false

    package init() {}

    package enum Fault: Error, Equatable { case eventTooLarge }

    package mutating func take(_ bytes: some Sequence<UInt8>) throws(Fault) -> [ServerSentEvent] {
        var events: [ServerSentEvent] = []
        for byte in bytes {
            let isSecondOfTwo = isAfterReturn && byte == UInt8(ascii: "\n")
            isAfterReturn = byte == UInt8(ascii: "\r")
            if isSecondOfTwo { continue }
            guard byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") else {
                guard line.count + data.count < Self.bytesMax else { throw .eventTooLarge }
                line.append(byte)
                continue
            }
            if let event = endLine() { events.append(event) }
        }
        return events
    }

    private mutating func endLine() -> ServerSentEvent? {
        defer { line = [] }
        guard !line.isEmpty else { return endEvent() }
        let end = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[end...].dropFirst()
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        switch String(decoding: line[..<end], as: UTF8.self) {
        case "data":
            if hasData { data.append(UInt8(ascii: "\n")) }
            data += value
            hasData = true
        case "event": name = String(decoding: value, as: UTF8.self)
        case "id": id = String(decoding: value, as: UTF8.self)
        // A comment begins with the colon.
        case "": heartbeats += 1
        // Fields of other versions are ignored.
        default: break
        }
        return nil
    }

    private mutating func endEvent() -> ServerSentEvent? {
        defer { (name, data, hasData) = ("", [], false) }
        return hasData ? ServerSentEvent(id: id, name: name.isEmpty ? "message" : name, data: data) : nil
    }
}
