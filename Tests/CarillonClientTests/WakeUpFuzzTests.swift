import CarillonClient
import Testing

@Suite("A payload with random damage from a seed")
struct WakeUpFuzzTests {
    private static let seeds: ClosedRange<UInt64> = 1...40
    private static let roundsPerSeed = 500

    @Test("never traps the parser, and reads back equal once the parser accepted it", arguments: seeds)
    func payloads(seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        var accepted = 0
        for _ in 0..<Self.roundsPerSeed {
            var payload = Payloads.all[Int.random(in: 0..<Payloads.all.count, using: &generator)]
            for _ in 0..<Int.random(in: 1...3, using: &generator) { Self.damage(&payload, &generator) }
            let notification = WakeUpNotification(payload: payload)
            for isRelayed in [false, true] {
                let same = WakeUpNotification(userInfo: .userInfo(payload, isRelayed: isRelayed))
                #expect(same == notification, "seed \(seed): \(payload)")
            }
            guard let notification else { continue }
            accepted += 1
            #expect(WakeUpNotification(payload: notification.payload) == notification, "seed \(seed): \(payload)")
        }
        // A generator that only breaks payloads would test little.
        #expect(accepted > Self.roundsPerSeed / 20 && accepted < Self.roundsPerSeed, "seed \(seed)")
    }

    @Test("never traps the parser with values other than strings", arguments: seeds)
    func userInfo(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        let others: [Any] = [0, 1.5, true, [UInt8](), ["a": 1], String?.none as Any, Character("a"), "a".dropFirst()]
        for _ in 0..<Self.roundsPerSeed {
            let payload = Payloads.all[Int.random(in: 0..<Payloads.all.count, using: &generator)]
            var userInfo: [AnyHashable: Any] = .userInfo(payload, isRelayed: .random(using: &generator))
            guard let name = payload.keys.sorted().randomElement(using: &generator), name != "n" else { continue }
            userInfo[name] = others[Int.random(in: 0..<others.count, using: &generator)]
            #expect(WakeUpNotification(userInfo: userInfo) == nil, "seed \(seed): \(name)")
        }
    }

    @Test("never traps the JSON parser, and reads back equal from its printed value", arguments: seeds)
    func json(seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        let letters = Array(#"{}[]:,"\u0123456789dDeE+-.truefalsn "#.utf8) + [0, 0x1f, 0x80, 0xc3, 0xa9, 0xed, 0xff]
        for _ in 0..<Self.roundsPerSeed {
            var bytes = Array((Payloads.children.values.sorted().randomElement(using: &generator) ?? "").utf8)
            if Bool.random(using: &generator) { bytes = [] }
            for _ in 0..<Int.random(in: 0...30, using: &generator) {
                let letter = letters[Int.random(in: 0..<letters.count, using: &generator)]
                bytes.insert(letter, at: Int.random(in: 0...bytes.count, using: &generator))
            }
            guard let value = try? JSON(parsing: bytes) else { continue }
            #expect(try JSON(parsing: value.serialized) == value, "seed \(seed): \(bytes)")
            #expect(try JSON(parsing: String(decoding: bytes, as: UTF8.self)) == value, "seed \(seed): \(bytes)")
        }
    }

    /// Removes a member, takes one of another payload, or changes one character.
    private static func damage(_ payload: inout [String: String], _ generator: inout SplitMix64) {
        let names = ["t", "app", "sp", "v", "n", "s", "d", "added", "changed", "removed", "r"]
        let name = names[Int.random(in: 0..<names.count, using: &generator)]
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: payload[name] = nil
        case 1: payload[name] = Payloads.all[Int.random(in: 0..<Payloads.all.count, using: &generator)][name]
        default:
            var scalars = Array((payload[name] ?? "").unicodeScalars)
            let place = Int.random(in: 0...scalars.count, using: &generator)
            let letters = Array(#"{}[]:,"\u0aeE1.-/ éK😀"#.unicodeScalars) + ["\u{0}", "\u{301}", "\u{212a}"]
            let letter = letters[Int.random(in: 0..<letters.count, using: &generator)]
            if place < scalars.count, Bool.random(using: &generator) { scalars.remove(at: place) }
            if Bool.random(using: &generator) { scalars.insert(letter, at: place) }
            payload[name] = scalars.isEmpty ? payload[name] : String(String.UnicodeScalarView(scalars))
        }
    }
}
