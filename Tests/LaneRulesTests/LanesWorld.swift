import Basis
import LaneRules

/// A lane's state machine, its clock, and the actions that it has requested.
struct LaneWorld {
    var machine: LaneMachine
    var now = MonotonicInstant(nanoseconds: 0)
    var dialled: [ConnectionID] = []
    var retired: [ConnectionID] = []
    var blocks: [LaneCause] = []
    var unblocks = 0
    var dialTimes: [MonotonicInstant] = []

    init(connectionsMax: Int = 3) {
        var limits = LaneLimits(connectionsMax: connectionsMax)
        limits.backoff.ceiling = .seconds(4)
        machine = LaneMachine(limits: limits)
    }

    mutating func report(_ event: LaneMachine.Event) {
        for action in machine.handle(event, now: now, entropy: 0) {
            switch action {
            case .dial(let id):
                dialled.append(id)
                dialTimes.append(now)
            case .retire(let id): retired.append(id)
            case .block(let cause): blocks.append(cause)
            case .unblock: unblocks += 1
            }
        }
    }

    mutating func pass(_ duration: Duration) {
        now = now + duration
        report(.timer)
    }

    /// Passes the time until the next wake-up, if there is one.
    mutating func passUntilWoken() {
        guard let at = machine.wakeAt(now) else { return }
        now = max(now, at)
        report(.timer)
    }

    mutating func demand(waitingFor: Duration = .zero, room: Int = 0) {
        report(.demand(.init(waitingSince: now + .zero - waitingFor, room: room)))
    }

    /// Reports demand, and opens the dialled connection with an answer.
    mutating func openOne() {
        let before = dialled.count
        if before == 0 { demand() }
        for _ in 0..<10 where before > 0 && dialled.count == before {
            demand(waitingFor: .seconds(1))
            passUntilWoken()
        }
        if let id = dialled.last {
            report(.opened(id))
            report(.proved(id))
        }
        report(.demand(.init(waitingSince: nil, room: 1)))
    }
}

extension MonotonicInstant {
    static func - (instant: MonotonicInstant, duration: Duration) -> MonotonicInstant {
        instant + .nanoseconds(-duration.wholeNanoseconds)
    }
}
