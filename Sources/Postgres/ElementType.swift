/// The types that this module reads and writes, with their Swift names.
package enum ElementType: Sendable, CaseIterable {
    case bool
    case bytes
    case int64
    case int16
    case int32
    case text
    case double
    case instant
    case uuid
    case json

    var objectID: UInt32 { objectIDs.scalar }
    var arrayObjectID: UInt32 { objectIDs.array }

    /// The OIDs of the type and of arrays of it. OIDs of built-in types never change. Source: pg_type.dat.
    private var objectIDs: (scalar: UInt32, array: UInt32) {
        switch self {
        case .bool: (16, 1000)
        case .bytes: (17, 1001)
        case .int64: (20, 1016)
        case .int16: (21, 1005)
        case .int32: (23, 1007)
        case .text: (25, 1009)
        case .double: (701, 1022)
        case .instant: (1184, 1185)
        case .uuid: (2950, 2951)
        case .json: (3802, 3807)
        }
    }

    /// Whether cells of this OID can be read. `name` and `varchar` have the format of text.
    func reads(_ objectID: UInt32) -> Bool {
        objectID == self.objectID || (self == .text && (objectID == 1043 || objectID == 19))
    }

    func readsArray(_ objectID: UInt32) -> Bool {
        objectID == arrayObjectID || (self == .text && (objectID == 1015 || objectID == 1003))
    }
}

/// The epoch of timestamptz: microseconds since 2000-01-01. The extreme values stand for infinity.
enum PostgresEpoch {
    static let microsecondsAfter1970: Int64 = 946_684_800_000_000

    static func encode(_ microsecondsSince1970: Int64) -> Int64 {
        if microsecondsSince1970 == .max || microsecondsSince1970 == .min { return microsecondsSince1970 }
        let (value, overflow) = microsecondsSince1970.subtractingReportingOverflow(microsecondsAfter1970)
        return overflow ? .min : value
    }

    static func decode(_ microsecondsSince2000: Int64) -> Int64 {
        if microsecondsSince2000 == .max || microsecondsSince2000 == .min { return microsecondsSince2000 }
        let (value, overflow) = microsecondsSince2000.addingReportingOverflow(microsecondsAfter1970)
        return overflow ? .max : value
    }
}
