import JSON
import TestSupport
import Testing

@Suite("Random JSON from a seed")
struct JSONFuzzTests {
    private static let seeds: ClosedRange<UInt64> = 1...40
    private static let roundsPerSeed = 200

    @Test("reads back as the same value from its own bytes, which are stable", arguments: seeds)
    func roundTrip(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<Self.roundsPerSeed {
            let value = Self.value(&generator, depth: 4)
            let bytes = value.bytes
            let back = try JSONReader.read(bytes, limits: .trusted)
            #expect(back == value, "seed \(seed)")
            #expect(back.bytes == bytes, "seed \(seed)")
        }
    }

    @Test("never traps the reader after mutation, and prints stably if it still parses", arguments: seeds)
    func mutation(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<Self.roundsPerSeed {
            var bytes = Self.value(&generator, depth: 4).bytes
            for _ in 0..<Int.random(in: 1...4, using: &generator) { Self.mutate(&bytes, &generator) }
            guard let value = try? JSONReader.read(bytes, limits: .trusted) else { continue }
            let again = value.bytes
            #expect((try? JSONReader.read(again, limits: .trusted)) == value, "seed \(seed)")
        }
    }

    @Test("never traps the reader as a random sequence of JSON characters", arguments: seeds)
    func noise(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let letters = Array(#"{}[]:,"\u0123456789dDeE+-.truefalsn "#.utf8) + [0, 0x1f, 0x80, 0xc3, 0xed, 0xff]
        for _ in 0..<Self.roundsPerSeed {
            let count = Int.random(in: 0...60, using: &generator)
            let bytes = (0..<count).map { _ in letters[Int.random(in: 0..<letters.count, using: &generator)] }
            guard let value = try? JSONReader.read(bytes, limits: .trusted) else { continue }
            #expect((try? JSONReader.read(value.bytes, limits: .trusted)) == value, "seed \(seed)")
        }
    }

    private static func mutate(_ bytes: inout [UInt8], _ generator: inout SeededGenerator) {
        let index = Int.random(in: 0...bytes.count, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0 where index < bytes.count: bytes[index] = UInt8.random(in: 0...255, using: &generator)
        case 1 where index < bytes.count: bytes.remove(at: index)
        case 2: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: index)
        default: bytes.removeLast(bytes.count - index)
        }
    }

    private static func value(_ generator: inout SeededGenerator, depth: Int) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &generator) {
        case 0: return .null
        case 1: return .bool(.random(using: &generator))
        case 2: return .number(.whole(.random(in: .min ... .max, using: &generator)))
        case 3:
            let double = Double(bitPattern: .random(in: 0 ... .max, using: &generator))
            return double.isFinite ? .number(.literal(double.description)) : .null
        case 4, 5: return .string(text(&generator))
        case 6:
            return .array(
                (0..<Int.random(in: 0...4, using: &generator)).map { _ in
                    value(&generator, depth: depth - 1)
                })
        default:
            var object = JSONObject()
            for _ in 0..<Int.random(in: 0...24, using: &generator) {
                object[text(&generator)] = value(&generator, depth: depth - 1)
            }
            return .object(object)
        }
    }

    private static func text(_ generator: inout SeededGenerator) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...8, using: &generator) {
            let high: UInt32 = [0x20, 0x80, 0x800, 0x1_0000, 0x11_0000][Int.random(in: 0..<5, using: &generator)]
            if let scalar = Unicode.Scalar(UInt32.random(in: 0..<high, using: &generator)) { text.append(scalar) }
        }
        return String(text)
    }
}
