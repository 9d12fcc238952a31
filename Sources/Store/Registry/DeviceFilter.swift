import Basis
import Encodings
import Expressions
import Model

/// The registrations of an app that a list asks for. nil: any.
package struct DeviceFilter: Equatable, Sendable {
    package var user: String?
    package var tag: String?
    package var provider: Provider?
    package var state: RegistrationState?
    package var kind: TokenKind?
    /// Only live registrations that were last registered before these times, by provider.
    package var staleCutoffs: [StaleCutoffs]?
    /// A filter that the registrations must match as well.
    package var condition: DeviceCondition?

    package init() {}

    /// The scan that passes the fewest unwanted rows.
    var scan: DeviceScan {
        if tag != nil { return .tagged }
        if user != nil { return .ofUser }
        switch state {
        case .suspected?, .retired?: return .notActive
        case .active?: return .live
        case nil: return staleCutoffs == nil ? .named : .live
        }
    }

    /// Whether the scan passes rows that are not asked for.
    var isPassingOthers: Bool {
        var remaining = self
        switch scan {
        case .tagged: remaining.tag = nil
        case .ofUser: remaining.user = nil
        case .notActive: remaining.state = nil
        case .live: remaining.kind = nil
        case .named: break
        }
        return remaining != DeviceFilter()
    }
}

/// A filter, and the time that it takes for now.
package struct DeviceCondition: Equatable, Sendable {
    package let expression: FilterExpression
    package let now: WallInstant

    package init(_ expression: FilterExpression, now: WallInstant) { (self.expression, self.now) = (expression, now) }
}

/// The index that a list scans. The numbers stand in cursors.
enum DeviceScan: UInt8, CaseIterable {
    case named = 1
    case live = 2
    case notActive = 3
    case ofUser = 4
    case tagged = 5

    var name: String {
        switch self {
        case .named: "named"
        case .live: "live"
        case .notActive: "not_active"
        case .ofUser: "of_user"
        case .tagged: "tagged"
        }
    }
}

/// A position in a list of devices. It is opaque to clients, and valid for lists that scan the same index.
package struct DeviceCursor: Equatable, Sendable {
    let scan: DeviceScan
    let id: Int64
    let kind: Int16
    let installation: String

    init(scan: DeviceScan, id: Int64, kind: Int16, installation: String) {
        (self.scan, self.id, self.kind, self.installation) = (scan, id, kind, installation)
    }

    private static let fixedBytes = 11

    /// nil: the text is no cursor of ours.
    package init?(text: String) {
        guard text.utf8.count <= 2 * 1_024, let bytes = Hexadecimal.decode(text), bytes.count >= Self.fixedBytes,
            let scan = DeviceScan(rawValue: bytes[0]), let name = String(validating: bytes[11...], as: UTF8.self),
            !bytes[11...].contains(0)
        else { return nil }
        self.scan = scan
        id = Int64(bitPattern: bytes[1..<9].reduce(0) { $0 << 8 | UInt64($1) })
        kind = Int16(bitPattern: UInt16(bytes[9]) << 8 | UInt16(bytes[10]))
        installation = name
    }

    package var text: String {
        var bytes = [scan.rawValue]
        for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: id >> shift)) }
        bytes += [UInt8(truncatingIfNeeded: kind >> 8), UInt8(truncatingIfNeeded: kind)]
        return Hexadecimal.text(bytes + Array(installation.utf8))
    }
}

/// A page of a list. More may follow a page that is not full, even an empty one.
package struct DevicePage: Equatable, Sendable {
    package let devices: [DeviceRecord]
    /// nil: nothing follows.
    package let next: DeviceCursor?
}
