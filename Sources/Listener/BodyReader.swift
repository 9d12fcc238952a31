import HTTPTypes
import HummingbirdCore
import NIOCore
import NIOHTTP1
import Requests

package enum BodyReader {
    /// The declared length, which the HTTP parser enforces; nil if the body comes in chunks.
    package static func declaredBytes(_ request: Request) -> Int? {
        // The parser lets only digits through: a value that is no `Int` is too large for one.
        if let length = request.headers[.contentLength] { return Int(length) ?? .max }
        return request.headers.contains(.transferEncoding) ? nil : 0
    }

    /// Refuses an encoded body: it can't be read, and would only be reported as malformed JSON.
    package static func checkEncoding(_ request: Request) throws(Problem) {
        guard request.headers[values: .contentEncoding].allSatisfy({ $0.lowercased() == "identity" }) else {
            throw Problem(
                .unsupportedEncoding, "Compressed bodies are not supported: send the body without Content-Encoding.")
        }
    }

    package static func checkLength(_ request: Request, _ limits: GatewayLimits) throws(Problem) {
        if let declared = declaredBytes(request), declared > limits.bodyBytesMax {
            throw tooLarge(bytesMax: limits.bodyBytesMax)
        }
    }

    private static func tooLarge(bytesMax: Int) -> Problem {
        Problem(
            .bodyTooLarge,
            "A body may have at most \(bytesMax) bytes. Split the request; many registrations go to devices/import.")
    }

    /// Throws a `Problem`, or the connection's error.
    ///
    /// - Parameter hold: called with each piece's size before the piece is kept; throws if there is no room.
    package static func read(
        _ request: Request, _ limits: GatewayLimits, _ hold: (Int) throws -> Void
    ) async throws -> [UInt8] {
        let bytesMax = limits.bodyBytesMax
        var bytes: [UInt8] = []
        var chunks = request.body.makeAsyncIterator()
        while let chunk = try await next(&chunks, limits) {
            guard bytes.count + chunk.readableBytes <= bytesMax else { throw tooLarge(bytesMax: bytesMax) }
            try hold(chunk.readableBytes)
            bytes.append(contentsOf: chunk.readableBytesView)
        }
        return bytes
    }

    /// Returns the next piece of a body; nil after the last. Throws a `Problem` if the body can't be read or is late.
    package static func next(_ chunks: inout RequestBody.AsyncIterator, _ limits: GatewayLimits) async throws
        -> ByteBuffer?
    {
        do { return try await chunks.next() } catch let error as HTTPParserError {
            throw Problem(unreadable: error, limits)
        }
    }
}
