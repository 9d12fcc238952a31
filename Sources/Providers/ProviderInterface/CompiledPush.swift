import Basis
import Content
import JSON
import Model
import QueueRules

/// A message in one provider's form: compiled once, shared by all parcels.
package protocol CompiledPush: Sendable {
    var provider: Provider { get }
    var tokenKind: TokenKind { get }
    /// Whether a push may be sent again after its answer was lost (P4).
    var mayRepeat: Bool { get }
    /// The most members whose pushes one request carries.
    var requestMembersMax: Int { get }

    /// Begins a batch: everything that its pushes share.
    /// - Parameter count: the number of pushes that will follow.
    func beginBatch(of pushes: ParcelPushes, count: Int) -> PushBatchBuilder
    /// Encodes the pushes at some positions of the parcel. Allocates nothing per push.
    ///
    /// Where a request may carry several members, the positions come sorted by variant. Each call but the last has a
    /// multiple of `requestMembersMax`. All members of a request have the same variant.
    func append(_ positions: ArraySlice<Int32>, of pushes: ParcelPushes, to batch: inout PushBatchBuilder)

    /// Returns one device's push, for people to look at.
    func preview(_ device: PreviewedDevice) -> PushPreview
}

extension CompiledPush {
    package var requestMembersMax: Int { 1 }
}

/// A leased parcel and everything beside the compiled message that its pushes are made of.
package struct ParcelPushes: Sendable {
    package let parcel: LeasedParcel
    /// The destination, in the provider's own terms (`PushTarget`).
    package let address: String
    package let placeholders: MessagePlaceholders
    /// The members' values for the placeholders; nil: the message has none.
    package let values: MemberValues?
    package let now: WallInstant
    private let locales: LocaleTable

    package init(
        _ parcel: LeasedParcel, address: String, locales: LocaleTable, placeholders: MessagePlaceholders,
        values: MemberValues?, now: WallInstant
    ) {
        (self.parcel, self.address, self.locales) = (parcel, address, locales)
        (self.placeholders, self.values, self.now) = (placeholders, values, now)
    }

    package func tokenRange(of member: LeasedMember) -> Range<Int> {
        let start = Int(member.tokenStart)
        return start..<start + Int(member.tokenCount)
    }

    package func variant(for member: LeasedMember) -> Int {
        guard member.localeCount > 0 else { return 0 }
        let start = Int(member.localeStart)
        return locales.variant(for: parcel.locales.span.extracting(start..<start + Int(member.localeCount)))
    }

    /// Makes the fillers for a message's variants. Empty: no placeholder is to be filled.
    /// - Parameter texts: the variants' texts with placeholders; nil for a variant without any.
    package func fillers(_ texts: [PlaceholderText?]) -> [PlaceholderFiller?] {
        guard !placeholders.isEmpty, values != nil else { return [] }
        return texts.map { text in text.map { PlaceholderFiller($0, placeholders) } }
    }
}

