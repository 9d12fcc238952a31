import CommandLine
import Foundation
import Glibc
import Model
import Server
import Synchronization

// The gateway as it ships, but for one thing: it ends, or freezes, itself at a step of its work. Steps that are written
// and not committed are seen by a relay before the database (`CommitRelay`), the others are announced by the gateway.
//
// CARILLON_FAULT="9:2" means the second time that this process passes step 9 (`Step.batchSubmitted`), 0 or no fault at
// all meaning never. CARILLON_FAULT_SIGNAL says how: KILL (the default) or STOP.

struct Fault: StepListener {
    let step: Step
    let time: Int
    let signal: Int32
    private let passed = SharedCount()

    init?(_ text: String, signalName: String) {
        let parts = text.split(separator: ":").compactMap { Int($0) }
        guard parts.count == 2, let step = Step(rawValue: parts[0]), parts[1] > 0 else { return nil }
        guard let signal = ["KILL": SIGKILL, "STOP": SIGSTOP][signalName] else { return nil }
        self.step = step
        self.time = parts[1]
        self.signal = signal
    }

    func reached(_ step: Step) {
        guard step == self.step, passed.next() == time else { return }
        // To this thread, which takes it before it goes on. One to the process may be taken by another thread, as soon as
        // that has a processor, and what comes behind the step would happen before.
        pthread_kill(pthread_self(), signal)
        // Nothing may happen before all have ended.
        if signal == SIGKILL { while true { pause() } }
    }
}

final class SharedCount: Sendable {
    private let count = Mutex(0)

    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}

let environment = ProcessInfo.processInfo.environment
let text = environment["CARILLON_FAULT"] ?? ""
let fault = Fault(text, signalName: environment["CARILLON_FAULT_SIGNAL"] ?? "KILL")
if !text.isEmpty && fault == nil {
    Console.complain("CARILLON_FAULT must be step:time, such as 9:1")
    exit(64)
}
if let fault, let url = environment["CARILLON_DATABASE_URL"], let host = url.range(of: "?host="),
    let folder = url[host.upperBound...].removingPercentEncoding
{
    let relay = try await CommitRelay.start(before: folder, idles: fault.signal == SIGSTOP) { fault.reached($0) }
    unsafe setenv("CARILLON_DATABASE_URL", url[..<host.upperBound] + relay, 1)
}
await GatewayProgram.runToEnd(steps: fault)
