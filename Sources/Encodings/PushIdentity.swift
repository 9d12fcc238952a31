import Basis
import Model

/// The id of one push on the wire: the same for one message and registration on every attempt.
///
/// Never change the hash: a push that is retried across an upgrade would get two ids.
package enum PushIdentity {
    /// Public constants, not secrets: they only keep our hashes apart from others'. ASCII "carillon push id".
    private static let hash = SipHash128(key0: 0x6361_7269_6c6c_6f6e, key1: 0x2070_7573_6820_6964)

    /// A UUID of version 8 (RFC 9562, section 5.8) with 122 bits of SipHash-2-4-128.
    package static func apnsID(message: MessageID, registration: RegistrationID) -> UniversalID {
        let id = message.value
        let (high, low) = hash.hash(id.high, id.low, UInt64(bitPattern: registration.value))
        return UniversalID(high: high, low: low).marked(version: 8)
    }
}

extension UniversalID {
    /// Returns the id with the version's four bits and the variant's two bits set. Source: RFC 9562, section 4.
    func marked(version: UInt64) -> UniversalID {
        UniversalID(
            high: high & 0xffff_ffff_ffff_0fff | version << 12,
            low: low & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000)
    }
}

/// Identifiers that rise with time, so that new rows go to the end of their index.
package enum UUIDv7 {
    /// Combines 48 bits of milliseconds and 74 random bits. Times before 1970 count as 1970.
    package static func make(at now: WallInstant, random: (UInt64, UInt64)) -> UniversalID {
        let milliseconds = UInt64(max(0, now.microseconds / 1_000))
        return UniversalID(high: milliseconds << 16 | random.0 & 0xffff, low: random.1).marked(version: 7)
    }

    /// The instant at which the id was made, in whole milliseconds.
    package static func instant(of id: UniversalID) -> WallInstant {
        WallInstant(microseconds: Int64(id.high >> 16) * 1_000)
    }
}
