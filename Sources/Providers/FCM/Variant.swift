import Content
import JSON
import ProviderInterface

/// One text of a message, as bytes around those that differ from push to push:
///
///     head                {"message":{ … "android":{ … "notification":{ …
///     the push's own      ,"notification_count":3}},"token":"…","apns":{"payload":{"aps":{"badge":3,
///     tail                … }}}
///
/// The token is between the two badges, so that the push's own bytes are one short piece.
struct FCMVariant: Equatable, Sendable {
    let head: FCMTimedText
    let tail: FCMTimedText
    let payloadBytes: Int
    /// The whole message, if it has placeholders for devices' own values; head and tail are unused then.
    let withPlaceholders: PlaceholderText?
    private let weights: [FCMWeights]
    /// The comma, if one is due, and the name of Android's badge. Empty: no badge there.
    private let countLead: [UInt8]
    private let beforeToken: [UInt8]
    private let afterToken: [UInt8]
    /// The name of Apple's badge. Empty: no badge there.
    private let badgeLead: [UInt8]
    /// The comma after Apple's badge, if one is due.
    private let badgeTrail: [UInt8]

    /// Splits the whole message, JSON with a mark in each placeholder.
    /// - Parameter isTemplate: its texts may have marks of placeholders.
    init(marked json: [UInt8], measure: FCMMeasure, isTemplate: Bool) {
        guard let token = json.firstIndex(of: FCMPlaceholderMark.token.rawValue) else {
            preconditionFailure("every message has a placeholder for its token")
        }
        payloadBytes = measure.bytes
        let text = isTemplate ? PlaceholderText(marked: json) : nil
        withPlaceholders = text.flatMap { $0.hasPlaceholders ? $0 : nil }
        weights = withPlaceholders.map { measure.weights(of: $0.places) } ?? []
        if let count = json.firstIndex(of: FCMPlaceholderMark.count.rawValue) {
            let hasComma = json[count - 1] == UInt8(ascii: ",")
            head = FCMTimedText(marked: json[..<(hasComma ? count - 1 : count)])
            countLead = Array((hasComma ? ",\"notification_count\":" : "\"notification_count\":").utf8)
            beforeToken = Array(json[(count + 1)..<token])
        } else {
            (head, countLead, beforeToken) = (FCMTimedText(marked: json[..<token]), [], [])
        }
        if let badge = json.firstIndex(of: FCMPlaceholderMark.badge.rawValue) {
            let hasComma = json[badge + 1] == UInt8(ascii: ",")
            afterToken = Array(json[(token + 1)..<badge])
            badgeLead = Array("\"badge\":".utf8)
            badgeTrail = hasComma ? [UInt8(ascii: ",")] : []
            tail = FCMTimedText(marked: json[(hasComma ? badge + 2 : badge + 1)...])
        } else {
            (afterToken, badgeLead, badgeTrail) = ([], [], [])
            tail = FCMTimedText(marked: json[(token + 1)...])
        }
    }

    /// Appends the value for a mark in `withPlaceholders`, except for times, which a batch shares. A device always has
    /// a badge if the message changes it.
    static func append(mark: UInt8, token: Span<UInt8>, badge: Int32, to buffer: inout [UInt8]) {
        switch FCMPlaceholderMark(rawValue: mark) {
        case .token: JSONWriter.append(escaping: token, to: &buffer)
        case .count:
            buffer.append(contentsOf: countName)
            JSONWriter.append(UInt32(max(0, badge)), to: &buffer)
        case .badge:
            buffer.append(contentsOf: badgeName)
            JSONWriter.append(UInt32(max(0, badge)), to: &buffer)
        case .ttlSeconds, .expiration, nil: break
        }
    }

    private static let countName = Array("\"notification_count\":".utf8)
    private static let badgeName = Array("\"badge\":".utf8)

    /// Returns the size with pieces of these lengths in `withPlaceholders`, by place.
    func payloadBytes(_ pieces: [PieceLength]) -> Int {
        var most = payloadBytes
        for platform in weights { most = max(most, platform.bytes(pieces)) }
        return most
    }

    func appendOwnBytes(token: Span<UInt8>, badge: Int32?, to buffer: inout [UInt8]) {
        if let badge, !countLead.isEmpty {
            buffer.append(contentsOf: countLead)
            JSONWriter.append(UInt32(max(0, badge)), to: &buffer)
        }
        buffer.append(contentsOf: beforeToken)
        JSONWriter.append(escaping: token, to: &buffer)
        buffer.append(contentsOf: afterToken)
        guard let badge, !badgeLead.isEmpty else { return }
        buffer.append(contentsOf: badgeLead)
        JSONWriter.append(UInt32(max(0, badge)), to: &buffer)
        buffer.append(contentsOf: badgeTrail)
    }
}

/// The mark of a placeholder in a message's JSON. A raw control character never occurs in JSON: strings escape it.
enum FCMPlaceholderMark: UInt8 {
    case ttlSeconds = 1
    case expiration = 2
    case count = 3
    case token = 4
    case badge = 5
}

struct FCMTimes: Equatable, Sendable {
    let ttlSeconds: Int64
    /// Seconds since 1970; 0: now or never.
    let expiration: Int64

    func text(of mark: UInt8) -> [UInt8]? {
        switch FCMPlaceholderMark(rawValue: mark) {
        case .ttlSeconds: Array(String(ttlSeconds).utf8)
        case .expiration: Array(String(expiration).utf8)
        case .token, .count, .badge, nil: nil
        }
    }
}

struct FCMTimedText: Equatable, Sendable {
    private let bytes: [UInt8]
    private let placeholders: [Int]

    init(marked text: some Sequence<UInt8>) {
        let bytes = Array(text)
        let times = [FCMPlaceholderMark.ttlSeconds.rawValue, FCMPlaceholderMark.expiration.rawValue]
        self.bytes = bytes
        placeholders = bytes.indices.filter { times.contains(bytes[$0]) }
    }

    func bytes(at times: FCMTimes) -> [UInt8] {
        var filled: [UInt8] = []
        filled.reserveCapacity(bytes.count + placeholders.count * 10)
        var start = 0
        for placeholder in placeholders {
            filled.append(contentsOf: bytes[start..<placeholder])
            filled += times.text(of: bytes[placeholder]) ?? []
            start = placeholder + 1
        }
        filled.append(contentsOf: bytes[start...])
        return filled
    }
}
