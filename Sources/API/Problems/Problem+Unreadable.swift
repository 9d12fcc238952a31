import NIOHTTP1

extension Problem {
    /// The problem of a request that the HTTP library could not read, or that came too slowly.
    init(unreadable error: HTTPParserError, _ limits: GatewayLimits) {
        switch error {
        case RequestStallHandler.stalled:
            self.init(
                .requestTimeout,
                "The request did not come to its end in time: its head has \(limits.headTimeout.components.seconds) s, "
                    + "its body \(limits.bodyTimeout.components.seconds) s. Nothing was changed; send it again.")
        case .headerOverflow:
            self.init(
                .headersTooLarge,
                "The path and the header fields have at most \(limits.headerBytesMax) bytes together, in at most "
                    + "\(limits.headerFieldsMax) fields.")
        default: self.init(.malformedRequest, Self.sentence(error))
        }
    }

    private static func sentence(_ error: HTTPParserError) -> String {
        switch error {
        case .invalidMethod, .invalidConstant, .invalidVersion, .paused:
            "A request begins with a method in capitals, a path without blanks, and HTTP/1.1. HTTP/2 is not spoken here, "
                + "nor TLS on a plain port."
        case .invalidURL:
            "The path has characters that can't stand there. Encode names as UTF-8, percent-encoded once."
        case .invalidHeaderToken, .lfExpected:
            "A header field can't be read: its name or value has characters that can't stand there, or its line does "
                + "not end with CR LF."
        case .invalidContentLength, .unexpectedContentLength:
            "Content-Length stands there once, as a whole number, or Transfer-Encoding stands there instead."
        case .invalidChunkSize:
            "A chunk of the body has no size: hexadecimal digits are expected, as many bytes, and CR LF."
        case .invalidEOFState, .closedConnection: "The connection ended before the request did."
        default:
            "This is no request of HTTP/1.1. Transfer-Encoding can only be chunked, once and last; lines end with CR LF."
        }
    }
}
