import Basis
import Encodings
import Model
import Testing

@Suite("SipHash-2-4 with 128-bit output")
struct SipHash128Tests {
    /// The reference's key, 00 01 … 0f, over the bytes 00 01 … 17; the value is from the reference vectors and OpenSSL's
    /// SIPHASH.
    @Test("matches the reference vector of 24 bytes")
    func vector() {
        let sip = SipHash128(key0: 0x0706_0504_0302_0100, key1: 0x0f0e_0d0c_0b0a_0908)
        let (first, second) = sip.hash(0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908, 0x1716_1514_1312_1110)
        var text: [UInt8] = []
        Hexadecimal.append(first.byteSwapped, to: &text)
        Hexadecimal.append(second.byteSwapped, to: &text)
        #expect(String(decoding: text, as: UTF8.self) == "2db479ae78bd50d8882a8a178a6132ad")
    }
}

@Suite("The apns-id of a push")
struct PushIdentityTests {
    /// Computed with OpenSSL's SIPHASH, not with our code. The values never change: a push keeps its id over an
    /// upgrade.
    @Test(
        "stays the same across releases",
        arguments: [
            ("00000000-0000-0000-0000-000000000000", Int64(1), "7fcba433-895f-8dbc-9875-1f298edb768c"),
            ("0192f3a4-b5c6-7d8e-8f01-234567890abc", 42, "a2ec8746-0aee-83fb-add4-74caae4f2afb"),
            ("0192f3a4-b5c6-7d8e-8f01-234567890abc", 43, "1088daa9-fefa-8e1d-a159-cdb399096b78"),
            ("ffffffff-ffff-ffff-ffff-ffffffffffff", .max, "e2bfab39-011c-889b-9548-9d6743ca561e"),
        ])
    func golden(message: String, registration: Int64, id: String) throws {
        let message = MessageID(try #require(UniversalID(text: message)))
        #expect(PushIdentity.apnsID(message: message, registration: RegistrationID(registration)).text == id)
    }

    @Test("takes the form of a version 8 UUID, unique per message and registration")
    func isDistinct() {
        var seen: Set<UniversalID> = []
        for message in 0..<100 as Range<UInt64> {
            for registration in 0..<100 as Range<Int64> {
                let id = PushIdentity.apnsID(
                    message: MessageID(UniversalID(high: 7, low: message)), registration: RegistrationID(registration))
                #expect(id.high >> 12 & 0xf == 8)
                #expect(id.low >> 62 == 0b10)
                seen.insert(id)
            }
        }
        #expect(seen.count == 10_000)
    }
}

@Suite("The text of a UUID")
struct UUIDTextTests {
    @Test("prints in canonical form and parses in either case")
    func roundTrip() {
        let id = UniversalID(high: 0x123e_4567_e89b_12d3, low: 0xa456_4266_5544_00a0)
        #expect(id.text == "123e4567-e89b-12d3-a456-4266554400a0")
        #expect(UniversalID(text: id.text) == id)
        #expect(UniversalID(text: id.text.uppercased()) == id)
    }

    @Test(
        "fails to parse in any other form",
        arguments: [
            "", "123e4567e89b12d3a4564266554400a0", "123e4567-e89b-12d3-a456-4266554400a",
            "123e4567-e89b-12d3-a456-4266554400a00",
            "123e4567-e89b-12d3-a4564-266554400a0", "g23e4567-e89b-12d3-a456-4266554400a0",
            "{23e4567-e89b-12d3-a456-4266554400a}", "123e4567-e89b-12d3-a456-42665544é0",
        ])
    func refuses(text: String) {
        #expect(UniversalID(text: text) == nil)
    }

    @Test("sorts by time in a version 7 UUID")
    func version7() {
        let early = UUIDv7.make(
            at: WallInstant(microseconds: 1_645_557_742_000_000), random: (0x0cc3, 0x18c4_dc0c_0c07_398f))
        #expect(early.text == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f")  // RFC 9562, appendix A.6
        let late = UUIDv7.make(at: WallInstant(microseconds: 1_645_557_742_001_000), random: (0, 0))
        #expect(early < late)
        #expect(UUIDv7.make(at: WallInstant(microseconds: -5), random: (.max, .max)).high >> 16 == 0)
    }

    @Test("reveals the creation time of a version 7 UUID, to the millisecond")
    func instant() {
        let id = UUIDv7.make(at: WallInstant(microseconds: 1_645_557_742_001_999), random: (.max, .max))
        #expect(UUIDv7.instant(of: id) == WallInstant(microseconds: 1_645_557_742_001_000))
    }
}
