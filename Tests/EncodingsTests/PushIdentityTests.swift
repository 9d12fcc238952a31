import Basis
import Encodings
import Model
import Testing

@Suite("SipHash-2-4 with 128-bit output")
struct SipHash128Tests {
    /// The reference's key, 00 01 … 0f, over the bytes 00 01 …; values from the reference vectors and OpenSSL's SIPHASH.
    @Test(
        "matches the reference vectors",
        arguments: [
            (0, "a3817f04ba25a8e66df67214c7550293"), (1, "da87c1d86b99af44347659119b22fc45"),
            (7, "a1f1ebbed8dbc153c0b84aa61ff08239"), (8, "3b62a9ba6258f5610f83e264f31497b4"),
            (15, "5493e99933b0a8117e08ec0f97cfc3d9"), (24, "2db479ae78bd50d8882a8a178a6132ad"),
            (63, "5150d1772f50834a503e069a973fbd7c"),
        ])
    func vectors(count: Int, hash: String) {
        let sip = SipHash128(key0: 0x0706_0504_0302_0100, key1: 0x0f0e_0d0c_0b0a_0908)
        let (first, second) = sip.hash((0..<count).map { UInt8($0) })
        var text: [UInt8] = []
        Hexadecimal.append(first.byteSwapped, to: &text)
        Hexadecimal.append(second.byteSwapped, to: &text)
        #expect(String(decoding: text, as: UTF8.self) == hash)
    }

    @Test("hashes three 64-bit words like their 24 bytes")
    func words() {
        let sip = SipHash128(key0: 1, key1: 2)
        let bytes = (0..<24).map { UInt8($0 * 7) }
        var words: [UInt64] = [0, 0, 0]
        for (index, byte) in bytes.enumerated() { words[index / 8] |= UInt64(byte) << UInt64(index % 8 * 8) }
        #expect(sip.hash(words[0], words[1], words[2]) == sip.hash(bytes))
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
