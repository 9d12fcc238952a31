import Basis

/// Asks an HTTP proxy to CONNECT, and reads its answer up to the empty line.
/// Source: RFC 9110, section 9.3.6; RFC 9112.
package struct ProxyTunnel {
    /// The longest answer up to the empty line. A peer that sends more is no proxy.
    package static let answerBytesMax = 16_384

    private var answer: [UInt8] = []

    package init() {}

    package enum Result: Equatable {
        case needsMore
        /// The bytes after the empty line come from the peer behind the proxy.
        case open(remaining: [UInt8])
        /// nil: the answer is not HTTP.
        case refused(status: Int?)
    }

    package static func request(host: String, port: UInt16, authorization: [UInt8]?) -> [UInt8] {
        let target =
            host.utf8.contains(UInt8(ascii: ":")) && !host.hasPrefix("[") ? "[\(host)]:\(port)" : "\(host):\(port)"
        var request = Array("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n".utf8)
        if let authorization { request += Array("Proxy-Authorization: ".utf8) + authorization + Array("\r\n".utf8) }
        return request + Array("\r\n".utf8)
    }

    package mutating func take(_ bytes: Span<UInt8>) -> Result {
        for index in bytes.indices { answer.append(bytes[index]) }
        guard let end = answer.firstRange(of: "\r\n\r\n".utf8)?.upperBound else {
            return answer.count > ProxyTunnel.answerBytesMax ? .refused(status: nil) : .needsMore
        }
        guard let status = Self.status(answer[..<end]) else { return .refused(status: nil) }
        return (200..<300).contains(status) ? .open(remaining: Array(answer[end...])) : .refused(status: status)
    }

    /// Reads a line like "HTTP/1.1 200 Connection established".
    private static func status(_ header: ArraySlice<UInt8>) -> Int? {
        guard header.starts(with: Array("HTTP/1.".utf8)), header.count >= 12 else { return nil }
        let code = header[(header.startIndex + 9)..<(header.startIndex + 12)]
        return code.allSatisfy(\.isDigit) ? code.reduce(0) { $0 * 10 + Int($1 - 0x30) } : nil
    }
}
