import Basis

/// SplitMix64: the same numbers for the same seed, on every machine. All chance of a simulated run comes from one.
package struct SeededRandom: Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// A generator of its own, so that the draws of one part never shift those of another.
    package mutating func branch() -> SeededRandom { SeededRandom(seed: next()) }

    package mutating func below(_ bound: Int) -> Int {
        precondition(bound > 0)
        return Int(next() % UInt64(bound))
    }

    package mutating func within(_ range: ClosedRange<Int>) -> Int { range.lowerBound + below(range.count) }

    package mutating func within(_ range: ClosedRange<SimulatedTime>) -> SimulatedTime {
        let width = range.upperBound.nanoseconds - range.lowerBound.nanoseconds + 1
        return SimulatedTime(nanoseconds: range.lowerBound.nanoseconds + Int64(next() % UInt64(width)))
    }

    /// Returns true so many times in a thousand.
    package mutating func happens(perMille: Int) -> Bool { below(1_000) < perMille }

    package mutating func pick<Element>(_ choices: [Element]) -> Element { choices[below(choices.count)] }
}

/// True time of a simulated world, from its first event. No process of the world can read it: processes have clocks.
package struct SimulatedTime: Hashable, Comparable, Sendable {
    package var nanoseconds: Int64

    package static let zero = SimulatedTime(nanoseconds: 0)
    package static let never = SimulatedTime(nanoseconds: .max)

    package static func milliseconds(_ count: Int64) -> SimulatedTime { SimulatedTime(nanoseconds: count * 1_000_000) }
    package static func seconds(_ count: Int64) -> SimulatedTime { SimulatedTime(nanoseconds: count * 1_000_000_000) }
    package static func minutes(_ count: Int64) -> SimulatedTime { .seconds(count * 60) }

    package static func < (left: SimulatedTime, right: SimulatedTime) -> Bool { left.nanoseconds < right.nanoseconds }
    package init(_ duration: Duration) { nanoseconds = duration.wholeNanoseconds }

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    package static func + (left: SimulatedTime, right: SimulatedTime) -> SimulatedTime {
        SimulatedTime(nanoseconds: left.nanoseconds + right.nanoseconds)
    }
    package static func - (left: SimulatedTime, right: SimulatedTime) -> SimulatedTime {
        SimulatedTime(nanoseconds: left.nanoseconds - right.nanoseconds)
    }
}
