import NIOHTTP1
import Requests

extension Problem {
    /// The problem of a request that the HTTP library could not read, or that came too slowly.
    init(unreadable error: HTTPParserError, _ limits: GatewayLimits) {
        switch error {
        case RequestStallHandler.stalled:
            self.init(
                .requestTimeout,
                "The request was not complete in time: the limit is \(limits.headTimeout.components.seconds) s for the "
                    + "head and \(limits.bodyTimeout.components.seconds) s for the body. Nothing was changed. "
                    + "Send it again.")
        case .headerOverflow:
            self.init(
                .headersTooLarge,
                "The path and the header fields may have \(limits.headerBytesMax) bytes in total, in at most "
                    + "\(limits.headerFieldsMax) fields.")
        default: self.init(.malformedRequest, Self.sentence(error))
        }
    }

    private static func sentence(_ error: HTTPParserError) -> String {
        switch error {
        case .invalidMethod, .invalidConstant, .invalidVersion, .paused:
            "A request must begin with a method in capitals, a path without spaces, and HTTP/1.1. HTTP/2 is not "
                + "supported, and neither is TLS on a plain port."
        case .invalidURL: "The path has characters that are not allowed. Encode names as UTF-8, percent-encoded once."
        case .invalidHeaderToken, .lfExpected:
            "A header field can't be read: its name or value has characters that are not allowed, or its line does "
                + "not end with CR LF."
        case .invalidContentLength, .unexpectedContentLength:
            "A request must have Content-Length once, as a whole number, or Transfer-Encoding instead."
        case .invalidChunkSize:
            "A chunk of the body has no valid size: hexadecimal digits are expected, that many bytes, and CR LF."
        case .invalidEOFState, .closedConnection: "The connection ended before the request did."
        default:
            "This is not a valid HTTP/1.1 request. Transfer-Encoding may only be chunked, once; lines end with CR LF."
        }
    }
}
