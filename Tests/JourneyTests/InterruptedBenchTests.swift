import Foundation
import Glibc
import TestSupport
import Testing

extension Journeys {
    @Suite("A benchmark that is interrupted")
    struct InterruptedBenchTests {
        @Test("stops the processes that it started", arguments: [SIGTERM, SIGINT])
        func ends(signal: Int32) async throws {
            try await TestFolder.within { folder in
                let own = folder.appending(path: "bench")
                let bench = try Program(
                    ["latency", "--folder", own.path(percentEncoded: false)], tool: "carillon-bench", settings: [:],
                    logs: folder)
                let children = try await foundEventually("the stand-ins, and a gateway that is ready") {
                    let input = try? String(contentsOf: own.appending(path: "gateway.out"), encoding: .utf8)
                    guard input?.contains("carillon is ready on ") == true else {
                        guard bench.isAlive else { throw TookTooLong(description: "it ended: \(bench.loggedLast)") }
                        return [Int32]?.none
                    }
                    let ids = try String(contentsOf: own.appending(path: "children"), encoding: .utf8)
                    return ids.split(separator: "\n").compactMap { Int32($0) }
                }
                #expect(children.count == 2 && children.allSatisfy { kill($0, 0) == 0 })
                bench.kill(signal)
                #expect(try await bench.end() == .exited(128 + signal))
                #expect(children.allSatisfy { kill($0, 0) != 0 })
            }
        }
    }
}
