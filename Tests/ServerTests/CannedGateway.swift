import ArgumentParser
import CommandLine
import Foundation
import JSON
import NIOCore
import NIOPosix
import Server
import Synchronization
import Testing

/// A loopback port that answers each request from a table, and records the requests.
final class CannedGateway: Sendable {
    struct Request: Equatable, Sendable {
        /// "POST /v1/apps/garden/messages", without a query.
        let line: String
        let body: JSONValue
    }

    private let answers: [String: [String]]
    private let taken = Mutex<[Request]>([])

    /// - Parameter answers: by request line. Each is a JSON body, with its status before it unless that is 200. The last
    ///   one of a line is repeated.
    init(_ answers: [String: [String]]) { self.answers = answers }

    var requests: [Request] { taken.withLock { $0 } }

    /// The requests that change something, by their lines.
    var changes: [Request] { requests.filter { !$0.line.hasPrefix("GET ") } }

    fileprivate func answer(_ request: Request) -> String {
        let earlier = taken.withLock { taken in
            taken.append(request)
            return taken.count { $0.line == request.line } - 1
        }
        let listed = answers[request.line] ?? [#"404 {"code":"unknown_message","detail":"It is unknown."}"#]
        let answer = listed[min(earlier, listed.count - 1)]
        let hasStatus = answer.first?.isNumber == true
        let body = hasStatus ? String(answer.dropFirst("404 ".count)) : answer
        return "HTTP/1.1 \(hasStatus ? answer.prefix(3) : "200") Canned\r\ncontent-length: \(body.utf8.count)\r\n"
            + "connection: close\r\n\r\n\(body)"
    }

    /// Runs a command against this gateway.
    ///
    /// - Returns: the exit code.
    func run(_ arguments: [String]) async throws -> Int32 {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { $0.pipeline.addHandler(CannedAnswers(gateway: self)) }
            .bind(host: "127.0.0.1", port: 0).get()
        let keyFile = FileManager.default.temporaryDirectory.appending(path: "key-\(UUID().uuidString)")
        try Data("none".utf8).write(to: keyFile)
        defer { try? FileManager.default.removeItem(at: keyFile) }
        let given = [
            "--app", "garden", "--url", "http://127.0.0.1:\(channel.localAddress?.port ?? 0)", "--key-file",
            keyFile.path(percentEncoded: false),
        ]
        let parsed = try CarillonCommand.parseAsRoot(arguments + given)
        var command = try #require(parsed as? any AsyncParsableCommand)
        var code: Int32 = 0
        do { try await command.run() } catch let error as ExitCode { code = error.rawValue }
        try await channel.close()
        return code
    }
}

/// Reads one request of a connection. Stays on the connection's event loop.
private final class CannedAnswers: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    private let gateway: CannedGateway
    private var bytes: [UInt8] = []

    init(gateway: CannedGateway) { self.gateway = gateway }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        bytes += unwrapInboundIn(data).readableBytesView
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return }
        let head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
        let length = head.first { $0.lowercased().hasPrefix("content-length:") }.flatMap {
            Int($0.drop { $0 != ":" }.dropFirst().trimmingCharacters(in: .whitespaces))
        }
        let body = bytes[end.upperBound...]
        guard body.count >= length ?? 0 else { return }
        let words = (head.first ?? "").split(separator: " ")
        let path = words.dropFirst().first?.prefix { $0 != "?" } ?? ""
        let request = CannedGateway.Request(
            line: "\(words.first ?? "") \(path)", body: (try? JSONReader.read(Array(body))) ?? .null)
        context.writeAndFlush(NIOAny(ByteBuffer(string: gateway.answer(request))), promise: nil)
        context.close(mode: .output, promise: nil)
    }
}
