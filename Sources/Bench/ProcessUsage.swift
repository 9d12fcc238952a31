import CommandLine
import Foundation

/// The processor time and memory that a program has used since its start, as Linux counts them.
struct ProcessUsage {
    /// User and system time.
    let processor: Duration
    /// Peak memory; nil for several programs together.
    let memoryBytesMax: Int64?

    /// nil: there is no such process any more.
    init?(of process: Int32) {
        guard let line = Self.contents("/proc/\(process)/stat"), let counters = Self.counters(line) else { return nil }
        processor = Self.duration(ticks: counters.own)
        let high = Self.contents("/proc/\(process)/status")?.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        let kibibytes = high?.split(separator: " ").compactMap { Int64($0) }.first
        memoryBytesMax = kibibytes.map { $0 << 10 }
    }

    /// The usage of a server that starts a process for each session. Includes its running child processes, and those
    /// that it has seen end.
    init?(ofServer server: Int32) {
        func counters(_ process: Int32) -> (parent: Int32, own: Int64, ended: Int64)? {
            Self.contents("/proc/\(process)/stat").flatMap(Self.counters)
        }
        guard var known = counters(server) else { return nil }
        var ticks: Int64
        repeat {
            ticks = known.own + known.ended
            let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
            for process in names.compactMap({ Int32($0) }) {
                if let child = counters(process), child.parent == server { ticks += child.own }
            }
            // A child that ended meanwhile may be in neither sum.
            let ended = known.ended
            guard let again = counters(server) else { return nil }
            known = again
            if known.ended == ended { break }
        } while true
        processor = Self.duration(ticks: ticks)
        memoryBytesMax = nil
    }

    /// This program's own processor time.
    static var own: Duration {
        duration(ticks: contents("/proc/self/stat").flatMap(counters)?.own ?? 0)
    }

    /// The processor time of child programs that have ended and were waited for.
    static var endedChildren: Duration {
        duration(ticks: contents("/proc/self/stat").flatMap(counters)?.ended ?? 0)
    }

    /// Clock ticks. The name, in brackets, may hold anything; numbers follow it (proc_pid_stat(5)).
    private static func counters(_ line: String) -> (parent: Int32, own: Int64, ended: Int64)? {
        guard let end = line.lastIndex(of: ")") else { return nil }
        let fields = line[line.index(after: end)...].split(separator: " ")
        guard fields.count > 14, let parent = Int32(fields[1]) else { return nil }
        let ticks = fields[11...14].compactMap { Int64($0) }
        guard ticks.count == 4 else { return nil }
        return (parent, ticks[0] + ticks[1], ticks[2] + ticks[3])
    }

    private static let ticksPerSecond = Int64(max(1, sysconf(Int32(_SC_CLK_TCK))))

    private static func duration(ticks: Int64) -> Duration { .microseconds(ticks * 1_000_000 / ticksPerSecond) }

    private static func contents(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }
}
