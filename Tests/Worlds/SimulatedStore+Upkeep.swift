import Basis
import RegistryRules

// Each step decides by the rows that it finds: what an earlier step read may be outdated.
extension SimulatedStore {
    package mutating func maintain(
        _ step: UpkeepStep, _ limits: UpkeepLimits, under rule: SuspicionRule, now: WallInstant
    ) -> UpkeepReply {
        var reply = UpkeepReply()
        switch step {
        case .rescue: reply.count = rescue(now: now, atMost: limits.rescuedMax)
        case .confirm:
            reply.count = confirmSuspicions(rule, now: now, atMost: limits.judgedMax).judged
            reply.isFull = reply.count == limits.judgedMax
        case .fallDue:
            reply.count = fallDue(now: now, atMost: limits.fallenMax)
            reply.isFull = reply.count > 0
        case .checkControls(let last): reply.found = checkControls(after: last, atMost: limits.messagesMax, now)
        case .putOnHold(let message): reply.count = putOnHold(message, atMost: limits.movedMax)
        case .end(let message):
            reply.settled = end(message, atMost: limits.endedMax, now)
            reply.count = reply.settled.count
            reply.isFull = reply.count == limits.endedMax
        case .release(let message): reply.count = release(message, atMost: limits.movedMax, now)
        case .liftRates(let message): reply.count = liftRates(message, atMost: limits.movedMax, now)
        case .forgetStops: reply.count = forgetStops()
        case .forgetRates: reply.count = forgetRates()
        }
        if step.movesParcels { reply.isFull = reply.count == limits.movedMax }
        return reply
    }

    /// Runs a whole round, with nothing else beside it. → rows that were moved
    package mutating func maintain(
        _ upkeep: Upkeep, _ limits: UpkeepLimits = UpkeepLimits(), under rule: SuspicionRule,
        now: WallInstant
    ) -> Int {
        var round = UpkeepRound(upkeep)
        while let step = round.step { round.advance(maintain(step, limits, under: rule, now: now)) }
        return round.moved
    }
}

extension UpkeepStep {
    fileprivate var movesParcels: Bool {
        switch self {
        case .putOnHold, .release, .liftRates: true
        case .rescue, .confirm, .fallDue, .checkControls, .end, .forgetStops, .forgetRates: false
        }
    }
}
