import NIOCore
import NIOHTTP1

/// Hands received bytes to the parser one request at a time, while few enough requests wait for their answers.
///
/// The gate stands before the parser, which parses all the bytes that it is given. The bytes of later requests stay
/// here, unparsed, and nothing more is read from the socket. A client that pipelines therefore costs as little as one
/// that does not (`GatewayLimits.unansweredRequestsMax`, `unansweredBytesMax`).
/// The kernel reports the end of a connection only after all its bytes, and these arrive without being asked for. The
/// socket's buffer bounds them (`GatewayLimits.socketBufferBytes`).
/// The gate lives on the connection's event loop.
package final class RequestGate: ChannelDuplexHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer
    package typealias OutboundIn = HTTPServerResponsePart
    package typealias OutboundOut = HTTPServerResponsePart

    /// Bytes of a chunked body that are handed on before the next handlers ask for more. A chunk can be one byte long,
    /// and each chunk becomes a part that takes a hundred times as much memory.
    private static let chunkedBytesMax = 1 << 10
    /// The fewest bytes that a piece of a chunked body counts as: empty lines in it make pieces of a few bytes.
    private static let chunkedPieceBytesMin = 64

    private let stallHandler: RequestStallHandler
    /// Bytes that were received and not yet handed on. Never empty.
    private var received: ByteBuffer?
    private var heads = HeadWalk()
    /// Whether the next handlers asked for more since the last `channelReadComplete`.
    private var isWanted = true
    /// Whether `endTick` is under way, which hands on the bytes that arrive meanwhile.
    private var isInTick = false
    private var isTickScheduled = false
    /// Whether the client sends no more than what was received.
    private var isInputClosed = false

    package init(_ stallHandler: RequestStallHandler) { self.stallHandler = stallHandler }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if var received {
            self.received = nil
            received.writeBuffer(&bytes)
            self.received = received
        } else if bytes.readableBytes > 0 {
            received = bytes
        }
        if !isInTick { passOn(context) }
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        if !isInTick { endTick(context) }
    }

    package func read(context: ChannelHandlerContext) {
        isWanted = true
        if received == nil { context.read() } else if mayTick { tick(context) }
    }

    /// An answer ends with a flush, and may make room for the next request.
    package func flush(context: ChannelHandlerContext) {
        context.flush()
        guard received != nil, !isTickScheduled else { return }
        isTickScheduled = true
        // The tick waits, because the handler that flushes is in the middle of its answer.
        context.eventLoop.assumeIsolated().execute { [self] in
            isTickScheduled = false
            if received != nil, mayTick { tick(context) }
        }
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if received != nil, case ChannelEvent.inputClosed = event {
            isInputClosed = true
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    package func channelInactive(context: ChannelHandlerContext) {
        received = nil
        context.fireChannelInactive()
    }

    package func handlerRemoved(context: ChannelHandlerContext) { received = nil }
}

extension RequestGate {
    private var mayTick: Bool { !isInTick && (stallHandler.hasRoom || stallHandler.isDone) }

    /// Runs a tick that no read from the socket began. After its own reads the socket asks for more by itself.
    private func tick(_ context: ChannelHandlerContext) {
        passOn(context)
        endTick(context)
        context.channel.read()
    }

    private func passOn(_ context: ChannelHandlerContext) {
        if stallHandler.isDone { received = nil }
        guard isWanted else { return }
        var chunkedBytes = 0
        while chunkedBytes < Self.chunkedBytesMax, let piece = nextPiece() {
            var count = piece.readableBytes
            if stallHandler.isInBody, stallHandler.bodyBytesLeft == 0 {
                count = max(count, Self.chunkedPieceBytesMin)
                chunkedBytes += count
            }
            stallHandler.bytesCame(count)
            context.fireChannelRead(wrapInboundOut(piece))
        }
    }

    /// The next bytes for the parser: the rest of one head, or the received part of the body that has begun. A piece
    /// ends at most one head, and has no bytes after its body. nil if there are no bytes, or no room for them.
    private func nextPiece() -> ByteBuffer? {
        guard var bytes = received, stallHandler.hasRoom else { return nil }
        received = nil
        var length = bytes.readableBytes
        if stallHandler.bodyBytesLeft > 0 {
            length = min(length, stallHandler.bodyBytesLeft)
        } else {
            // A chunked body ends with a blank line too.
            if stallHandler.isInBody { length = min(length, Self.chunkedBytesMax) }
            length = heads.end(in: bytes, upTo: length, isInHead: !stallHandler.isInBody) ?? length
            for place in heads.takeOffers() { bytes.setInteger(HeadWalk.noOffer, at: bytes.readerIndex + place) }
        }
        guard length < bytes.readableBytes else { return bytes }
        let piece = bytes.readSlice(length: length)
        received = bytes
        return piece
    }

    private func endTick(_ context: ChannelHandlerContext) {
        isInTick = true
        defer { isInTick = false }
        while true {
            isWanted = false
            stallHandler.isDelayed = received != nil && stallHandler.unanswered > 1
            context.fireChannelReadComplete()
            guard received != nil, stallHandler.hasRoom else { break }
            context.channel.read()
            guard isWanted else { break }
            passOn(context)
        }
        guard isInputClosed, received == nil else { return }
        isInputClosed = false
        context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    }
}

/// Walks over heads, in bytes that come in pieces. It finds the first blank line after some text: every head ends with
/// one (RFC 9112, section 2.1). Blank lines before the text end nothing: a client may send many of them before a head.
///
/// It also finds offers to go on in another protocol (`Upgrade: h2c`), which Java's client makes with each request. The
/// parser would read nothing after an offer, but a server may ignore it (RFC 9110, section 7.8). So the gate replaces
/// the last letter of the header's name, and the parser sees a header without a meaning.
struct HeadWalk {
    /// No known header has the name that ends with this byte.
    static let noOffer = UInt8(ascii: "-")

    private static let offer = Array("upgrade".utf8)
    private static let lowerCase: UInt8 = 0x20

    /// Whether only carriage returns came since the last line feed.
    private var isAtLineStart = false
    private var hasText = false
    /// The letters of `offer` with which the line begins; nil if it begins otherwise, or is the first one.
    private var offered: Int?
    private var offers: [Int] = []

    init() {}

    /// The places of the last letters of offers that the last call of `end` passed.
    mutating func takeOffers() -> [Int] {
        guard !offers.isEmpty else { return [] }
        defer { offers = [] }
        return offers
    }

    /// Returns the number of bytes up to the blank line's end; nil if it does not end in the first `count` bytes.
    ///
    /// - Parameter isInHead: whether the bytes are a head's. Lines of a body offer nothing.
    mutating func end(in bytes: ByteBuffer, upTo count: Int, isInHead: Bool) -> Int? {
        let span = bytes.readableBytesUInt8Span
        for place in 0..<count {
            switch span[place] {
            case UInt8(ascii: "\n"):
                if isAtLineStart && hasText {
                    (hasText, offered) = (false, nil)
                    return place + 1
                }
                isAtLineStart = true
                offered = hasText && isInHead ? 0 : nil
            case UInt8(ascii: "\r"): break
            case let byte:
                isAtLineStart = false
                hasText = true
                guard let letters = offered else { continue }
                if byte | Self.lowerCase != Self.offer[letters] {
                    offered = nil
                } else if letters + 1 < Self.offer.count {
                    offered = letters + 1
                } else {
                    offered = nil
                    offers.append(place)
                }
            }
        }
        return nil
    }
}
