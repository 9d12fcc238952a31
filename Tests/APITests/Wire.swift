import Glibc
import JSON
import Reactor
import Testing

/// An answer as it was received.
struct WireReply: Sendable {
    let status: Int
    /// Names in lower case.
    let headers: [(name: String, value: String)]
    let body: [UInt8]

    func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
    var text: String { String(decoding: body, as: UTF8.self) }

    func json() throws -> JSONObject { try #require(try JSONReader.read(body, limits: .trusted).object) }

    func member(_ name: String) throws -> JSONValue? { try json()[name] }
}

/// One connection that sends exactly the given bytes: no library changes paths, headers or bodies.
///
/// Blocks threads of its own, never those of the test pool.
actor Wire {
    private let descriptor: Int32
    private var received: [UInt8] = []

    private static let threads = BlockingPool(threadsMax: 32, waitingMax: 1_024)
    /// No answer takes this long: after it, the test has failed.
    private static let timeoutSeconds = 60

    struct Ended: Error {}

    /// - Parameter buffersLittle: whether the kernel takes only some kilobytes that the test has not read.
    init(port: Int, buffersLittle: Bool = false) throws {
        let made = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        try #require(made >= 0)
        var timeout = timeval(tv_sec: Self.timeoutSeconds, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        unsafe setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &timeout, size)
        unsafe setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &timeout, size)
        if buffersLittle {
            var bytes: Int32 = 16_384
            unsafe setsockopt(made, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let connected = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(made, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else {
            close(made)
            throw Ended()
        }
        descriptor = made
    }

    deinit { close(descriptor) }

    func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) async throws {
        let descriptor = descriptor
        try await Self.threads.run {
            var remaining = bytes[...]
            while !remaining.isEmpty {
                let count = unsafe remaining.withUnsafeBytes {
                    unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { throw Ended() }
                remaining = remaining.dropFirst(count)
            }
        }
    }

    /// Ends the input of the connection.
    func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    private func receive() async throws {
        let descriptor = descriptor
        received += try await Self.threads.run {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { throw Ended() }
            return Array(buffer[..<count])
        }
    }

    /// The next line, without its end.
    func line() async throws -> String {
        while true {
            if let end = received.firstIndex(of: UInt8(ascii: "\n")) {
                let line = received[..<end]
                received.removeFirst(end + 1)
                return String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line, as: UTF8.self)
            }
            try await receive()
        }
    }

    func head() async throws -> WireReply {
        let fields = try await line().split(separator: " ")
        let status = try #require(fields.count > 1 ? Int(fields[1]) : nil)
        var headers: [(name: String, value: String)] = []
        while true {
            let line = try await line()
            if line.isEmpty { break }
            let parts = line.split(separator: ":", maxSplits: 1)
            headers.append((parts[0].lowercased(), String(parts.last?.drop { $0 == " " } ?? "")))
        }
        return WireReply(status: status, headers: headers, body: [])
    }

    /// The next chunk of a chunked body; nil after the last one.
    func chunk() async throws -> [UInt8]? {
        let size = try #require(Int(try await line(), radix: 16))
        let bytes = try await take(size)
        _ = try await line()
        return size == 0 ? nil : bytes
    }

    private func take(_ count: Int) async throws -> [UInt8] {
        while received.count < count { try await receive() }
        let bytes = Array(received[..<count])
        received.removeFirst(count)
        return bytes
    }

    /// A whole answer.
    func reply(hasBody: Bool = true) async throws -> WireReply {
        try await reply(after: try await head(), hasBody: hasBody)
    }

    /// The answer whose head was read.
    func reply(after head: WireReply, hasBody: Bool = true) async throws -> WireReply {
        var body: [UInt8] = []
        if hasBody, head.header("transfer-encoding") == "chunked" {
            while let chunk = try await chunk() { body += chunk }
        } else if hasBody, let count = head.header("content-length").flatMap({ Int($0) }) {
            body = try await take(count)
        }
        return WireReply(status: head.status, headers: head.headers, body: body)
    }

    /// Everything until the other side closes the connection.
    func remaining() async -> [UInt8] {
        _ = await isEnded()
        defer { received = [] }
        return received
    }

    /// Whether the other side closes the connection.
    func isEnded() async -> Bool {
        do {
            while true { try await receive() }
        } catch { return true }
    }
}