/// A batch under construction: each push's own bytes in one flat array, everything shared once.
package struct PushBatchBuilder: Sendable {
    /// The bytes of a path with a token of 64 digits, an id and a badge. Longer tokens without an id take as many.
    private static let bytesPerPushUsually = 176

    package var bytes: [UInt8] = []
    /// The path of every push, if they all have the same.
    package let sharedPath: ByteRange
    /// By variant; empty: no placeholder is to be filled.
    package var fillers: [PlaceholderFiller?]
    private let idHeader: [UInt8]
    private let sharedFields: [PushBatch.SharedField]
    private let frames: [PushBatch.BodyFrame]
    private var requests: [PushBatch.Request] = []
    private var members: [Int32] = []
    private var tooLarge: [Int32] = []

    /// - Parameters:
    ///   - frames: the frames of the bodies, by variant.
    ///   - count: the number of pushes that will follow.
    package init(
        idHeader: [UInt8] = [], sharedFields: [PushBatch.SharedField], sharedPath: [UInt8] = [],
        frames: [PushBatch.BodyFrame], fillers: [PlaceholderFiller?], count: Int
    ) {
        (self.idHeader, self.sharedFields, self.frames, self.fillers) = (idHeader, sharedFields, frames, fillers)
        self.sharedPath = ByteRange(start: 0, count: sharedPath.count)
        requests.reserveCapacity(count)
        members.reserveCapacity(count)
        bytes.reserveCapacity(sharedPath.count + count * Self.bytesPerPushUsually)
        bytes += sharedPath
    }

    package func hasFiller(_ variant: Int) -> Bool { !fillers.isEmpty && fillers[variant] != nil }

    /// Adds a request for one push, whose own body is at the end of `bytes`.
    package mutating func add(_ position: Int32, path: ByteRange, id: ByteRange, variant: Int, bodyStart: Int) {
        members.append(position)
        addRequest(weight: 1, path, id, variant, bodyStart)
    }

    /// Adds a request for the pushes at these positions, at least one. Their body is at the end of `bytes`.
    package mutating func add(
        _ positions: ArraySlice<Int32>, path: ByteRange, id: ByteRange, variant: Int, bodyStart: Int
    ) {
        precondition(!positions.isEmpty, "a request has a member")
        members += positions
        addRequest(weight: positions.count, path, id, variant, bodyStart)
    }

    private mutating func addRequest(
        weight: Int, _ path: ByteRange, _ id: ByteRange, _ variant: Int, _ bodyStart: Int
    ) {
        requests.append(
            PushBatch.Request(
                tag: Int32(members.count - weight), weight: Int32(weight), path: path, id: id, frame: Int32(variant),
                body: ByteRange(start: bodyStart, count: bytes.count - bodyStart)))
    }

    /// Leaves out a push whose payload exceeds the provider's limit with its values filled in. Removes its bytes.
    package mutating func leaveOut(_ position: Int32, from start: Int) {
        bytes.removeLast(bytes.count - start)
        tooLarge.append(position)
    }

    /// - Parameter nothingToShow: the positions of the parcel that were not encoded.
    package func pushes(
        of parcel: LeasedParcel, nothingToShow: [Int32], noStreamAfter: MonotonicInstant
    ) -> EncodedPushes {
        EncodedPushes(
            batch: PushBatch(
                idHeader: idHeader, sharedFields: sharedFields, bytes: bytes, frames: frames, requests: requests,
                members: members, noStreamAfter: noStreamAfter, isUrgent: parcel.urgency == .transactional,
                reportsWhenSent: parcel.ratePerSecond != nil),
            tooLarge: tooLarge, nothingToShow: nothingToShow)
    }
}

/// A parcel's encoded pushes, without those that are not sent.
package struct EncodedPushes: Sendable {
    package let batch: PushBatch
    /// The positions whose payload, with its values filled in, exceeds the provider's limit.
    package let tooLarge: [Int32]
    /// The positions for whose devices the notification has no visible text.
    package let nothingToShow: [Int32]
}

package struct PreviewedDevice {
    package let variant: Int
    /// The badge to show; nil: the message changes none.
    package let badge: Int32?
    package let now: WallInstant
    private let placeholders: MessagePlaceholders
    private let value: (DeviceField) -> [UInt8]?

    /// - Parameter value: the device's value of a field; nil or empty: it has none.
    package init(
        variant: Int, badge: Int32?, now: WallInstant, placeholders: MessagePlaceholders,
        value: @escaping (DeviceField) -> [UInt8]?
    ) {
        (self.variant, self.badge, self.now, self.placeholders, self.value) = (variant, badge, now, placeholders, value)
    }

    /// Returns the device's values for the places of a text, as JSON.
    /// - Parameter mark: the bytes in the place of the provider's own mark.
    package func pieces(of text: PlaceholderText, mark: (_ mark: UInt8) -> [UInt8]) -> [[UInt8]] {
        placeholders.pieces(of: text, value: value, mark: mark)
    }
}

package struct PushPreview: Sendable {
    /// The body that is sent to the provider, with a text in place of the token.
    package let body: [UInt8]
    package let payloadBytes: Int
    package let payloadBytesMax: Int
    /// The parts of the body that count in the payload, such as "notification and data"; empty: the whole body does.
    package let countedParts: String
    /// The terms of delivery beside the body: push type and priority.
    package let terms: [JSONMember]

    package static let token = "<token>"

    package init(
        body: [UInt8], payloadBytes: Int, payloadBytesMax: Int, countedParts: String = "", terms: [JSONMember] = []
    ) {
        (self.body, self.payloadBytes, self.payloadBytesMax) = (body, payloadBytes, payloadBytesMax)
        (self.countedParts, self.terms) = (countedParts, terms)
    }
}
